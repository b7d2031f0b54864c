package ask

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
)

// diffFlags name two windows. A flag that is given once applies to both.
type diffFlags struct {
	turns, calls, sessions []string
	tenant, asOf, output   string
	last, csvSafe          bool
}

func DiffCommand(a *cli.App) *cobra.Command {
	var flags diffFlags
	cmd := &cobra.Command{
		Use:   "diff (--turn A [--turn B] | --last)",
		Short: "Compare two windows: blocks that entered, left, moved or were shortened",
		Long: `Compare two windows: of two turns, of two calls of one turn, or of a call and the
call before it in its lineage. A turn stands for its last call unless --call names
another.

Blocks are listed in the order of the second window: + entered, - left, > moved,
< shortened, ^ grown, ~ changed. Blocks without a change are counted.

Below the blocks, the report estimates the cost of the first change. Both windows
begin with p equal tokens, and the second has n tokens: the provider is expected to
compute the other n - p tokens again. The next line is the number that the provider
billed as not read from the cache. The two numbers are never mixed.

--as-of shows both windows at an earlier time, as for ` + "`ctxledger window`" + `.

` + cli.IDHelp,
		Example: `  ctxledger diff --last
  ctxledger diff --turn turn-1 --turn turn-2
  ctxledger diff --turn turn-1 --call call-01 --call call-02
  ctxledger diff --turn turn-1 -o json`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return diff(cmd.Context(), a, flags) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&flags.turns, "turn", nil, "the turn; give it twice to compare two (required)")
	f.StringArrayVar(&flags.calls, "call", nil, "the model call; once for the second window, or twice (default: each turn's last)")
	f.StringArrayVar(&flags.sessions, "session", nil, "the session; twice where the turns are of two")
	f.StringVar(&flags.tenant, "tenant", "", "only this tenant")
	f.StringVar(&flags.asOf, "as-of", "", "as the ledger knew it then: RFC 3339, or how long ago")
	f.BoolVar(&flags.last, "last", false, "the newest window and the one before it")
	cli.OutputFlag(f, &flags.output, "table, json or csv", "table", "json", "csv")
	f.BoolVar(&flags.csvSafe, "csv-safe", false, "in CSV, put an apostrophe before cells that a spreadsheet would run (= + - @)")
	_ = cmd.RegisterFlagCompletionFunc("turn", CompleteTurn(a)) // the flag is there
	return cmd
}

// windows returns the two windows that the flags name. The first one's turn is
// empty where it is the call before the second.
func (d diffFlags) windows() (before, after TurnFlags, err error) {
	switch {
	case len(d.turns) == 0 && !d.last:
		err = cli.UsageError("which turns? give --turn twice, once with --call twice, or --last")
	case d.last && len(d.turns)+len(d.calls) > 0:
		err = cli.UsageError("--last compares the newest window with the one before it: give no --turn and no --call")
	case len(d.turns) > 2, len(d.calls) > 2, len(d.sessions) > 2:
		err = cli.UsageError("two windows are compared: --turn, --call and --session may be given twice at most")
	case slices.Contains(d.turns, ""), slices.Contains(d.calls, ""):
		err = cli.UsageError("--turn and --call must not be empty")
	case len(d.turns) == 2 && len(d.calls) == 1:
		err = cli.UsageError("--call %s: of which turn? give --call twice, one for each --turn", d.calls[0])
	case len(d.turns) == 1 && len(d.sessions) == 2:
		err = cli.UsageError("one --turn is of one --session")
	}
	if err != nil {
		return before, after, err
	}
	asOf, err := parseTime("--as-of", d.asOf, time.Now())
	if err != nil {
		return before, after, err
	}
	before = TurnFlags{Tenant: d.tenant, output: d.output, asOf: asOf}
	after = before
	after.last = d.last
	if !d.last {
		after.Turn = d.turns[len(d.turns)-1]
	}
	if len(d.turns) == 2 || len(d.calls) == 2 {
		before.Turn = d.turns[0]
	}
	if len(d.calls) > 0 {
		after.Call = d.calls[len(d.calls)-1]
	}
	if len(d.calls) == 2 {
		before.Call = d.calls[0]
	}
	if len(d.sessions) > 0 {
		before.Session, after.Session = d.sessions[0], d.sessions[len(d.sessions)-1]
	}
	return before, after, nil
}

func diff(ctx context.Context, a *cli.App, flags diffFlags) error {
	before, after, err := flags.windows()
	if err == nil {
		err = errors.Join(before.ids().FromRows(a), after.ids().FromRows(a))
	}
	if err != nil {
		return err
	}
	o, err := OpenSessions(ctx, a)
	if err != nil {
		return err
	}
	second, err := findWindow(ctx, a, o, &after)
	if err != nil {
		return err
	}
	if before.Session == "" && before.Turn == after.Turn || before.Turn == "" {
		before.Session, before.Tenant = after.Session, after.Tenant
	}
	if before.Turn == "" {
		if second.Previous == "" {
			return fmt.Errorf("call %s of turn %q is the first of its lineage: nothing is before it to compare it with; give two turns", second.Call, second.Turn)
		}
		before.Turn, before.Call = second.PreviousTurn, second.Previous
	}
	first, err := findWindow(ctx, a, o, &before)
	if err != nil {
		return err
	}
	d := windowview.Compare(first, second)
	switch flags.output {
	case "json":
		return a.PrintJSON(d)
	case "csv":
		return diffCSV(a, d, flags.csvSafe || cli.IsTerminal(a.Out))
	}
	return d.Draw(a.Out, a.Style())
}

func findWindow(ctx context.Context, a *cli.App, o Sessions, t *TurnFlags) (windowview.Window, error) {
	l, err := o.turn(ctx, a, t)
	if err != nil {
		return windowview.Window{}, err
	}
	return ReadWindow(ctx, a, l, *t)
}

// diffCSV writes a line for each block of either window.
func diffCSV(a *cli.App, d windowview.Difference, safe bool) error {
	out := csv.NewWriter(a.Data())
	if err := out.Write([]string{"change", "moved", "position_before", "position_after", "layer", "tokens_before", "tokens_after", "item_refs", "title"}); err != nil {
		return err
	}
	for _, c := range d.Changes {
		shown, was, is := c.After, [2]string{}, [2]string{}
		if c.Before != nil {
			was = [2]string{strconv.FormatInt(c.Before.Position, 10), figure(c.Before.Tokens)}
		}
		if c.After != nil {
			is = [2]string{strconv.FormatInt(c.After.Position, 10), figure(c.After.Tokens)}
		} else {
			shown = c.Before
		}
		record := []string{c.Kind, strconv.FormatBool(c.Moved), was[0], is[0], ui.CSVCell(shown.Layer, safe), was[1], is[1], ui.CSVCell(strings.Join(shown.Items, " "), safe), ui.CSVCell(shown.Title, safe)}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// figure writes a number for a program, and nothing for one that is not known.
func figure(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}
