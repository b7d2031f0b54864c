package ask

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/queries"
)

// TurnFlags name a turn, and the part of it that a command asks about.
type TurnFlags struct {
	Tenant, Session, Turn, Call, asOf string
	output                            string
	last, csvSafe                     bool
}

// ids returns the ids of the flags by column.
func (t *TurnFlags) ids() cli.IDs {
	return cli.IDs{read.SessionID: &t.Session, read.TurnID: &t.Turn, read.CallID: &t.Call}
}

func (t *TurnFlags) register(a *cli.App, cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&t.Turn, "turn", "", "the turn (this or --last)")
	f.BoolVar(&t.last, "last", false, "the turn of the newest window, of --session if given")
	f.StringVar(&t.Session, "session", "", "the session, where the turn id occurs in several")
	f.StringVar(&t.Tenant, "tenant", "", "only this tenant")
	cli.OutputFlag(f, &t.output, "table, json or csv", "table", "json", "csv")
	f.BoolVar(&t.csvSafe, "csv-safe", false, "in CSV, put an apostrophe before cells that a spreadsheet would run (= + - @)")
	_ = cmd.RegisterFlagCompletionFunc("turn", CompleteTurn(a)) // the flag is there
}

func (t *TurnFlags) registerAsOf(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.asOf, "as-of", "", "as the ledger knew it then: RFC 3339, or how long ago")
}

// arguments returns the given flags that are parameters of the query.
func (t TurnFlags) arguments(query string) (map[string]string, error) {
	q, err := queries.Get(query)
	if err != nil {
		return nil, err
	}
	given := map[string]string{"tenant": t.Tenant, "session_id": t.Session, "turn_id": t.Turn, "call_id": t.Call, "as_of": t.asOf}
	for name, value := range given {
		if value == "" || !slices.ContainsFunc(q.Parameters, func(p queries.Parameter) bool { return p.Name == name }) {
			delete(given, name)
		}
	}
	return given, nil
}

// ask runs a named query about the turn.
func (t TurnFlags) ask(ctx context.Context, l *ledger.Ledger, query string) ([]cli.Answer, error) {
	arguments, err := t.arguments(query)
	if err != nil {
		return nil, err
	}
	return cli.Ask(ctx, l, query, arguments)
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
		return "", cli.UsageError("%s %q: want a time such as 2026-11-21T08:00:00Z, or how long ago, such as 10m, 36h or 7d", flag, value)
	}
	return now.Add(-ago).UTC().Format(time.RFC3339Nano), nil
}

// findTurn completes the ids and fills the session of the turn. Of several sessions with
// the turn, a person at a terminal chooses one.
func findTurn(ctx context.Context, a *cli.App, l *ledger.Ledger, t *TurnFlags) error {
	if t.last {
		if _, err := t.ids().Complete(ctx, a, l, t.Tenant); err != nil {
			return err
		}
		newest, err := cli.Newest(ctx, a, l, t.Tenant, t.Session)
		if err != nil {
			return err
		}
		t.Turn, t.Session, t.Tenant = newest.ID, newest.Session, cmp.Or(t.Tenant, newest.Tenant)
		return nil
	}
	if t.Session != "" {
		_, err := t.ids().Complete(ctx, a, l, t.Tenant)
		return err
	}
	found, err := t.ask(ctx, l, "turn-sessions")
	if err == nil && len(found) == 0 {
		var replaced bool
		if replaced, err = t.ids().Complete(ctx, a, l, t.Tenant); replaced {
			found, err = t.ask(ctx, l, "turn-sessions")
		}
	}
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return UnknownTurn(ctx, a, l, *t)
	}
	return t.choose(a, found)
}

// choose fills the session of the turn from found, the rows of `turn-sessions`. There is at least one
// row. Of several sessions a person at a terminal chooses one.
func (t *TurnFlags) choose(a *cli.App, found []cli.Answer) error {
	if len(found) == 1 {
		t.Session, t.Tenant = found[0].Text("session_id"), found[0].Text("tenant")
		return nil
	}
	places := make([]cli.Place, len(found))
	for i, r := range found {
		places[i] = cli.Place{Tenant: r.Text("tenant"), Session: r.Text("session_id")}
	}
	chosen, err := a.Choose(fmt.Sprintf("turn %q", t.Turn), places, "--session")
	if err != nil {
		return err
	}
	t.Session, t.Tenant = places[chosen].Session, places[chosen].Tenant
	return nil
}

// UnknownTurn is the error for a turn without facts. It suggests similar ids.
func UnknownTurn(ctx context.Context, a *cli.App, l *ledger.Ledger, t TurnFlags) error {
	where := ""
	if t.Session != "" {
		where = fmt.Sprintf(" in session %q", t.Session)
	}
	near, err := t.ask(ctx, l, "window-turns")
	if err != nil {
		return err
	}
	var names []string
	for _, r := range near {
		if distance := r.Number("distance"); r["begins"] == true || distance != nil && *distance <= int64(max(2, len(t.Turn)/3)) {
			names = append(names, r.Text("turn_id"))
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("nothing is known about a turn %q%s: did you mean %s?", t.Turn, where, strings.Join(names[:min(3, len(names))], ", "))
	}
	if t.Session != "" && len(near) > 0 {
		return fmt.Errorf("nothing is known about a turn %q%s: `ctxledger query turns --param session_id=%s` lists its turns", t.Turn, where, ui.ShellQuote(t.Session))
	}
	return fmt.Errorf("nothing is known about a turn %q%s: `ctxledger query sessions` lists the sessions, `ctxledger query turns` their turns", t.Turn, where)
}

// CompleteTurn completes the id of a turn for the shell, the newest of each shard first. Without a
// server it offers nothing.
func CompleteTurn(a *cli.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second) // a person waits
		defer cancel()
		if a.Flags.Complete(cmd) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		s, err := OpenSessions(ctx, a)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		session, _ := cmd.Flags().GetString("session")
		var names []string
		for _, l := range s.all() {
			found, _ := TurnFlags{Turn: typed, Session: session}.ask(ctx, l, "window-turns")
			for _, r := range found {
				if typed == "" || r["begins"] == true {
					names = append(names, r.Text("turn_id")+"\tsession "+r.Text("session_id"))
				}
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
