package read_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/schema"
)

// A piece is a part of a window in shared/vectors/elision.json: its tokens and its name. The name
// identifies its content.
type piece struct {
	tokens int64
	name   string
}

func (p *piece) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&p.tokens, &p.name})
}

type elisionVectors struct {
	Cases []struct {
		ID        string  `json:"id"`
		RawBefore []piece `json:"before"`
		RawAfter  []piece `json:"after"`
		Expect    struct {
			WindowBefore int64 `json:"window_before"`
			WindowAfter  int64 `json:"window_after"`
			Reused       int64 `json:"reused"`
			Recomputed   int64 `json:"recomputed"`
			LostCached   int64 `json:"lost_cached"`
		} `json:"expect"`
	} `json:"cases"`
	Simulation []struct {
		K               int     `json:"k"`
		Turns           int     `json:"turns"`
		Message         int64   `json:"msg"`
		Tool            int64   `json:"tool"`
		Stub            int64   `json:"stub"`
		TotalRecomputed int64   `json:"total_recomputed"`
		TotalSent       int64   `json:"total_window_tokens_sent"`
		Reused          int64   `json:"reused"`
		PerTurn         []int64 `json:"per_turn_recomputed"`
	} `json:"policy_simulation"`
}

func readElisionVectors(t *testing.T) (v elisionVectors) {
	t.Helper()
	shared := os.Getenv("CTXLEDGER_SHARED")
	if shared == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("CTXLEDGER_SHARED is unset: the vectors are needed in CI")
		}
		t.Skip("CTXLEDGER_SHARED is unset: no vectors")
	}
	data, err := os.ReadFile(filepath.Join(shared, "vectors", "elision.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// stubOf maps a stub of the vectors to its item.
var stubOf = map[string]string{"stub1": "res1", "stub": "read foo.py@t1"}

// assembled records a window and its call. A window of more than two pieces is recorded in two
// parts, the later blocks first. Blocks without digests are identified by their items. A stub has
// the same item as its original.
func (c *corpus) assembled(call, system string, window []piece, digests bool) {
	var blocks []schema.Block
	for i, p := range window {
		item := p.name
		if of, ok := stubOf[item]; ok {
			item = of
		}
		b := schema.Block{Block: fmt.Sprint("b", i), Tokens: num(p.tokens), ItemRefs: refs(item), Position: num(int64(i))}
		if digests {
			b.Digest = "digest of " + p.name
		}
		blocks = append(blocks, b)
	}
	parts := [][]schema.Block{blocks}
	if len(blocks) > 2 {
		parts = [][]schema.Block{{blocks[1], blocks[0]}, blocks[2:]}
	}
	for i, part := range parts {
		f := &schema.AssemblyCreated{AssemblyID: "assembly-" + call, CallID: call, Target: "model", OrderedBlocks: part}
		if len(parts) > 1 {
			f.Metadata = map[string]any{"part": i + 1, "parts": len(parts)}
		}
		c.add(f)
	}
	c.add(&schema.UsageRecorded{CallID: call, Model: "m1", SystemDigest: system, LineageID: "lineage-" + c.ids.ThreadID})
}

// between records facts between the two windows of a case, and names the expected cause of the
// break.
var between = map[string]struct {
	cause string
	fact  func(c *corpus)
}{
	"E01": {"append", func(*corpus) {}},
	"E02": {"elision", elide},
	"E04": {"elision", elide},
	"E06": {"compaction", func(c *corpus) {
		c.add(&schema.CompactionCompleted{Compaction: schema.Compaction{CompactionID: "compact", Scope: "thread", SummaryRef: "summary", SourceItemRefs: refs("hist"),
			SourceWindow: &schema.SourceWindow{FirstPosition: num(0), LastPosition: num(3)}}})
	}},
	"E07": {"injection", takeOut},
	"E08": {"append", func(*corpus) {}},
	"E09": {"system_change", func(*corpus) {}},
	"E10": {"elision", elide},
	"E11": {"injection", takeOut},
}

func elide(c *corpus) {
	c.add(&schema.ElisionApplied{Elision: schema.Elision{PassID: "pass", Level: schema.ElideSimple, ElidedItemRefs: []schema.Elided{{ItemRef: "res1"}}}})
}

func takeOut(c *corpus) {
	c.add(&schema.InjectionRemoved{Injection: schema.Injection{InjectionID: "persona", InjectionKind: "persona", ItemRefs: refs("persona@t1")}})
}

func TestCacheBillOfTheVectors(t *testing.T) {
	t.Parallel()
	for _, digests := range []bool{true, false} {
		t.Run(fmt.Sprint("digests ", digests), func(t *testing.T) { t.Parallel(); cacheBillOfTheVectors(t, digests) })
	}
}

func cacheBillOfTheVectors(t *testing.T, digests bool) {
	v := readElisionVectors(t)
	c := newCorpus(t)
	for _, k := range v.Cases {
		c.in(k.ID, k.ID, "t1", "run-root")
		c.assembled(k.ID+"-1", "system-1", k.RawBefore, digests)
		between[k.ID].fact(c)
		system := "system-1"
		if between[k.ID].cause == "system_change" {
			system = "system-2"
		}
		c.assembled(k.ID+"-2", system, k.RawAfter, digests)
	}
	l := c.write()
	const columns = "call_id cause window_expected prefix_tokens recomputed_expected new_tokens penalty_tokens lost_expected recomputed_billed"
	for _, k := range v.Cases {
		there := make(map[string]bool)
		for _, p := range k.RawBefore {
			there[p.name] = true
		}
		var fresh int64
		for _, p := range k.RawAfter {
			if _, isStub := stubOf[p.name]; !there[p.name] && !isStub {
				fresh += p.tokens
			}
		}
		want := []string{
			fmt.Sprint(k.ID, "-1 first ", k.Expect.WindowBefore, " 0 ", k.Expect.WindowBefore, " ", k.Expect.WindowBefore, " 0 0 NULL"),
			fmt.Sprint(k.ID, "-2 ", between[k.ID].cause, " ", k.Expect.WindowAfter, " ", k.Expect.Reused, " ", k.Expect.Recomputed, " ",
				fresh, " ", k.Expect.Recomputed-fresh, " ", k.Expect.LostCached, " NULL"),
		}
		if got := lines(named(t, l, "cache-calls", map[string]string{"session_id": k.ID}, strings.Fields(columns)...)); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %s\n got %q\nwant %q", k.ID, columns, got, want)
		}
	}
}

func lines(rows [][]string) []string {
	var list []string
	for _, row := range rows {
		list = append(list, strings.Join(row, " "))
	}
	return list
}

// TestCacheBillOfElisionPolicies replays 20 turns. Every k turns, the tool results of all earlier
// turns are elided.
func TestCacheBillOfElisionPolicies(t *testing.T) {
	t.Parallel()
	v := readElisionVectors(t)
	c := newCorpus(t)
	for _, s := range v.Simulation {
		session := fmt.Sprint("every-", s.K)
		c.in(session, session, "t1", "run-root")
		window := []piece{{12000, "sys"}}
		for turn := range s.Turns {
			if s.K > 0 && turn%s.K == s.K-1 {
				for i, p := range window {
					if strings.HasPrefix(p.name, "tool") {
						window[i] = piece{s.Stub, "elided " + p.name}
					}
				}
			}
			window = append(window, piece{s.Message, fmt.Sprint("message", turn)}, piece{s.Tool, fmt.Sprint("tool", turn)})
			c.assembled(fmt.Sprint(session, "-", turn), "", window, true)
		}
	}
	l := c.write()
	for _, s := range v.Simulation {
		session := map[string]string{"s": fmt.Sprint("every-", s.K)}
		got := rows(t, l, "SELECT sum(recomputed_expected), sum(window_expected), sum(prefix_tokens) FROM cache_bill WHERE session_id = {s:String}", session)
		if want := fmt.Sprintf("[[%d %d %d]]", s.TotalRecomputed, s.TotalSent, s.Reused); fmt.Sprint(got) != want {
			t.Errorf("every %d turns: recomputed, sent, reused %v, want %s", s.K, got, want)
		}
		got = rows(t, l, "SELECT groupArray(recomputed_expected) FROM (SELECT recomputed_expected FROM cache_bill WHERE session_id = {s:String} ORDER BY number)", session)
		var perTurn []int64
		perTurn = append(perTurn, s.PerTurn...)
		if want := fmt.Sprint(perTurn); got[0][0] != want {
			t.Errorf("every %d turns: %s, want %s", s.K, got[0][0], want)
		}
	}
}

// TestPartsCountOnce records facts that are too large for one event in two parts each.
func TestPartsCountOnce(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.in("s1", "s1", "t1", "run-root")
	part := func(i int) schema.Common { return schema.Common{Metadata: map[string]any{"part": i, "parts": 2}} }
	cut := []schema.Truncation{{ItemRef: "a", TokensBefore: num(20), TokensAfter: num(15)}}
	c.add(&schema.BudgetApplied{Common: part(1), BudgetID: "budget", CallID: "call-1", Target: "model", MaxTokens: num(100), ActualTokens: num(60), TruncationRecords: cut})
	c.add(&schema.BudgetApplied{Common: part(2), BudgetID: "budget", CallID: "call-1", Target: "model", TruncationRecords: cut})
	c.add(&schema.PressureApplied{Common: part(1), PressureID: "pressure", CallID: "call-1", Step: num(2), Name: "trim", Outcome: schema.OutcomeApplied, TokensBefore: num(90), TokensAfter: num(60), ItemRefs: refs("a")})
	c.add(&schema.PressureApplied{Common: part(2), PressureID: "pressure", CallID: "call-1", Step: num(2), Name: "trim", Outcome: schema.OutcomeApplied, ItemRefs: refs("b")})
	for i := 1; i <= 2; i++ {
		c.add(&schema.ElisionApplied{Common: part(i), Elision: schema.Elision{PassID: "pass", Policy: "p", Level: schema.ElideSimple, ElidedItemRefs: []schema.Elided{{ItemRef: "a", TokensBefore: num(9), TokensAfter: num(2)}}}})
		redacted := part(i)
		redacted.PolicyRefs = refs("policy")
		c.add(&schema.RedactionApplied{Common: redacted, RedactionID: "redaction", TargetRef: "x", RedactionState: schema.RedactionMasked, Reason: "secret"})
	}
	l := c.write()
	s1 := map[string]string{"session_id": "s1"}
	for _, test := range []struct{ query, columns, want string }{
		{"budget-headroom", "budgets headroom_median overflows with_truncation truncated_items truncated_tokens", "[1 40 0 1 2 10]"},
		{"pressure-steps", "step times tokens_freed", "[2 1 30]"},
		{"elision-savings", "passes items saved_tokens", "[1 2 14]"},
		{"redactions-by-policy", "redactions targets", "[1 1]"},
		{"redactions", "redaction_id", "[redaction]"},
		{"compaction-boundaries", "number", "[1]"},
	} {
		if got := named(t, l, test.query, s1, strings.Fields(test.columns)...); len(got) != 1 || fmt.Sprint(got[0]) != test.want {
			t.Errorf("%s: %s: %v, want one row %s", test.query, test.columns, got, test.want)
		}
	}
}

func TestReconciliationByLayer(t *testing.T) {
	t.Parallel()
	l := cleanCorpus(t)
	got := lines(named(t, l, "reconciliation-by-layer", map[string]string{"session_id": "s1", "call_id": "call-2"},
		"layer", "usage_tokens", "assembly_tokens", "budget_tokens", "conflict_tokens", "billed_tokens"))
	want := []string{"retrieval NULL 60 NULL NULL 420", "system 100 100 NULL 0 420", "tool_results 200 50 NULL 150 420", "(unattributed) 120 210 NULL 90 420"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("call-2\n got %q\nwant %q", got, want)
	}
	var billed, sum int64
	for _, row := range rows(t, l, "SELECT sum(assembly_tokens), any(billed) FROM (SELECT c.call_id AS call_id, l.assembly_tokens AS assembly_tokens, c.window_tokens AS billed FROM call_layers AS l INNER JOIN model_calls AS c USING (call_id) WHERE call_id = 'call-2') GROUP BY call_id", nil) {
		fmt.Sscan(row[0], &sum)
		fmt.Sscan(row[1], &billed)
	}
	if billed-sum != 210 {
		t.Errorf("billed %d − blocks %d is not what the query calls unattributed", billed, sum)
	}
	if got := lines(named(t, l, "reconciliation", map[string]string{"session_id": "s1"}, "call_id", "attributed_tokens", "assembled_tokens", "budgeted_tokens", "conflict_tokens")); fmt.Sprint(got) != "[call-1 300 460 NULL 160 call-child 300 NULL NULL NULL call-2 300 210 NULL 90]" {
		t.Errorf("reconciliation: %q", got)
	}
}

// TestPricesAndTheCounterfactual: the longest pattern applies, then the youngest price. The cost
// without a price is unknown.
func TestPricesAndTheCounterfactual(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.runtimeSession()
	l := c.write()
	s1 := map[string]string{"session_id": "s1"}
	const columns = "cause priced_cost break_cost unbroken_cost unpriced_calls"
	if got := lines(named(t, l, "cache-bill", s1, strings.Fields(columns)...)); fmt.Sprint(got) != "[elision NULL NULL NULL 1]" {
		t.Errorf("without prices: %q", got)
	}
	price := func(model string, bucket read.Bucket, perMillion float64) read.Price {
		return read.Price{Model: model, Bucket: bucket, PerMillion: perMillion, Currency: "USD", Source: "a test"}
	}
	old := price("m1", read.BucketInput, 1000)
	old.ValidUntil = c.start
	list := []read.Price{
		price("m*", read.BucketInput, 77), price("m1", read.BucketInput, 10), old,
		price("m*", read.BucketCacheRead, 1), price("m1", read.BucketCacheWrite, 20), price("m1", read.BucketOutput, 50),
	}
	old.ValidFrom = c.start.AddDate(-1, 0, 0)
	list[2] = old
	if err := read.Models(l).ImportPrices(t.Context(), list, false); err != nil {
		t.Fatal(err)
	}
	// call-2: 210 at 10, 100 at 1, 110 at 20, 10 out at 50; 200 lost of 320 recomputed at (2100 + 2200) / 320 each instead of 1.
	got := rows(t, l, "SELECT round(priced_cost, 9), round(break_cost, 9), round(unbroken_cost, 9), priced_currency FROM cache_breaks WHERE session_id = 's1'", nil)
	if want := "[[0.0049 0.0024875 0.0024125 USD]]"; fmt.Sprint(got) != want {
		t.Errorf("with prices: %v, want %s", got, want)
	}
	if got := fmt.Sprint(rows(t, l, "SELECT run_id, round(priced_cost, 9), round(total_priced_cost, 9), priced_currencies, unpriced_calls FROM run_tree WHERE session_id = 's1' ORDER BY depth", nil)); got != "[[run-root 0.0151 0.0171 [USD] 0] [run-child 0.002 0.002 [USD] 0]]" {
		t.Errorf("run_tree: %s", got)
	}
	if got := fmt.Sprint(rows(t, l, "SELECT calls, round(priced_cost, 9), priced_currencies, unpriced_calls FROM session_summary WHERE session_id = 's1'", nil)); got != "[[3 0.0171 [USD] 0]]" {
		t.Errorf("session_summary: %s", got)
	}
	if got := lines(named(t, l, "cache-bill", s1, "cause", "unpriced_calls", "currencies")); fmt.Sprint(got) != "[elision 0 [USD]]" {
		t.Errorf("cache-bill: %q", got)
	}
	if err := read.Models(l).ImportPrices(t.Context(), []read.Price{list[1], list[3], list[4]}, true); err != nil {
		t.Fatal(err)
	}
	got = rows(t, l, "SELECT broken_billed, priced_cost, round(break_cost, 9), unbroken_cost FROM cache_bill WHERE session_id = 's1' ORDER BY call_id", nil)
	if want := "[[NULL NULL NULL NULL] [200 NULL 0.0024875 NULL] [NULL NULL NULL NULL]]"; fmt.Sprint(got) != want {
		t.Errorf("without a price of output: %v, want %s", got, want)
	}
	if err := read.Models(l).ImportPrices(t.Context(), []read.Price{price("m1", read.BucketInput, 10)}, true); err != nil {
		t.Fatal(err)
	}
	if got := lines(named(t, l, "model-costs", s1, "calls", "unpriced_calls", "priced_cost", "unpriced_buckets")); fmt.Sprint(got) != "[3 3 NULL [cache_read cache_write_5m output]]" {
		t.Errorf("after the others were taken away: %q", got)
	}
	if got := lines(named(t, l, "prices", map[string]string{"model": "m1"}, "model", "bucket", "per_million")); fmt.Sprint(got) != "[m1 input 10]" {
		t.Errorf("prices: %q", got)
	}
}
