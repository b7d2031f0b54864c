package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/queries"
)

// Answer is one row of a named query, by column.
type Answer = answer.Row

// Ask runs a named query and returns all its rows. A wrong argument is an error of usage.
func Ask(ctx context.Context, l *ledger.Ledger, name string, arguments map[string]string) ([]Answer, error) {
	rows, err := answer.Ask(ctx, l, name, arguments)
	return rows, AsUsage(err)
}

// AsUsage makes a wrong parameter an error of usage.
func AsUsage(err error) error {
	if wrong := new(queries.ParameterError); errors.As(err, &wrong) {
		return WithCode(ExitUsage, err)
	}
	return err
}

// A Report is the result of a command, printed as a table or as one JSON object.
type Report interface {
	WriteTable(w io.Writer) error
}

// PrintReport writes a report in the form of -o.
func (a *App) PrintReport(report Report, output string) error {
	if output != "json" {
		var text bytes.Buffer
		if err := report.WriteTable(&text); err != nil {
			return err
		}
		_, err := io.WriteString(a.Out, ui.Fit(text.String(), a.TableWidth()))
		return err
	}
	if err := json.MarshalWrite(a.Out, report, jsontext.WithIndent("  ")); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.Out)
	return err
}

// PrintJSON writes one JSON value and a line break.
func (a *App) PrintJSON(value any) error {
	err := json.MarshalWrite(a.Out, value, json.Deterministic(true), json.FormatNilSliceAsNull(false), jsontext.EscapeForHTML(false))
	if err == nil {
		_, err = fmt.Fprintln(a.Out)
	}
	return err
}
