package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/plain"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/rows"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read/turn"
)

func (a *app) windowCommand() *cobra.Command {
	var flags turnFlags
	cmd := &cobra.Command{
		Use:   "window --turn T",
		Short: "Show the window of a turn as the model saw it",
		Long: `Show what the model saw in a turn: the ordered blocks of its window, what each
layer takes of it, estimated and billed tokens side by side, what is new since the
call before (+), what was elided, shortened or withheld and what stands there
instead, and how many candidates were left out. Without --call it is the turn's
last call.

--as-of shows what the ledger knew at a time, by when the stream stored each fact:
a time such as 2026-11-21T08:00:00Z, or how long ago, such as 10m, 36h or 7d. Content
that a producer put into the facts is then held to its digest, by the tenant's keys
in the data folder: what does not match is said, and the exit code is 4.

Where a turn id occurs in several sessions, a terminal is asked which; elsewhere
the choices are printed and the exit code is 2. -o json is one object with the
blocks in it, -o csv the blocks alone.`,
		Example: `  ctxledger window --turn turn_7
  ctxledger window --turn turn_7 --session s_42 --call call_3 -o json
  ctxledger window --turn turn_7 --as-of 10m`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.window(cmd.Context(), flags) },
	}
	flags.register(a, cmd)
	cmd.Flags().StringVar(&flags.call, "call", "", "the model call (default: the turn's last)")
	flags.registerAsOf(cmd)
	return cmd
}

func (a *app) window(ctx context.Context, flags turnFlags) error {
	if err := flags.check(); err != nil {
		return err
	}
	l, err := a.openReader(ctx)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := a.findTurn(ctx, l, &flags); err != nil {
		return err
	}
	if flags.output == "csv" {
		return a.queryCSV(ctx, "window", flags, nil)
	}
	w, err := a.readWindow(ctx, l, flags)
	if err != nil {
		return err
	}
	var unmatched error
	if flags.asOf != "" {
		if unmatched = a.checkContents(ctx, l, flags, &w); unmatched != nil && exitCode(unmatched) != exitNotVerified {
			return unmatched
		}
	}
	if flags.output == "json" {
		err = a.printJSON(w)
	} else {
		err = w.Draw(a.out, a.style())
	}
	return cmp.Or(err, unmatched)
}

func (a *app) style() windowview.Style {
	return windowview.Style{Width: a.width(), Colour: colour(a.out)}
}

// check says what is wrong with the flags, and reads the time.
func (t *turnFlags) check() (err error) {
	if t.turn == "" {
		return usageError("which turn? give --turn (`ctxledger query turns --param session_id=…` lists them)")
	}
	if !slices.Contains(rows.Formats, t.output) {
		return usageError("-o %q: want table, json or csv", t.output)
	}
	t.asOf, err = parseTime("--as-of", t.asOf, time.Now())
	return err
}

// queryCSV writes the rows of a named query about the turn.
func (a *app) queryCSV(ctx context.Context, query string, t turnFlags, more map[string]string) error {
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
	return a.query(ctx, []string{query}, withDefaults(params, "csv"))
}

// readWindow asks for a window's blocks and for what is known about its call.
func (a *app) readWindow(ctx context.Context, l *ledger.Ledger, t turnFlags) (windowview.Window, error) {
	arguments, err := t.arguments("window")
	if err != nil {
		return windowview.Window{}, err
	}
	blocks, size, err := turn.Window(ctx, l, arguments)
	if err != nil {
		return windowview.Window{}, asUsage(err)
	}
	if len(blocks) == 0 {
		return windowview.Window{}, a.noWindow(ctx, l, t)
	}
	w := windowview.Window{Session: t.session, Turn: t.turn, Call: blocks[0].Call, AsOf: t.asOf, Previous: blocks[0].PreviousCall, PreviousTurn: blocks[0].PreviousTurn}
	for _, b := range blocks {
		w.Blocks = append(w.Blocks, blockOf(b))
	}
	if size != nil {
		addSize(&w, *size)
	}
	w.Reckon()
	return w, nil
}

