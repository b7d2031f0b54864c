package ask

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/schema"
)

func WindowCommand(a *cli.App) *cobra.Command {
	var flags TurnFlags
	var text bool
	cmd := &cobra.Command{
		Use:   "window (--turn T | --last)",
		Short: "Show the window of a turn as the model saw it",
		Long: `Show the window of a turn as the model saw it: its ordered blocks, the share of each
layer, and estimated next to billed tokens. The estimate is also shown as corrected by
other bills of the session, with its distance from the bill. Marks and notes name new
blocks (+) and elided, shortened or withheld ones. Omitted candidates are counted by
reason. Without --call it is the last call of the turn.

--as-of shows the window from the facts that the stream had stored at a time: a time
such as 2026-11-21T08:00:00Z, or an age such as 10m, 36h or 7d. Content in the facts is
then checked against its digest with the keys of the data folder. The exit code is 4
if a content does not match.

--text adds the text of each block, where texts were stored. "import", "run" and
"capture" store them with --store-text, and programs as content of their items. Texts of
64 KiB and more are read from the bucket CTX_TEXTS and decrypted with the keys of the data
folder; where one cannot be read, the reason is shown. A
redacted text is shown as it was stored. Where a block was elided or cut, the text is
that of its item, of which the model saw less.

If a turn id occurs in several sessions, a terminal is asked for one. In a pipe the
choices are printed and the exit code is 2. -o json is one object, -o csv has one line
for each block.

` + cli.IDHelp,
		Example: `  ctxledger window --last
  ctxledger window --turn turn-1
  ctxledger window --turn turn-1 --session demo-session --call call-02 -o json
  ctxledger window --last --text
  ctxledger window --turn turn-1 --as-of 10m`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runWindow(cmd.Context(), a, flags, text) },
	}
	flags.register(a, cmd)
	cmd.Flags().StringVar(&flags.Call, "call", "", "the model call (default: the turn's last)")
	cmd.Flags().BoolVar(&text, "text", false, "show the stored text of each block, too")
	flags.registerAsOf(cmd)
	return cmd
}

func runWindow(ctx context.Context, a *cli.App, flags TurnFlags, text bool) error {
	if err := flags.check(a); err != nil {
		return err
	}
	if text && flags.output == "csv" {
		return cli.UsageError("--text: a CSV has no texts; use -o json")
	}
	s, err := OpenSessions(ctx, a)
	if err != nil {
		return err
	}
	l, err := s.turn(ctx, a, &flags)
	if err != nil {
		return err
	}
	if flags.output == "csv" {
		return queryCSV(ctx, a, "window", flags, nil)
	}
	w, err := ReadWindow(ctx, a, l, flags)
	if err != nil {
		return err
	}
	if flags.asOf == "" {
		if err := answer.Correct(ctx, l, flags.Tenant, &w); err != nil {
			return err
		}
	}
	var unmatched error
	if flags.asOf != "" || text {
		found, err := readContents(ctx, l, flags, w)
		if err != nil {
			return err
		}
		if text {
			if err := found.fetch(ctx, a, l, s.Shards(), w); err != nil {
				return err
			}
			found.addTexts(&w)
		}
		if flags.asOf != "" {
			if unmatched = found.check(a, &w); unmatched != nil && cli.ExitCode(unmatched) != cli.ExitNotVerified {
				return unmatched
			}
		}
	}
	if flags.output == "json" {
		err = a.PrintJSON(w)
	} else if err = w.Draw(a.Out, a.Style()); err == nil && text {
		err = w.DrawTexts(a.Out)
	}
	return cmp.Or(err, unmatched)
}

// check refuses flags that contradict each other, and reads rows and times.
func (t *TurnFlags) check(a *cli.App) (err error) {
	switch {
	case t.Turn == "" && !t.last:
		return cli.UsageError("which turn? give --turn, or --last for the newest (`ctxledger query turns --last` lists the turns of the newest session)")
	case t.Turn != "" && t.last:
		return cli.UsageError("--turn and --last: give one of them")
	}
	if err := t.ids().FromRows(a); err != nil {
		return err
	}
	t.asOf, err = parseTime("--as-of", t.asOf, time.Now())
	return err
}

