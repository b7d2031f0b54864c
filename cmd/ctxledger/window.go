package main

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/rows"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/queries"
)

type windowFlags struct {
	tenant, session, turn, call, asOf string
	output                            string
}

func (a *app) windowCommand() *cobra.Command {
	var flags windowFlags
	cmd := &cobra.Command{
		Use:   "window --turn T",
		Short: "Show the window of a turn as the model saw it",
		Long: `Show what the model saw in a turn: the ordered blocks of its window, what each
layer takes of it, what was elided and what withheld. Without --call it is the
turn's last call. Where a turn id occurs in several sessions, a terminal is
asked which; elsewhere the choices are printed and the exit code is 2.`,
		Example: `  ctxledger window --turn turn_7
  ctxledger window --turn turn_7 --session s_42 --call call_3 -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.window(cmd.Context(), flags) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.turn, "turn", "", "the turn (required)")
	f.StringVar(&flags.session, "session", "", "the session, where the turn id occurs in several")
	f.StringVar(&flags.call, "call", "", "the model call (default: the turn's last)")
	f.StringVar(&flags.tenant, "tenant", "", "only this tenant")
	f.StringVar(&flags.asOf, "as-of", "", "the last call that had happened by this RFC 3339 time")
	f.StringVarP(&flags.output, "output", "o", "table", "table, json or csv")
	return cmd
}

func (a *app) window(ctx context.Context, flags windowFlags) error {
	if flags.turn == "" {
		return usageError("which turn? give --turn (`ctxledger query turns --param session_id=…` lists them)")
	}
	if !slices.Contains(rows.Formats, flags.output) {
		return usageError("-o %q: want table, json or csv", flags.output)
	}
	l, err := a.openReader(ctx)
	if err != nil {
		return err
	}
	defer l.Close()
	if flags.session == "" {
		if flags.session, err = a.sessionOfTurn(ctx, l, flags); err != nil {
			return err
		}
	}
	arguments := map[string]string{"session_id": flags.session, "turn_id": flags.turn}
	for name, value := range map[string]string{"tenant": flags.tenant, "call_id": flags.call, "as_of": flags.asOf} {
		if value != "" {
			arguments[name] = value
		}
	}
	if flags.output != "table" {
		params := make([]string, 0, len(arguments))
		for name, value := range arguments {
			params = append(params, name+"="+value)
		}
		limits := ledger.DefaultLimits()
		return a.query(ctx, []string{"window"}, queryFlags{params: params, output: flags.output, maxTime: limits.Time, maxRows: limits.Rows})
	}
	w, err := readWindow(ctx, l, arguments)
	if err != nil {
		return err
	}
	w.Colour = colour(a.out)
	return w.Draw(a.out)
}

// sessionOfTurn finds the one session that has the turn, or asks which.
func (a *app) sessionOfTurn(ctx context.Context, l *ledger.Ledger, flags windowFlags) (string, error) {
	found, err := ask(ctx, l, "turn-sessions", map[string]string{"turn_id": flags.turn, "tenant": flags.tenant})
	if err != nil {
		return "", err
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("nothing is known about a turn %q: `ctxledger query sessions` lists the sessions, `ctxledger query turns` their turns", flags.turn)
	case 1:
		return found[0].text("session_id"), nil
	}
	fmt.Fprintf(a.err, "turn %q occurs in %d sessions:\n", flags.turn, len(found))
	for i, r := range found {
		fmt.Fprintf(a.err, "  %d  %s\n", i+1, strings.TrimSpace(r.text("session_id")+"  "+r.text("tenant")))
	}
	if !isTerminal(a.in) {
		return "", usageError("say which with --session")
	}
	fmt.Fprint(a.err, "which one? ")
	line, _ := bufio.NewReader(a.in).ReadString('\n')
	n, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || n < 1 || n > len(found) {
		return "", usageError("want a number from 1 to %d", len(found))
	}
	return found[n-1].text("session_id"), nil
}

// readWindow asks for a window's blocks and its size.
func readWindow(ctx context.Context, l *ledger.Ledger, arguments map[string]string) (windowview.Window, error) {
	blocks, err := ask(ctx, l, "window", arguments)
	if err != nil {
		return windowview.Window{}, err
	}
	if len(blocks) == 0 {
		return windowview.Window{}, noWindow(arguments)
	}
	call := blocks[0].text("call_id")
	w := windowview.Window{Title: fmt.Sprintf("turn %s, call %s of session %s", arguments["turn_id"], call, arguments["session_id"])}
	for _, r := range blocks {
		w.Blocks = append(w.Blocks, windowview.Block{
			Position: *r.number("position"), Layer: r.text("layer"), Role: r.text("role"), Title: r.text("title"),
			Tokens: r.number("tokens"), Full: r.number("tokens_full"), Elided: r["elided"] == true, Redaction: r.text("redaction_state"),
			Item: r.text("item_refs"),
		})
	}
	size, err := ask(ctx, l, "call-size", map[string]string{"session_id": arguments["session_id"], "call_id": call, "tenant": arguments["tenant"]})
	if err != nil || len(size) == 0 {
		return w, err
	}
	w.Max, w.Reserved, w.Billed = size[0].number("max_tokens"), size[0].number("reserved_tokens"), size[0].number("billed_tokens")
	if model := size[0].text("model"); model != "" {
		w.Title += ", " + model
	}
	return w, nil
}

func noWindow(arguments map[string]string) error {
	var with string
	for _, narrowing := range [][2]string{{"tenant", "--tenant"}, {"call_id", "--call"}, {"as_of", "--as-of"}} {
		if value := arguments[narrowing[0]]; value != "" {
			with += " with " + narrowing[1] + " " + value
		}
	}
	return fmt.Errorf("no window of turn %q of session %q is recorded%s: `ctxledger query turns --param session_id=%s` lists its turns",
		arguments["turn_id"], arguments["session_id"], with, arguments["session_id"])
}

// answer is one row of a named query, by column.
type answer map[string]any

// ask runs a named query and returns all its rows.
func ask(ctx context.Context, l *ledger.Ledger, name string, arguments map[string]string) ([]answer, error) {
	q, err := queries.Get(name)
	if err != nil {
		return nil, err
	}
	bound, err := q.Bind(arguments)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	result, err := l.Query(ctx, q.SQL, bound, ledger.DefaultLimits())
	if err != nil {
		return nil, err
	}
	var list []answer
	for result.Next() {
		row := make(answer)
		for i, value := range result.Values() {
			row[result.Columns()[i].Name] = value
		}
		list = append(list, row)
	}
	return list, result.Close()
}

// text returns a column as text, empty for NULL.
func (r answer) text(column string) string {
	switch v := r[column].(type) {
	case nil:
		return ""
	case string:
		return v
	case []string:
		return strings.Join(v, ", ")
	default:
		return fmt.Sprint(v)
	}
}

// number returns a column as a number, nil for NULL.
func (r answer) number(column string) *int64 {
	switch v := r[column].(type) {
	case int64:
		return &v
	case uint64:
		return new(int64(v))
	case uint32:
		return new(int64(v))
	case int32:
		return new(int64(v))
	}
	return nil
}
