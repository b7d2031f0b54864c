package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

func PublishCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "publish [FILE]",
		Short: "Publish CloudEvents, one JSON object a line",
		Long: `Publish CloudEvents in the JSON format (structured mode), one a line, from a file or
from standard input. Each event is validated. Refused events are reported on standard
error with line, code and field; the other events are stored, and the exit code is 3.
A repeated event is stored once. The account of a tenant suffices; it needs no access
to the stream.`,
		Example: `  ctxledger publish events.ndjson
  my-runtime --facts | ctxledger publish`,
		Args: AtMostOneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			return WithInput(a, args, func(in io.Reader) error { return runPublish(cmd.Context(), a, in) })
		},
	}
}

func AtMostOneFile(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return cli.UsageError("%s takes one file, found %d", cmd.Name(), len(args))
	}
	return nil
}

// WithInput calls read with the file that was named, or standard input.
func WithInput(a *cli.App, args []string, read func(io.Reader) error) error {
	if len(args) == 0 || args[0] == "-" {
		return read(a.In)
	}
	file, err := os.Open(args[0])
	if err != nil {
		return cli.UsageError("open events: %w", err)
	}
	defer file.Close()
	return read(file)
}

// MaxLine is the longest line that publish reads: one event and the end of its line.
const MaxLine = publish.MaxDocument + 1

// publishLinger is the time that an accepted event waits for others. A pipe as input may stay
// open for days.
const publishLinger = 200 * time.Millisecond

func runPublish(ctx context.Context, a *cli.App, in io.Reader) error {
	js, err := a.ConnectNATS()
	if err != nil {
		return err
	}
	if _, err := streamio.ReadPartitions(ctx, js); err != nil && !publish.PublishOnly(err) {
		return err
	}
	p := publication{publisher: publish.New(js, publishLinger), refuse: func(line int, v *schema.Violation) {
		_ = ui.Line(a.Err, "line %d: %v", line, v)
	}}
	err = ui.ReadLines(ui.Until(ctx, in), MaxLine, func(n int, text []byte, err error) error { return p.line(ctx, n, text, err) })
	// Accepted events are stored, also after an interruption.
	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err = errors.Join(err, p.publisher.Flush(flush)); err != nil {
		return cli.Interrupted(ctx, fmt.Errorf("publish: %w; publish the input again, and nothing is stored twice", err),
			fmt.Sprintf("%d accepted, %d refused so far; publish the input again, and nothing is stored twice", p.accepted, p.refused))
	}
	fmt.Fprintf(a.Out, "%d accepted, %d refused\n", p.accepted, p.refused)
	sayTakenIDs(a, p.publisher)
	if p.refused > 0 {
		return cli.ErrRefused
	}
	return nil
}

// sayTakenIDs reports events that the stream took for repeats of other messages.
func sayTakenIDs(a *cli.App, p *publish.Publisher) {
	if n := p.TakenIDs(); n > 0 {
		fmt.Fprintf(a.Err, "%s had the message id of another message and went under a random one; an event that was published before counts once\n", ui.Plural(n, "event"))
	}
}

// publication is one run of publish.
type publication struct {
	publisher         *publish.Publisher
	refuse            func(line int, v *schema.Violation)
	accepted, refused int // events
}

// line publishes one line or reports why not. Its error is one of the stream.
func (p *publication) line(ctx context.Context, n int, text []byte, err error) error {
	e, err := ParseLine(text, err)
	if e == nil && err == nil {
		return nil
	}
	if err == nil {
		err = p.send(ctx, e)
	}
	violations := publish.ViolationsOf(err)
	switch {
	case err == nil:
		p.accepted++
	case violations == nil:
		return err
	default:
		p.refused++
		for _, v := range violations {
			p.refuse(n, v)
		}
	}
	return nil
}

// send hands an event on. Input that comes faster than the stream takes it waits.
func (p *publication) send(ctx context.Context, e *schema.Event) error {
	message, violations := publish.CheckIncoming(e, time.Now())
	if len(violations) > 0 {
		return violations
	}
	err := p.publisher.Send(ctx, message)
	if !errors.Is(err, publish.ErrQueueFull) {
		return err
	}
	if err := p.publisher.Flush(ctx); err != nil {
		return err
	}
	return p.publisher.Send(ctx, message)
}

// ParseLine reads the event of a line. A blank line is no event and no error; a
// line that could not be read whole is a violation.
func ParseLine(text []byte, err error) (*schema.Event, error) {
	switch {
	case err != nil:
		return nil, publish.DocumentTooLarge()
	case len(bytes.TrimSpace(text)) == 0:
		return nil, nil
	}
	return schema.ParseStructured(bytes.Clone(text))
}
