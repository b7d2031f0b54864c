package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/queries"
)

// turnFlags name a turn, and what of it is asked about.
type turnFlags struct {
	tenant, session, turn, call, asOf string
	output                            string
}

func (t *turnFlags) register(a *app, cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&t.turn, "turn", "", "the turn (required)")
	f.StringVar(&t.session, "session", "", "the session, where the turn id occurs in several")
	f.StringVar(&t.tenant, "tenant", "", "only this tenant")
	f.StringVarP(&t.output, "output", "o", "table", "table, json or csv")
	_ = cmd.RegisterFlagCompletionFunc("turn", a.completeTurn) // the flag is there
}

func (t *turnFlags) registerAsOf(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.asOf, "as-of", "", "as the ledger knew it then: RFC 3339, or how long ago")
}

// arguments are those that the query knows, of the ones that are given.
func (t turnFlags) arguments(query string) (map[string]string, error) {
	q, err := queries.Get(query)
	if err != nil {
		return nil, err
	}
	given := map[string]string{"tenant": t.tenant, "session_id": t.session, "turn_id": t.turn, "call_id": t.call, "as_of": t.asOf}
	for name, value := range given {
		if value == "" || !slices.ContainsFunc(q.Parameters, func(p queries.Parameter) bool { return p.Name == name }) {
			delete(given, name)
		}
	}
	return given, nil
}

// ask runs a named query about the turn.
func (t turnFlags) ask(ctx context.Context, l *ledger.Ledger, query string) ([]answer, error) {
	arguments, err := t.arguments(query)
	if err != nil {
		return nil, err
	}
	return ask(ctx, l, query, arguments)
}

// parseTime reads a time as people give it, RFC 3339 or how long ago, and returns
// it as queries take it. The empty text is no time.
func parseTime(flag, value string, now time.Time) (string, error) {
	if value == "" {
		return "", nil
	}
	if t, err := time.Parse(time.RFC3339Nano, value); err == nil {
		return t.UTC().Format(time.RFC3339Nano), nil
	}
	ago, err := time.ParseDuration(value)
	if days, isDays := strings.CutSuffix(value, "d"); isDays {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		ago = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || ago < 0 {
		return "", usageError("%s %q: want a time such as 2026-11-21T08:00:00Z, or how long ago, such as 10m, 36h or 7d", flag, value)
	}
	return now.Add(-ago).UTC().Format(time.RFC3339Nano), nil
}

// findTurn fills the session of the turn where it is not given: the one that has
// it, or the one that a person at a terminal chooses.
func (a *app) findTurn(ctx context.Context, l *ledger.Ledger, t *turnFlags) error {
	if t.session != "" {
		return nil
	}
	found, err := t.ask(ctx, l, "turn-sessions")
	if err != nil {
		return err
	}
	switch len(found) {
	case 0:
		return a.unknownTurn(ctx, l, *t)
	case 1:
		t.session, t.tenant = found[0].text("session_id"), found[0].text("tenant")
		return nil
	}
	places := make([]place, len(found))
	for i, r := range found {
		places[i] = place{r.text("tenant"), r.text("session_id")}
	}
	chosen, err := a.choose(fmt.Sprintf("turn %q", t.turn), places, "--session")
	if err != nil {
		return err
	}
	t.session, t.tenant = places[chosen].session, places[chosen].tenant
	return nil
}

// unknownTurn is the error for a turn that has no fact, with the ids that look
// like it.
func (a *app) unknownTurn(ctx context.Context, l *ledger.Ledger, t turnFlags) error {
	where := ""
	if t.session != "" {
		where = fmt.Sprintf(" in session %q", t.session)
	}
	near, err := t.ask(ctx, l, "window-turns")
	if err != nil {
		return err
	}
	var names []string
	for _, r := range near {
		if distance := r.number("distance"); r["begins"] == true || distance != nil && *distance <= int64(max(2, len(t.turn)/3)) {
			names = append(names, r.text("turn_id"))
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("nothing is known about a turn %q%s: did you mean %s?", t.turn, where, strings.Join(names[:min(3, len(names))], ", "))
	}
	if t.session != "" && len(near) > 0 {
		return fmt.Errorf("nothing is known about a turn %q%s: `ctxledger query turns --param session_id=%s` lists its turns", t.turn, where, t.session)
	}
	return fmt.Errorf("nothing is known about a turn %q%s: `ctxledger query sessions` lists the sessions, `ctxledger query turns` their turns", t.turn, where)
}

// completeTurn completes a turn's id for the shell: those that begin with what is
// typed, the newest first. Without a server there is nothing to complete.
func (a *app) completeTurn(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second) // a person waits
	defer cancel()
	if a.flags.complete(cmd) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	l, err := a.openReader(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer l.Close()
	session, _ := cmd.Flags().GetString("session")
	found, _ := turnFlags{turn: typed, session: session}.ask(ctx, l, "window-turns")
	var names []string
	for _, r := range found {
		if typed == "" || r["begins"] == true {
			names = append(names, r.text("turn_id")+"\tsession "+r.text("session_id"))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// width is how many characters a line of the results may have.
func (a *app) width() int {
	if f, ok := a.out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	return 80
}
