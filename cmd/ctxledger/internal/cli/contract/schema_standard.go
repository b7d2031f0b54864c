package contract

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/record"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/standard"
)

func schemaStandardCommand(a *cli.App) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "standard [FILE]", Short: "Turn CloudEvents into documents of the Agent Context or Agent Runtime standard",
		Long: `Read CloudEvents in the JSON format, one a line, and write each as a document of a
public standard, one a line. A document is the record (selection, budget, context_item,
and so on), the event document, or the Agent Runtime event. Events without a shape in
the standard are left out. Invalid events are reported, and the exit code is 3.`,
		Example: `  ctxledger tail --no-follow -n 1000 -o json | ctxledger schema standard
  ctxledger schema standard events.ndjson -o runtime`,
		Args: record.AtMostOneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			convert, ok := standardShapes[output]
			if !ok {
				return cli.UsageError("-o %q: want record, event or runtime", output)
			}
			return record.WithInput(a, args, func(in io.Reader) error { return writeStandard(cmd.Context(), a, in, convert) })
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "record", "record, event or runtime")
	return cmd
}

// standardShapes are the kinds of documents that an event can become.
var standardShapes = map[string]func(*schema.Event) ([]byte, error){
	"record": func(e *schema.Event) ([]byte, error) {
		_, document, err := standard.Document(e)
		return document, err
	},
	"event":   standard.Event,
	"runtime": standard.RuntimeEvent,
}

func writeStandard(ctx context.Context, a *cli.App, in io.Reader, convert func(*schema.Event) ([]byte, error)) error {
	var written, left, refused int
	err := ui.ReadLines(ui.Until(ctx, in), record.MaxLine, func(n int, text []byte, err error) error {
		e, err := record.ParseLine(text, err)
		if e == nil && err == nil {
			return nil
		}
		var document jsontext.Value
		if err == nil {
			document, err = convert(e)
		}
		if errors.Is(err, standard.ErrNoShape) || errors.Is(err, schema.ErrUnknownType) {
			left++
			return nil
		}
		if violations := publish.ViolationsOf(err); violations != nil {
			refused++
			for _, v := range violations {
				_ = ui.Line(a.Err, "line %d: %v", n, v)
			}
			return nil
		}
		if err == nil {
			err = document.Compact()
		}
		if err == nil {
			_, err = fmt.Fprintf(a.Data(), "%s\n", document)
		}
		written++
		return err
	})
	if err != nil {
		return cli.Interrupted(ctx, fmt.Errorf("write standard documents: %w", err), "start again with the same input")
	}
	fmt.Fprintf(a.Err, "%d documents, %d events without a shape in the standard, %d refused\n", written, left, refused)
	if refused > 0 {
		return cli.ErrRefused
	}
	return nil
}