func blockOf(b turn.Block) windowview.Block {
	return windowview.Block{
		Position: b.Position, Layer: b.Layer, Role: b.Role, Title: b.Title, Tokens: b.Tokens, Full: b.Full,
		Elided: b.Elided, ElidedBy: b.ElidedBy, Level: b.ElidedLevel, Stub: b.Reload, Redaction: b.RedactionState,
		New: b.New, Items: b.Items, Name: cmp.Or(b.Name, b.Block), Digest: b.Digest, Origin: b.Origin, Injected: b.Injected, Target: b.Target,
		Assembly: b.Assembly, Block: b.Block,
	}
}

// addSize adds what is known about the call, and about its items, to a window.
func addSize(w *windowview.Window, s turn.Size) {
	w.Model, w.Max, w.Reserved, w.Billed, w.CacheRead = s.Model, s.Max, s.Reserved, s.Billed, s.CacheRead
	w.OmittedItems, w.OmittedTokens, w.OmittedUnknown = int64(s.Omitted), s.OmittedTokens, int64(s.OmittedUnknown)
	for i, reason := range s.OmissionReasons {
		w.OmissionReasons = append(w.OmissionReasons, windowview.Omitted{Reason: reason, Items: int64(s.OmittedBy[i])})
	}
	for i := range w.Blocks {
		b := &w.Blocks[i]
		for _, item := range b.Items {
			if j := slices.Index(s.Shortened, item); j >= 0 {
				b.Shortened = cmp.Or(s.ShortenedHow[j], "to fit")
				if !b.Elided && s.ShortenedBefore[j] != nil {
					b.Full = s.ShortenedBefore[j]
				}
			}
			if j := slices.Index(s.Redacted, item); j >= 0 && b.Redaction != "" && b.Redaction != "none" {
				b.Policies, b.StandIn = s.RedactedPolicies[j], s.RedactedStandIn[j]
			}
		}
	}
}

// noWindow is the error for a turn without a window, and says what is known of it.
func (a *app) noWindow(ctx context.Context, l *ledger.Ledger, t turnFlags) error {
	all := t
	all.asOf = ""
	known, err := all.ask(ctx, l, "window-facts")
	if err != nil {
		return err
	}
	if len(known) == 0 {
		return a.unknownTurn(ctx, l, t)
	}
	var with string
	for _, narrowing := range [][2]string{{t.call, "--call"}, {t.asOf, "--as-of"}} {
		if narrowing[0] != "" {
			with += " with " + narrowing[1] + " " + narrowing[0]
		}
	}
	var kinds, calls []string
	var facts int64
	first, recorded := known[0].moment("first_at"), known[0].moment("first_recorded_at")
	for _, r := range known {
		facts += r.count("facts")
		kinds = append(kinds, fmt.Sprintf("%s %d", r.text("event_type"), r.count("facts")))
		calls = append(calls, r.texts("call_ids")...)
		if at := r.moment("first_at"); at.Before(first) {
			first = at
		}
		if at := r.moment("first_recorded_at"); at.Before(recorded) {
			recorded = at
		}
	}
	slices.Sort(calls)
	calls = slices.Compact(calls)
	text := fmt.Sprintf("no window of turn %q of session %q is recorded%s: what is known of the turn is %s since %s (%s)", t.turn, t.session, with, plain.Plural(facts, "fact"), first.UTC().Format(time.RFC3339), strings.Join(kinds, ", "))
	switch {
	case t.call != "" && len(calls) > 0 && !slices.Contains(calls, t.call):
		text += ", which name the calls " + strings.Join(calls[:min(10, len(calls))], ", ")
	case t.asOf != "":
		text += fmt.Sprintf(", the first of which the stream stored at %s", recorded.UTC().Format(time.RFC3339))
	}
	return fmt.Errorf("%s; `ctxledger query turns --param session_id=%s` lists the turns that have windows", text, t.session)
}
