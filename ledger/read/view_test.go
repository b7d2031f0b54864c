package read_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/ledgertest"
	"github.com/ctxledger/ctxledger/ledger/migrate"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/schema"
)

// viewNames lists the views of a migrated ledger without parameters.
func viewNames(t *testing.T, l *ledger.Ledger) []string {
	t.Helper()
	var names []string
	for _, row := range rows(t, l, "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'View' AND empty(parameterized_view_parameters) ORDER BY name", nil) {
		names = append(names, row[0])
	}
	if len(names) < 25 {
		t.Fatalf("only %d views: %v", len(names), names)
	}
	return names
}

// TestViewsAreWhatIsPromised compares the headers of views with the columns of their statements,
// which the server does not plan when it makes them: names, types and order are those of the header.
func TestViewsAreWhatIsPromised(t *testing.T) {
	t.Parallel()
	l := cleanCorpus(t)
	for _, name := range viewNames(t, l) {
		view, ok := migrate.GetView(name)
		if !ok {
			t.Errorf("no header describes the view %s", name)
			continue
		}
		var promised, there []string
		for _, c := range view.Columns {
			promised = append(promised, c.Name+" "+c.Type)
		}
		query := rows(t, l, "SELECT as_select FROM system.tables WHERE database = currentDatabase() AND name = {view:String}", map[string]string{"view": name})[0][0]
		for _, row := range rows(t, l, "DESCRIBE TABLE ("+query+")", nil) {
			there = append(there, row[0]+" "+row[1])
		}
		if !slices.Equal(promised, there) {
			t.Errorf("%s: the header has the columns\n%s\nand the statement has\n%s", name, strings.Join(promised, "\n"), strings.Join(there, "\n"))
		}
		_ = rows(t, l, "SELECT * FROM {view:Identifier}", map[string]string{"view": name})
	}
	for _, view := range migrate.Views() {
		if got := rows(t, l, "EXISTS TABLE {view:Identifier}", map[string]string{"view": view.Name}); got[0][0] != "1" {
			t.Errorf("the view %s is promised and not there", view.Name)
		}
	}
}

func TestRepeatedRowsCountOnce(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.runtimeSession()
	c.importedSession()
	l := c.write()
	before := make(map[string]string)
	for _, view := range viewNames(t, l) {
		if view != "ledger_head" {
			before[view] = fmt.Sprint(rows(t, l, "SELECT count() FROM {view:Identifier}", map[string]string{"view": view}))
		}
	}
	// Another digest is another token, so the server stores every row again.
	c.batch.Digest[0]++
	if err := l.Write(t.Context(), c.batch, 1); err != nil {
		t.Fatal(err)
	}
	for view, want := range before {
		if got := fmt.Sprint(rows(t, l, "SELECT count() FROM {view:Identifier}", map[string]string{"view": view})); got != want {
			t.Errorf("%s has %s rows after a repeated write, %s before", view, got, want)
		}
	}
}

// TestChecksFindNothingInACleanCorpus: each of the eight checks is empty for a correct corpus, one
// by one and in the common query.
func TestChecksFindNothingInACleanCorpus(t *testing.T) {
	t.Parallel()
	l := cleanCorpus(t)
	n := 0
	for _, view := range viewNames(t, l) {
		if !strings.HasPrefix(view, "check_") {
			continue
		}
		n++
		if got := rows(t, l, "SELECT * FROM {view:Identifier}", map[string]string{"view": view}); len(got) > 0 {
			t.Errorf("%s: %v", view, got)
		}
	}
	said := named(t, l, "checks", nil, "check_name", "violations")
	if n != 9 || len(said) != n {
		t.Errorf("there are %d checks, and the query says %v", n, said)
	}
	for _, row := range said {
		if row[1] != "0" {
			t.Errorf("the query checks says %v", row)
		}
	}
}

