package bench

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/queries"
	"github.com/go-json-experiment/json"
)

// TestEveryQueryIsAsked runs the benchmark with a small corpus. Each query of the catalogue runs
// in each of its scopes, with arguments, and succeeds.
func TestEveryQueryIsAsked(t *testing.T) {
	t.Parallel()
	dsn, _ := seeded(t)
	dsn, err := InDatabase(dsn, SeedDatabase)
	if err != nil {
		t.Fatal(err)
	}
	c := DefaultQueriesConfig()
	c.Samples, c.Rounds = 1, 1
	r, err := RunQueries(t.Context(), c, dsn)
	if err != nil {
		t.Fatal(err)
	}
	if r.Events != 10_000 || r.Sessions < 10 || r.Tenants != 4 || r.Database != SeedDatabase || r.Bytes == 0 || r.Parts == 0 {
		t.Errorf("the corpus is %+v", r)
	}
	var cpu float64
	for _, q := range queries.All() {
		scopes := make(map[Scope]QueryFigures)
		for _, f := range r.Queries {
			if f.Query == q.Name {
				scopes[f.Scope] = f
			}
		}
		needs := slices.ContainsFunc(q.Parameters, func(p queries.Parameter) bool { return p.Required })
		if _, all := scopes[scopeAll]; len(scopes) == 0 || !needs && !all {
			t.Errorf("%s is asked in %v", q.Name, scopes)
		}
		for scope, f := range scopes {
			if f.Error != "" {
				t.Errorf("%s, %s: %s", q.Name, scope, f.Error)
				continue
			}
			if f.Warm.Runs == 0 || f.Cold.Runs == 0 || f.Warm.P95 <= 0 || f.Cold.P50 <= 0 || f.Bar <= 0 || f.Memory <= 0 {
				t.Errorf("%s, %s has figures missing: %+v", q.Name, scope, f)
			}
			cpu += f.CPU
		}
	}
	if cpu <= 0 { // the server reports no CPU time for a fast query
		t.Error("no query took the server any time")
	}
	for _, name := range []string{"window", "sessions"} {
		i := slices.IndexFunc(r.Queries, func(f QueryFigures) bool { return f.Query == name && f.Scope.narrow() })
		if i < 0 || r.Queries[i].Result == 0 || r.Queries[i].Rows == 0 {
			t.Errorf("%s of one that was drawn finds nothing", name)
		}
	}
	for _, command := range commands {
		i := slices.IndexFunc(r.Queries, func(f QueryFigures) bool { return f.Query == "ctxledger "+command.name })
		if i < 0 || r.Queries[i].Error != "" || r.Queries[i].Result == 0 || r.Queries[i].Rows == 0 {
			t.Errorf("the command %s is not asked, or finds nothing", command.name)
		}
	}
	var table, text strings.Builder
	if err := r.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	if err := json.MarshalWrite(&text, &r); err != nil {
		t.Fatal(err)
	}
	var found QueriesReport
	if err := json.Unmarshal([]byte(text.String()), &found); err != nil {
		t.Fatal(err)
	}
	for _, f := range found.Queries {
		if !strings.Contains(table.String(), f.Query) {
			t.Errorf("the table lacks %s", f.Query)
		}
	}
}

// TestInterruptedRunTellsWhatItHas: a run that ends at its third question reports two.
func TestInterruptedRunTellsWhatItHas(t *testing.T) {
	t.Parallel()
	dsn, _ := seeded(t)
	dsn, err := InDatabase(dsn, SeedDatabase)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	enough := errors.New("enough")
	c := DefaultQueriesConfig()
	c.Samples, c.Rounds, c.Only = 1, 1, []string{"sessions", "why"}
	c.Progress = func(_ string, done, _ int64) {
		if done == 2 {
			cancel(enough)
		}
	}
	r, err := RunQueries(ctx, c, dsn)
	if !errors.Is(err, enough) || len(r.Queries) != 2 || r.Left != 3 {
		t.Errorf("%d were asked and %d left, %v; want 2, 3 and the cause", len(r.Queries), r.Left, err)
	}
	var table strings.Builder
	if err := r.WriteTable(&table); err != nil || !strings.Contains(table.String(), "interrupted: 3 were not asked") || !strings.Contains(table.String(), "sessions") {
		t.Errorf("%v:\n%s", err, table.String())
	}
}

// TestFailedQueryIsOverTheBar: a failed query does not end the others.
func TestFailedQueryIsOverTheBar(t *testing.T) {
	t.Parallel()
	dsn, conn := seeded(t)
	l, err := ledger.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a := asker{config: DefaultQueriesConfig(), ledger: l, conn: conn}
	ask := func(sql string) QueryFigures {
		return a.ask(t.Context(), questions{name: "q", scope: scopeAll, bar: barAll, samples: [][]asked{{{query: queries.Query{Name: "q", SQL: sql}}}}})
	}
	if f := ask("SELECT * FROM not_there"); !f.Over || !strings.Contains(f.Error, "not_there") {
		t.Errorf("%+v", f)
	}
	if f := ask("SELECT number FROM numbers(3)"); f.Error != "" || f.Result != 3 || f.Warm.Runs != a.config.Rounds || f.Cold.Runs != 1 {
		t.Errorf("%+v", f)
	}
}

// TestTurnFillsWhatIsRequired: the value of a parameter depends on the parameter's name.
func TestTurnFillsWhatIsRequired(t *testing.T) {
	t.Parallel()
	one := turn{"t", "s", "u1", "u2", "c", "i"}
	for name, want := range map[string]string{
		"tenant": "t", "session_id": "s", "turn_id": "u1", "turn_a": "u1", "turn_b": "u2", "call_id": "c", "item_ref": "i",
	} {
		if got, ok := one.value(queries.Parameter{Name: name, Type: "String"}); got != want || !ok {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got, ok := one.value(queries.Parameter{Name: "mood", Type: "String"}); ok {
		t.Errorf("mood is %q", got)
	}
	if got, _ := one.value(queries.Parameter{Name: "limit", Type: "UInt32", Min: "7"}); got != "7" {
		t.Errorf("a number is %q, want the least", got)
	}
}
