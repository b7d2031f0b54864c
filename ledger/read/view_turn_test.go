package read_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/schema"
)

// cuts adds a session of random calls, with entries of a log, elisions by item, by tool call and of
// blocks of several items, items that were read again, and compactions.
func (c *corpus) cuts(random *rand.Rand, calls int) {
	var log []string
	tool := func(i int) string { return []string{"", fmt.Sprint("tool-", i/2)}[random.IntN(4)/3^1] }
	for i := range calls {
		c.in("cuts", []string{"cuts", "cuts", "beside"}[random.IntN(3)], fmt.Sprint("turn-", i/3), "run-root")
		for range 1 + random.IntN(40) {
			id := fmt.Sprint("entry-", len(log))
			c.entry(id, []string{"message", "function_call", "function_call_output"}[random.IntN(3)], "Read", tool(len(log)), int64(len(log)), random.Int64N(90))
			log = append(log, id)
		}
		some := func() (list []schema.Ref) {
			for range random.IntN(6) {
				list = append(list, schema.Ref(log[random.IntN(len(log))]))
			}
			return list
		}
		var elided []schema.Elided
		for _, ref := range some() {
			e := schema.Elided{ItemRef: ref, TokensBefore: num(random.Int64N(90)), ToolCallID: tool(random.IntN(len(log)))}
			if random.IntN(2) == 0 {
				e.TokensAfter = num(random.Int64N(9))
			}
			elided = append(elided, e)
		}
		if pass := (schema.Elision{PassID: fmt.Sprint("pass-", i), Level: schema.ElideOffloaded, ElidedItemRefs: elided}); len(elided) > 0 && random.IntN(4) > 0 {
			c.add(&schema.ElisionApplied{Elision: pass})
		} else if len(elided) > 0 {
			c.add(&schema.ElisionReloaded{Elision: pass})
		}
		if random.IntN(6) == 0 {
			last := random.Int64N(int64(len(log)))
			c.add(&schema.CompactionCompleted{Compaction: schema.Compaction{CompactionID: fmt.Sprint("compaction-", i), Scope: "thread", SummaryRef: "summary", SourceItemRefs: refs(log[0]),
				RetainedTailRefs: some(), SourceWindow: &schema.SourceWindow{FirstPosition: num(random.Int64N(last + 1)), LastPosition: num(last)}}})
		}
		id := fmt.Sprint("call-", i)
		if random.IntN(4) == 0 {
			a := &schema.AssemblyCreated{AssemblyID: "assembly-" + id, CallID: id, Target: "model"}
			for j := range 1 + random.IntN(9) {
				a.OrderedBlocks = append(a.OrderedBlocks, schema.Block{Block: fmt.Sprint(j), ItemRefs: some(), Tokens: num(random.Int64N(50))})
			}
			c.add(a)
		}
		next := 1 + random.Int64N(int64(len(log)))
		c.add(&schema.UsageRecorded{CallID: id, WindowFirst: num(random.Int64N(next)), WindowNext: &next})
	}
}

// TestTurnWindowIsThatOfPackageTurn compares the blocks of turn_window with those of package turn,
// for every call.
func TestTurnWindowIsThatOfPackageTurn(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	c := newCorpus(t)
	c.runtimeSession()
	c.importedSession()
	c.manyWindows()
	c.callsOnly()
	c.cuts(rand.New(rand.NewPCG(seed, 1)), 40)
	l := c.write()
	text := func(n *int64) string {
		if n == nil {
			return "NULL"
		}
		return fmt.Sprint(*n)
	}
	line := func(b turn.Block) string {
		return fmt.Sprint(b.Target, b.Position, b.Layer, b.Role, b.Type, b.Name, b.Title, b.Items, b.ToolCall, b.Origin, b.Assembly, text(b.Tokens),
			text(b.Full), b.Elided, b.ElidedBy, b.RedactionState, b.Block, b.Coverage, b.Reasons)
	}
	type key struct{ Tenant, Session, Turn, Call string }
	type row struct {
		turn.Block
		Tenant  string `ch:"tenant"`
		Session string `ch:"session_id"`
		Turn    string `ch:"turn_id"`
	}
	var found []row
	if err := read.Of(l).Select(t.Context(), &found, `SELECT tenant, session_id, turn_id, call_id, target, position, layer, role, item_type, name, title, item_refs,
		tool_call_id, origin, assembly_id, tokens, tokens_full, elided, elided_by, redaction_state, block, coverage, coverage_reasons
		FROM turn_window WHERE call_id != '' ORDER BY target, position`, nil, read.DefaultLimits()); err != nil {
		t.Fatal(err)
	}
	windows := make(map[key][]string)
	for _, r := range found {
		k := key{r.Tenant, r.Session, r.Turn, r.Call}
		windows[k] = append(windows[k], line(r.Block))
	}
	elided := 0
	for k, got := range windows {
		blocks, _, err := turn.Window(t.Context(), l, map[string]string{"tenant": k.Tenant, "session_id": k.Session, "turn_id": k.Turn, "call_id": k.Call})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, b := range blocks {
			want = append(want, line(b))
			if b.Elided {
				elided++
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: call %q\n got %q\nwant %q", seed, k.Call, got, want)
		}
	}
	if elided < 20 {
		t.Errorf("seed %d: only %d elided blocks were compared", seed, elided)
	}
}

// TestWindowsOfALongSession asks for all windows of a session whose passes name thousands of items.
// A copy of the passes in each row would take gigabytes.
func TestWindowsOfALongSession(t *testing.T) {
	t.Parallel()
	const calls, window = 500, 120
	c := newCorpus(t)
	c.in("long", "long", "turn", "run-root")
	for i := range int64(calls) {
		for j := range int64(4) {
			c.entry(fmt.Sprintf("an-entry-with-an-id-of-some-length-%d", 4*i+j), "message", "", "", 4*i+j, 10)
		}
		if i%5 == 0 {
			pass := schema.Elision{PassID: fmt.Sprint("pass-", i), Level: schema.ElideTrivial}
			for j := range min(40, 4*i+1) {
				pass.ElidedItemRefs = append(pass.ElidedItemRefs, schema.Elided{ItemRef: schema.Ref(fmt.Sprintf("an-entry-with-an-id-of-some-length-%d", 4*i-j)), TokensBefore: num(10), TokensAfter: num(2)})
			}
			c.add(&schema.ElisionApplied{Elision: pass})
		}
		c.add(&schema.UsageRecorded{CallID: fmt.Sprint("call-", i), WindowFirst: num(max(0, 4*i+4-window)), WindowNext: num(4*i + 4)})
	}
	l := c.write()
	limits := read.DefaultLimits()
	limits.Memory = 512 << 20
	var sums []struct {
		Blocks uint64 `ch:"blocks"`
		Elided uint64 `ch:"elided"`
	}
	err := read.Of(l).Select(t.Context(), &sums, "SELECT count() AS blocks, countIf(elided AND tokens = 2) AS elided FROM turn_window WHERE session_id = {session:String}", map[string]string{"session": "long"}, limits)
	if err != nil {
		t.Fatal(err)
	}
	if want := uint64(calls*window - 4*29*30/2); len(sums) != 1 || sums[0].Blocks != want || sums[0].Elided < want*9/10 {
		t.Errorf("the windows have %+v, want %d blocks", sums, want)
	}
}