// TestChecksFindWhatIsPlanted plants one violation for every check.
func TestChecksFindWhatIsPlanted(t *testing.T) {
	t.Parallel()
	plants := map[string]struct {
		plant func(c *corpus)
		want  string // part of the row found
	}{
		"check_conservation": {func(c *corpus) {
			half := selection("selection-x", "call-x")
			half.Parts, half.Part = num(2), num(1)
			c.add(half)
		}, "only 1 of 2 parts"},
		"check_injected_without_assembly": {func(c *corpus) {
			c.add(&schema.InjectionApplied{Injection: schema.Injection{InjectionID: "i-x", AssemblyID: "assembly-x"}})
		}, "assembly-x"},
		"check_redaction_reintroduced": {func(c *corpus) {
			c.add(&schema.RedactionApplied{Common: schema.Common{PolicyRefs: refs("p")}, RedactionID: "redaction-x", TargetRef: "item-x", RedactionState: schema.RedactionRemoved, Reason: "secret"})
			c.add(&schema.ItemUpdated{Item: schema.Item{ItemID: "item-x"}})
		}, "item-x"},
		"check_sequence_gaps": {func(c *corpus) {
			c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "item-w"}})
			c.at(&schema.ItemAdded{Item: schema.Item{ItemID: "item-x"}}, 900)
			c.add(&schema.ErasureApplied{
				Common: schema.Common{PolicyRefs: refs("p")}, ErasureID: "erasure-x", ErasedSubject: "user-x", Reason: "request",
				Records: []schema.ErasedRecord{{Source: "urn:test:agent", SourceSequence: num(898), SessionID: "sx"}, {Source: "urn:test:agent", SourceSequence: num(899), SessionID: "sx"}, {Source: "urn:test:agent", SessionID: "sx"}},
			})
		}, "897"},
		"check_unsealed_scopes": {func(c *corpus) {
			c.in("s-open", "s-open", "", "run-x").add(&schema.ItemAdded{Item: schema.Item{ItemID: "item-x"}})
			c.batch.Last += 2 * 24 * 3600
			c.in("s-sealed", "s-sealed", "", "run-y")
			c.ids.ContextID = "context-x"
			c.add(&schema.EnvelopeCreated{ContextID: "context-x", Scope: "session", Lifecycle: schema.LifecycleArchived})
		}, "s-open"},
		"check_reasoning_reinjected": {func(c *corpus) {
			c.entry("thought-x", "reasoning", "", "", 0, 5)
			c.ids.TurnID = "t9"
			c.add(&schema.AssemblyCreated{AssemblyID: "assembly-x", Target: "model", OrderedBlocks: []schema.Block{{Block: "b", Layer: "assistant", ItemRefs: refs("thought-x")}}})
		}, "thought-x"},
		"check_references_elsewhere": {func(c *corpus) {
			c.in("sx", "sx", "tx", "run-a")
			c.add(&schema.ResourceResolved{Resource: schema.Resource{BindingID: "resource:a", Name: "memory"}})
			c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "own", BindingID: "resource:a"}})
			c.in("sx", "sx", "tx", "run-root")
			c.add(&schema.ResourceResolved{Resource: schema.Resource{BindingID: "resource:root", Name: "memory"}})
			c.in("sx", "sx", "tx", "run-b")
			c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "above", BindingID: "resource:root"}})
			c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "nobodys", BindingID: "resource:none", OfferedBy: "none"}})
			c.add(&schema.InjectionApplied{Injection: schema.Injection{InjectionID: "injection-x", BindingID: "resource:a"}})
		}, "injection-x"},
		"check_compaction_dropped_open_gap": {func(c *corpus) {
			c.add(&schema.MissingDetected{Missing: gap("gap-x", "where?", "alice", schema.StatusOpen)})
			c.add(&schema.CompactionCompleted{Compaction: schema.Compaction{CompactionID: "compact-x", Scope: "thread", SummaryRef: "sum-x", SourceItemRefs: refs("m"),
				SourceWindow: &schema.SourceWindow{FirstPosition: num(0), LastPosition: num(1)}}})
		}, "gap-x"},
	}
	for check, p := range plants {
		t.Run(check, func(t *testing.T) {
			t.Parallel()
			c := newCorpus(t)
			c.in("sx", "sx", "tx", "run-root")
			p.plant(c)
			l := c.write()
			if got := rows(t, l, "SELECT * FROM {view:Identifier}", map[string]string{"view": check}); len(got) != 1 || !strings.Contains(fmt.Sprint(got), p.want) {
				t.Errorf("found %v, want one row with %q", got, p.want)
			}
			ofOneTenant(t, l, check, "1")
		})
	}
}

func TestCheckConservationNamesTheItems(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.in("sx", "sx", "tx", "run-root")
	// Each part is correct. The two parts together violate the rule.
	first, second := selection("selection-x", "c"), selection("selection-x", "c")
	first.Parts, first.Part, second.Parts, second.Part = num(2), num(1), num(2), num(2)
	first.Omitted, second.Selected = first.Omitted[:1], nil
	second.Omitted[1].ItemRef = "item-doc"
	c.plant(first)
	c.plant(second)
	got := rows(t, c.write(), "SELECT problem, item_refs FROM check_conservation ORDER BY problem", nil)
	want := "[[candidate is both selected and omitted [item-doc]] [candidate is neither selected nor omitted [item-big]]]"
	if fmt.Sprint(got) != want {
		t.Errorf("found %v\n want %v", got, want)
	}
}

// ofOneTenant runs a check whose violations are all of one tenant: for all tenants, for that tenant
// and for another one.
func ofOneTenant(t *testing.T, l *ledger.Ledger, check, violations string) {
	t.Helper()
	found := rows(t, l, "SELECT * FROM {view:Identifier} ORDER BY ALL", map[string]string{"view": check})
	tenant := rows(t, l, "SELECT tenant FROM {view:Identifier} LIMIT 1", map[string]string{"view": check})[0][0]
	for given, want := range map[string]string{"": violations, tenant: violations, "another": "0"} {
		answer := named(t, l, "checks", map[string]string{"tenant": given}, "check_name", "violations")
		if i := slices.IndexFunc(answer, func(row []string) bool { return row[0] == check }); answer[i][1] != want {
			t.Errorf("the query checks says %v of the tenant %q, want %s of %s", answer, given, want, check)
		}
		got := rows(t, l, "SELECT * FROM "+check+"_of(tenant = {tenant:String}) ORDER BY ALL", map[string]string{"tenant": given})
		if given == "another" && len(got) > 0 || given != "another" && fmt.Sprint(got) != fmt.Sprint(found) {
			t.Errorf("of the tenant %q %s finds %v, and of all %v", given, check, got, found)
		}
	}
}

