package record

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/producer/importer/follow"
)

// reconnectEvery is the time between two attempts to reach the stream again.
const reconnectEvery = time.Second

// follow imports the logs again that change, until ctx ends. A stream that cannot be reached is waited
// for: the logs have everything.
func (im *logImport) follow(ctx context.Context, follower *follow.Follower, note io.Writer) error {
	a, began, facts := im.app, time.Now(), 0
	if err := follower.Silent(); err != nil {
		_ = ui.Line(a.Err, "changes are found by looking at the logs every half second or less often, because there are no notifications: %v", err)
	}
	im.stream.memory.follow()
	fmt.Fprintln(note, following(follower.Logs(), 0, time.Time{})+"; interrupt to end")
	bar := ui.NewBar(a.Err, cli.IsTerminal(a.Err), "")
	defer bar.Done()
	for {
		changed, err := follower.Next(ctx)
		if err != nil {
			break
		}
		before := im.stream.memory.published
		if err := im.again(ctx, changed); ctx.Err() != nil {
			break
		} else if err != nil {
			bar.Done()
			_ = ui.Line(a.Err, "a log that has changed could not be imported, and is tried again every second: %v", err)
			if im.reconnect(ctx, changed, before) != nil {
				break
			}
			fmt.Fprintln(a.Err, "the log is imported")
		}
		for _, c := range changed {
			if c.Before != nil {
				c.Before.Close()
			}
		}
		if n := im.stream.memory.published - before; n > 0 {
			facts += n
			bar.Say(following(follower.Logs(), facts, time.Now()))
		}
	}
	bar.Done()
	fmt.Fprintf(note, "followed %s for %s: %s\n", ui.Plural(follower.Logs(), "log"), time.Since(began).Round(time.Second), ui.Plural(facts, "fact"))
	return nil
}

func following(logs, facts int, last time.Time) string {
	text := "following " + ui.Plural(logs, "log")
	if facts > 0 {
		text += fmt.Sprintf(": %s, the last at %s", ui.Plural(facts, "fact"), last.Format(time.TimeOnly))
	}
	return text
}

// again imports logs that have changed. The new facts are in the stream when it returns.
func (im *logImport) again(ctx context.Context, changed []follow.Changed) error {
	for _, c := range changed {
		if c.Before != nil {
			if err := im.replaced(ctx, c.Path, c.Before); err != nil {
				return err
			}
		}
		part, err := im.one(ctx, c.Path)
		if err != nil {
			return err
		}
		if c.Path != c.Root && isNoLog(part) {
			continue
		}
		for _, p := range part.Problems {
			im.say(p)
		}
		im.add(c.Path, part)
	}
	return im.store(ctx)
}

// reconnect connects again and imports the logs that could not be stored. published is the number of
// facts that were stored before. The error is that of ctx.
func (im *logImport) reconnect(ctx context.Context, changed []follow.Changed, published int) error {
	for {
		im.stream.js.Conn().Close()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(reconnectEvery):
		}
		stream, err := openStream(ctx, im.app, im.flags, im.key)
		if err != nil {
			continue
		}
		stream.memory.follow()
		stream.memory.published = published
		im.stream = stream
		if err := im.again(ctx, changed); err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
