package contract

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/record"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/schema"
)

func SchemaCommand(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "schema",
		Short: "Show the event contract, and check events against it",
		Long: `Show the event contract: the types of facts that the ledger takes, each with its
fields, a JSON Schema and an example; and the whole surface as an AsyncAPI
document. "schema validate" lists the violations of each event, without a server.`,
		Example: `  ctxledger schema list
  ctxledger schema show context.selection.completed
  ctxledger schema validate events.ndjson`,
	},
		&cobra.Command{
			Use: "list", Short: "List the event types", Args: cli.NoArgs,
			Example: `  ctxledger schema list`,
			RunE:    func(*cobra.Command, []string) error { return listTypes(a) },
		},
		schemaShowCommand(a),
		&cobra.Command{
			Use: "validate [FILE]", Short: "Check CloudEvents, one JSON object a line, without publishing them",
			Long: `Check CloudEvents in the JSON format, one a line, from a file or from standard
input. Every violation of every event is reported on standard error with line,
code and field; the exit code is 3 if there is any.`,
			Example: `  ctxledger schema validate events.ndjson`,
			Args:    record.AtMostOneFile,
			RunE: func(cmd *cobra.Command, args []string) error {
				return record.WithInput(a, args, func(in io.Reader) error { return runValidate(cmd.Context(), a, in) })
			},
		},
		schemaStandardCommand(a),
		&cobra.Command{
			Use: "asyncapi", Short: "Print the AsyncAPI 3 document of the whole surface", Args: cli.NoArgs,
			Example: `  ctxledger schema asyncapi > asyncapi.json`,
			RunE: func(*cobra.Command, []string) error {
				_, err := a.Out.Write(schema.AsyncAPI())
				return err
			},
		},
	)
}

func listTypes(a *cli.App) error {
	t := ui.Table{Columns: []ui.Column{{Name: "EVENT TYPE"}, {Name: "TYPE OF THE CLOUDEVENT", Least: 24}}}
	for _, name := range schema.Types() {
		t.Rows = append(t.Rows, []string{string(name), name.CloudEventsType()})
	}
	return t.Write(a.Out, a.TableWidth(), "")
}

func schemaShowCommand(a *cli.App) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "show TYPE", Short: "Show the fields of an event type, its JSON Schema or an example",
		Example: `  ctxledger schema show context.selection.completed
  ctxledger schema show context.selection.completed -o jsonschema
  ctxledger schema show context.selection.completed -o example`,
		Args: cli.OneName,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, t := range schema.Types() {
				names = append(names, string(t))
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return showType(a, args[0], output) },
	}
	cmd.Flags().StringVarP(&output, "output", "o", "doc", "doc, jsonschema or example")
	return cmd
}

func showType(a *cli.App, name, output string) error {
	t := schema.Type(name)
	if parsed, err := schema.ParseCloudEventsType(name); err == nil {
		t = parsed
	}
	if !t.Known() {
		return cli.UsageError("unknown event type %q: `ctxledger schema list` names them all", name)
	}
	var text []byte
	switch output {
	case "doc":
		text = []byte(schema.Doc(t))
	case "jsonschema":
		text = schema.JSONSchema(t)
	case "example":
		text = schema.Golden(t)
	default:
		return cli.UsageError("-o %q: want doc, jsonschema or example", output)
	}
	if output == "doc" {
		text = []byte(ui.Fit(string(text), a.TableWidth()))
	}
	_, err := fmt.Fprintf(a.Out, "%s\n", bytes.TrimRight(text, "\n"))
	return err
}

func runValidate(ctx context.Context, a *cli.App, in io.Reader) error {
	var valid, refused int
	err := ui.ReadLines(ui.Until(ctx, in), record.MaxLine, func(n int, text []byte, err error) error {
		e, err := record.ParseLine(text, err)
		violations := publish.ViolationsOf(err)
		if e != nil && err == nil {
			_, violations = schema.Validate(e)
		}
		switch {
		case len(violations) > 0:
			refused++
		case e != nil:
			valid++
		}
		for _, v := range violations {
			_ = ui.Line(a.Err, "line %d: %v", n, v)
		}
		return nil
	})
	if err != nil {
		return cli.Interrupted(ctx, fmt.Errorf("validate: %w", err), fmt.Sprintf("%d valid, %d not so far", valid, refused))
	}
	fmt.Fprintf(a.Out, "%d valid, %d not\n", valid, refused)
	if refused > 0 {
		return cli.ErrRefused
	}
	return nil
}