func TestCheckLostRuntimeIDs(t *testing.T) {
	t.Parallel()
	s := ledgertest.Migrated.ClickHouse(t)
	l, err := ledger.Open(t.Context(), s.ClickHouseDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c := newCorpus(t)
	c.runtimeSession()
	if err := l.Write(t.Context(), c.batch, 1); err != nil {
		t.Fatal(err)
	}
	conn := embeddedtest.Connect(t, s.ClickHouseDSN())
	for _, sql := range []string{
		"INSERT INTO items SELECT * REPLACE ('' AS turn_id) FROM items WHERE item_id = 'item-doc'",
		"INSERT INTO redactions SELECT * REPLACE (stream_seq + 1000 AS stream_seq) FROM redactions",
	} {
		if err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	got := rows(t, l, "SELECT table_name, problem FROM check_lost_runtime_ids ORDER BY table_name", nil)
	want := "[[items the row has other correlation ids than its event] [redactions the row has no event]]"
	if fmt.Sprint(got) != want {
		t.Errorf("found %v\n want %v", got, want)
	}
	ofOneTenant(t, l, "check_lost_runtime_ids", "2")
}

func TestSequencesOfDroppedAndRefusedFactsAreKnown(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.in("sx", "sx", "", "run-root")
	c.add(&schema.ItemAdded{Item: schema.Item{ItemID: "a"}}) // 1
	c.at(&schema.FactsDropped{DropID: "d", Count: num(2), Reason: "outbox full", Sequences: []schema.SequenceRanges{{Source: c.source, Ranges: [][2]int64{{2, 3}}}}}, 4)
	refused := &schema.Event{ID: "r", Source: c.source, Correlation: c.ids}
	c.batch.Last++
	c.batch.AddRefused(ledger.Refused{
		Tenant: "acme", Subject: "ctx.v1.acme.bench.p00.item.added", Event: refused, Data: []byte("{"), Violations: schema.Violations{{Code: schema.CodeMalformed}},
		Header: map[string][]string{"ce-id": {"r"}, "ce-sequence": {"000000000005"}, "ce-tenant": {"another"}, "ce-sessionid": {"sx"}},
	}, c.position())
	c.at(&schema.ItemAdded{Item: schema.Item{ItemID: "b"}}, 6)
	c.at(&schema.ItemAdded{Item: schema.Item{ItemID: "b2"}}, 6) // another version with the same sequence
	l := c.write()
	if got := rows(t, l, "SELECT * FROM check_sequence_gaps", nil); len(got) > 0 {
		t.Errorf("found %v", got)
	}
	if got := named(t, l, "quarantine-by-code", nil, "tenant", "messages"); fmt.Sprint(got) != "[[acme 1]]" {
		t.Errorf("quarantine-by-code: %v", got)
	}
	if got := named(t, l, "quarantine", nil, "tenant", "replayed_as", "outcome"); fmt.Sprint(got) != "[[acme NULL ]]" {
		t.Errorf("quarantine: %v", got)
	}
}

func TestQueryFormatOverHTTP(t *testing.T) {
	t.Parallel()
	s := embeddedtest.ClickHouse(t)
	overTCP, err := ledger.Open(t.Context(), s.ReaderDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { overTCP.Close() })
	if _, err := read.Of(overTCP).QueryFormat(t.Context(), "Parquet", "SELECT 1", nil, read.DefaultLimits()); err == nil || !strings.Contains(err.Error(), "HTTP address") {
		t.Errorf("over the native protocol: %v", err)
	}
	options, err := clickhouse.ParseDSN(s.ReaderDSN())
	if err != nil {
		t.Fatal(err)
	}
	address := strings.Replace(s.HTTPURL(), "http://", "http://"+options.Auth.Username+":"+options.Auth.Password+"@", 1) + "/" + options.Auth.Database
	l, err := ledger.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	for format, want := range map[string]string{"CSVWithNames": "\"n\"\n\"it's\\\"", "JSONEachRow": `{"n":"it's\\"}`, "Parquet": "PAR1"} {
		stream, err := read.Of(l).QueryFormat(t.Context(), format, "SELECT {x:String} AS n;", map[string]string{"x": `it's\`}, read.DefaultLimits())
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		data, err := io.ReadAll(stream)
		stream.Close()
		if err != nil || !strings.HasPrefix(string(data), want) {
			t.Errorf("%s: %q, %v", format, data, err)
		}
	}
}
