package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/lines"
	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/schema"
)

func (a *app) publishCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "publish [FILE]",
		Short: "Publish CloudEvents, one JSON object a line",
		Long: `Publish CloudEvents in the JSON format (structured mode), one a line, from a file
or from standard input. Each is validated; a refused one is reported with its
line, code and field on standard error, the others go in, and the exit code is
3. An event that was published before is not stored twice.`,
		Example: `  ctxledger publish events.ndjson
  my-runtime --facts | ctxledger publish`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError("publish takes one file, found %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			in := a.in
			if len(args) == 1 && args[0] != "-" {
				file, err := os.Open(args[0])
				if err != nil {
					return usageError("open events: %w", err)
				}
				defer file.Close()
				in = file
			}
			return a.publish(cmd.Context(), in)
		},
	}
}

// maxLine is the longest line that publish reads: an event of the default
// limit with room for its attributes and for escaping.
const maxLine = 8 * schema.MaxEventBytes

// publishLinger is how long an accepted event waits for others before it goes
// to the stream: input may be a pipe that stays open for days.
const publishLinger = 200 * time.Millisecond

func (a *app) publish(ctx context.Context, in io.Reader) error {
	nc, js, err := a.connectNATS()
	if err != nil {
		return err
	}
	defer nc.Close()
	if _, err := lastSequence(ctx, js); err != nil {
		return err
	}
	p := publication{publisher: producer.NewPublisher(js, publishLinger), refuse: func(line int, v *schema.Violation) {
		fmt.Fprintf(a.err, "line %d: %v\n", line, v)
	}}
	err = lines.Read(lines.Until(ctx, in), maxLine, func(n int, text []byte, err error) error { return p.line(ctx, n, text, err) })
	// What was accepted is stored, also after an interruption.
	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err = errors.Join(err, p.publisher.Flush(flush)); err != nil {
		return interrupted(ctx, fmt.Errorf("publish: %w; publish the input again, and nothing is stored twice", err),
			fmt.Sprintf("%d accepted, %d refused so far; publish the input again, and nothing is stored twice", p.accepted, p.refused))
	}
	fmt.Fprintf(a.out, "%d accepted, %d refused\n", p.accepted, p.refused)
	if p.refused > 0 {
		return errRefused
	}
	return nil
}

// publication is one run of publish.
type publication struct {
	publisher         *producer.Publisher
	refuse            func(line int, v *schema.Violation)
	accepted, refused int // events
}

// line publishes one line or reports why not. Its error is one of the stream.
func (p *publication) line(ctx context.Context, n int, text []byte, err error) error {
	if err == nil && len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	var e *schema.Event
	if err != nil {
		err = &schema.Violation{Code: schema.CodeTooLarge, Found: fmt.Sprintf("a line of more than %d bytes", maxLine), Fix: "refer to content instead of holding it"}
	} else if e, err = schema.ParseStructured(bytes.Clone(text)); err == nil {
		err = p.publisher.Publish(ctx, e)
	}
	violations := violationsOf(err)
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

// violationsOf returns what the contract says against an event, or nil for an
// error of another kind.
func violationsOf(err error) schema.Violations {
	var many schema.Violations
	var one *schema.Violation
	switch {
	case errors.As(err, &many):
		return many
	case errors.As(err, &one):
		return schema.Violations{one}
	}
	return nil
}
