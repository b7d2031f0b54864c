package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/lines"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/standard"
)

func (a *app) schemaStandardCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "standard [FILE]", Short: "Turn CloudEvents into documents of the Agent Context or Agent Runtime standard",
		Long: `Read CloudEvents in the JSON format, one a line, and write each as a document of
a public standard, one a line: its record (selection, budget, context_item, …),
its event document, or the Agent Runtime event. An event that the standard has
no shape for is left out; one that is wrong is reported, and the exit code is 3.`,
		Example: `  ctxledger tail --no-follow -n 1000 -o json | ctxledger schema standard
  ctxledger schema standard events.ndjson -o runtime`,
		Args: atMostOneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			convert, ok := standardShapes[output]
			if !ok {
				return usageError("-o %q: want record, event or runtime", output)
			}
			return a.withInput(args, func(in io.Reader) error { return a.writeStandard(cmd.Context(), in, convert) })
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "record", "record, event or runtime")
	return cmd
}

// standardShapes are what an event can be written as.
var standardShapes = map[string]func(*schema.Event) ([]byte, error){
	"record": func(e *schema.Event) ([]byte, error) {
		_, document, err := standard.Document(e)
		return document, err
	},
	"event":   standard.Event,
	"runtime": standard.RuntimeEvent,
}

func (a *app) writeStandard(ctx context.Context, in io.Reader, convert func(*schema.Event) ([]byte, error)) error {
	var written, left, refused int
	err := lines.Read(lines.Until(ctx, in), maxLine, func(n int, text []byte, err error) error {
		e, err := parseLine(text, err)
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
		if violations := violationsOf(err); violations != nil {
			refused++
			for _, v := range violations {
				fmt.Fprintf(a.err, "line %d: %v\n", n, v)
			}
			return nil
		}
		if err == nil {
			err = document.Compact()
		}
		if err == nil {
			_, err = fmt.Fprintf(a.out, "%s\n", document)
		}
		written++
		return err
	})
	if err != nil {
		return interrupted(ctx, fmt.Errorf("write standard documents: %w", err), "start again with the same input")
	}
	fmt.Fprintf(a.err, "%d documents, %d events without a shape in the standard, %d refused\n", written, left, refused)
	if refused > 0 {
		return errRefused
	}
	return nil
}