// queryCSV writes the rows of a named query about the turn.
func queryCSV(ctx context.Context, a *cli.App, query string, t TurnFlags, more map[string]string) error {
	arguments, err := t.arguments(query)
	if err != nil {
		return err
	}
	var params []string
	for _, given := range []map[string]string{arguments, more} {
		for name, value := range given {
			params = append(params, name+"="+value)
		}
	}
	asked := Named(params, "csv")
	asked.csvSafe = t.csvSafe
	return RunQuery(ctx, a, []string{query}, asked)
}

// ReadWindow reads the blocks of a window and the facts about its call.
func ReadWindow(ctx context.Context, a *cli.App, l *ledger.Ledger, t TurnFlags) (windowview.Window, error) {
	arguments, err := t.arguments("window")
	if err != nil {
		return windowview.Window{}, err
	}
	w, found, err := answer.Window(ctx, l, arguments)
	if err != nil {
		return w, cli.AsUsage(err)
	}
	if !found {
		return w, noWindow(ctx, a, l, t)
	}
	w.AsOf = t.asOf
	return w, nil
}

// noWindow is the error for a turn without a window. It lists the facts of the turn.
func noWindow(ctx context.Context, a *cli.App, l *ledger.Ledger, t TurnFlags) error {
	all := t
	all.asOf = ""
	known, err := all.ask(ctx, l, "window-facts")
	if err != nil {
		return err
	}
	if len(known) == 0 {
		return UnknownTurn(ctx, a, l, t)
	}
	var with string
	for _, narrowing := range [][2]string{{t.Call, "--call"}, {t.asOf, "--as-of"}} {
		if narrowing[0] != "" {
			with += " with " + narrowing[1] + " " + narrowing[0]
		}
	}
	var kinds, calls []string
	var facts int64
	first, recorded := known[0].Moment("first_at"), known[0].Moment("first_recorded_at")
	for _, r := range known {
		facts += r.Count("facts")
		kinds = append(kinds, fmt.Sprintf("%s %d", r.Text("event_type"), r.Count("facts")))
		calls = append(calls, r.Texts("call_ids")...)
		if at := r.Moment("first_at"); at.Before(first) {
			first = at
		}
		if at := r.Moment("first_recorded_at"); at.Before(recorded) {
			recorded = at
		}
	}
	slices.Sort(calls)
	calls = slices.Compact(calls)
	text := fmt.Sprintf("no window of turn %q of session %q is recorded%s: the turn has %s since %s (%s)", t.Turn, t.Session, with, ui.Plural(facts, "fact"), first.UTC().Format(time.RFC3339), strings.Join(kinds, ", "))
	switch {
	case t.Call != "" && len(calls) > 0 && !slices.Contains(calls, t.Call):
		text += ", which name the calls " + strings.Join(calls[:min(10, len(calls))], ", ")
	case t.asOf != "":
		text += fmt.Sprintf(", the first of which the stream stored at %s", recorded.UTC().Format(time.RFC3339))
	}
	assembled := func(r cli.Answer) bool { return r.Text("event_type") == string(schema.TypeAssemblyCreated) }
	if with == "" && slices.ContainsFunc(known, assembled) {
		return fmt.Errorf("%s; the tables lack the window of a recorded assembly, which a retention of decisions removes: see `ctxledger retention show`", text)
	}
	newest, at, err := read.Of(l).NewestTurn(ctx, t.Tenant, t.Session)
	switch {
	case err != nil:
		return err
	case !at.IsZero():
		return fmt.Errorf("%s; `ctxledger window --session %s --turn %s` draws the newest window of the session", text, ui.ShellQuote(t.Session), ui.ShellQuote(newest.ID))
	}
	return fmt.Errorf("%s; no turn of this session has a window, and `ctxledger query sessions` lists the sessions", text)
}
