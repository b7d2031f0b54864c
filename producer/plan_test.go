package producer

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/producer/internal/facts"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// encoded returns the facts in their sent form, after the contract has accepted each.
func encoded[F schema.Fact](t interface{ Fatalf(string, ...any) }, list []F) (all [][]byte) {
	for _, f := range list {
		e, err := schema.NewEvent(f, "id", "urn:test", time.Unix(1, 0), schema.Correlation{SessionID: "s"})
		if err != nil {
			t.Fatalf("%s: %v", f.EventType(), err)
		}
		if _, violations := schema.Validate(e); len(violations) > 0 {
			t.Fatalf("%s of %d bytes: %v", f.EventType(), len(e.Data), violations)
		}
		all = append(all, e.Data)
	}
	return all
}

func sum(items []window.Item) (n int64) {
	for _, i := range items {
		n += int64(i.Tokens)
	}
	return n
}

// checkFacts checks the facts of one plan against all rules.
func checkFacts(t interface{ Fatalf(string, ...any) }, items []window.Item, plan window.Plan) {
	list := facts.PlanFacts(facts.Call{ID: "c1", Model: "gpt-5"}, items, plan)
	again := encoded(t, facts.PlanFacts(facts.Call{ID: "c1", Model: "gpt-5"}, items, plan))
	if !slices.EqualFunc(encoded(t, list), again, bytes.Equal) {
		t.Fatalf("the same plan gives other list")
	}
	var available, candidates, selected, omitted, shortened []string
	pressed, budgets := map[int64]bool{}, 0
	for _, fact := range list {
		switch f := fact.(type) {
		case *schema.SurfaceCreated:
			available = append(available, schema.RefIDs(f.AvailableItemRefs)...)
		case *schema.SelectionCompleted:
			candidates = append(candidates, schema.RefIDs(f.Candidates)...)
			for _, c := range f.Selected {
				selected = append(selected, c.ItemRef.ID())
				if *c.Rank != int64(len(selected)) {
					t.Fatalf("rank %d of %d", *c.Rank, len(selected))
				}
			}
			for _, c := range f.Omitted {
				omitted = append(omitted, c.ItemRef.ID())
				if c.Reason == "" {
					t.Fatalf("%s has no reason", c.ItemRef)
				}
			}
		case *schema.PressureApplied:
			pressed[*f.Step] = true
		case *schema.BudgetApplied:
			budgets++
			for _, r := range f.TruncationRecords {
				shortened = append(shortened, r.ItemRef.ID())
			}
			if len(f.WindowSegments) > 0 {
				total := int64(0)
				for _, s := range f.WindowSegments {
					total += *s.Actual
				}
				if total != int64(plan.TokensAfter) {
					t.Fatalf("segments have %d tokens, the window %d", total, plan.TokensAfter)
				}
			}
		}
	}
	ids := make([]string, len(items))
	for i, item := range items {
		ids[i] = item.ID
	}
	if !slices.Equal(available, ids) || !slices.Equal(candidates, ids) || !slices.Equal(selected, plan.Selected()) {
		t.Fatalf("%d available, %d candidates, %d selected of %d", len(available), len(candidates), len(selected), len(ids))
	}
	decided := slices.Sorted(slices.Values(append(slices.Clone(selected), omitted...)))
	if !slices.Equal(decided, slices.Sorted(slices.Values(ids))) {
		t.Fatalf("candidates %v are not selected %v and omitted %v", ids, selected, omitted)
	}
	if budgets == 0 || plan.Pressed != (len(pressed) > 0) || plan.Pressed && len(pressed) != len(plan.Steps) {
		t.Fatalf("%d budgets, steps %v", budgets, pressed)
	}
	want := 0
	for _, r := range facts.Truncations(plan) {
		want++
		if !slices.Contains(shortened, r.ItemRef.ID()) {
			t.Fatalf("%s is not among the shortened", r.ItemRef)
		}
	}
	if len(shortened) != want {
		t.Fatalf("%d shortened, not %d", len(shortened), want)
	}
	usage := facts.UsageFact("c1", "gpt-5", plan)
	encoded(t, []*schema.UsageRecorded{usage})
	layers := int64(0)
	for _, l := range usage.Layers {
		layers += *l.Tokens
	}
	if layers != *usage.TotalTokens || layers != sum(plan.Window) {
		t.Fatalf("layers have %d tokens, the window %d, the total is %d", layers, sum(plan.Window), *usage.TotalTokens)
	}
	if len(plan.Window) > 0 {
		checkAssembly(t, plan)
	}
}

func checkAssembly(t interface{ Fatalf(string, ...any) }, plan window.Plan) {
	parts := facts.AssemblyParts(facts.ToModel("c1"), plan)
	encoded(t, parts)
	at := 0
	for n, part := range parts {
		if len(parts) > 1 && (part.Metadata["part"] != n+1 || part.Metadata["parts"] != len(parts)) {
			t.Fatalf("part %d of %d says %v", n+1, len(parts), part.Metadata)
		}
		for i, b := range part.OrderedBlocks {
			if *b.Position != int64(at) || b.ItemRefs[0].ID() != plan.Window[at].ID || part.SourceItemRefs[i] != b.ItemRefs[0] {
				t.Fatalf("block %d is %+v", at, b)
			}
			at++
		}
	}
	if at != len(plan.Window) {
		t.Fatalf("%d blocks of %d", at, len(plan.Window))
	}
	whole := facts.AssemblyFact(facts.ToModel("c1"), facts.Blocks(facts.ToModel("c1"), plan))
	injected := facts.InjectionFact(facts.ToModel("c1"), whole, schema.InjectMessageHistory)
	encoded(t, []*schema.InjectionApplied{injected})
	if *injected.Tokens != int64(plan.TokensAfter) {
		t.Fatalf("%d tokens injected of %d", *injected.Tokens, plan.TokensAfter)
	}
}

func TestFactsOfAnyPlan(t *testing.T) {
	t.Parallel()
	kinds := []window.Kind{window.KindFixed, window.KindRetrieved, window.KindMessage, window.KindToolCall, window.KindToolResult, window.KindSummary}
	// Ids with all characters that JSON escapes, some of them long enough to fill events.
	id := rapid.SampledFrom([]string{"plain", `q"uo\te`, "tab\tnew\nline", "ünïcödé", "<&>", strings.Repeat("x", 900), strings.Repeat(`"`, 700), strings.Repeat("\x01", 150)})
	rapid.Check(t, func(t *rapid.T) {
		items := make([]window.Item, rapid.SampledFrom([]int{0, 1, 5, 40, 150}).Draw(t, "items"))
		for i := range items {
			items[i] = window.Item{
				ID: fmt.Sprint(i) + id.Draw(t, "id"), Layer: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "layer"),
				Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Role: rapid.SampledFrom([]string{"system", "user", "assistant"}).Draw(t, "role"),
				Tokens: rapid.IntRange(0, 100).Draw(t, "tokens"), Pinned: rapid.IntRange(0, 20).Draw(t, "pinned") == 0,
			}
			if i%3 == 0 {
				items[i].CallIDs = []string{fmt.Sprint("call", i%4)}
			}
			if !items[i].Pinned && rapid.IntRange(0, 15).Draw(t, "excluded") == 0 {
				items[i].Excluded = rapid.SampledFrom(window.Reasons()).Draw(t, "reason")
			}
		}
		policy := window.Policy{TrimKeepLast: rapid.IntRange(0, 40).Draw(t, "keep"), CompactStubTokens: rapid.IntRange(0, 3).Draw(t, "stub")}
		budget := window.Budget{MaxTokens: rapid.SampledFrom([]int{1, 50, 500, 5_000}).Draw(t, "max")}
		plan, err := window.Fit(items, budget, policy, func(window.Request) ([]window.Replacement, error) {
			return []window.Replacement{{ID: "summary", After: 1}}, nil
		})
		if errors.Is(err, window.ErrInvalid) {
			t.Skip(err)
		}
		checkFacts(t, items, plan)
	})
}

func TestLargeCandidateSets(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1_000_000, 120_000, 40_000, 1_000} { // fits, dropped, compacted, does not fit
		items := manyItems(2_000)
		plan, err := window.Fit(items, window.Budget{MaxTokens: most}, window.Policy{Steps: []window.Step{window.DropRetrieved, window.CompactToolOutputs}, CompactStubTokens: 10}, nil)
		if (err != nil) != (most == 1_000) {
			t.Fatal(err)
		}
		checkFacts(t, items, plan)
	}
}

func TestPartsKeepTheOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.IntRange(0, 20)).Draw(t, "list")
		limit := rapid.IntRange(1, 30).Draw(t, "limit")
		parts := facts.Chunk(list, limit, func(n int) int { return n })
		if len(parts) == 0 || !slices.Equal(slices.Concat(parts...), list) {
			t.Fatalf("%v", parts)
		}
		for _, part := range parts {
			total := 0
			for _, n := range part {
				total += n
			}
			if total > limit && len(part) > 1 || len(part) == 0 && len(list) > 0 {
				t.Fatalf("%v of at most %d", part, limit)
			}
		}
	})
}

// TestTextBytes: the estimate is never below the encoder's output.
func TestTextBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		encoded, err := json.Marshal(s)
		if err != nil {
			t.Skip()
		}
		if got := facts.TextBytes(s); got < len(encoded)+1 {
			t.Fatalf("%q takes %d, not %d", s, len(encoded)+1, got)
		}
	})
}

// manyItems returns too many items, with too long ids, for one event.
func manyItems(n int) []window.Item {
	items := make([]window.Item, n)
	for i := range items {
		items[i] = window.Item{
			ID: fmt.Sprintf("repo:///%s/%05d", strings.Repeat("deep/", 40), i), Layer: "tool results", Kind: window.KindToolResult, Role: window.RoleTool, Tokens: 100,
		}
		if i%2 == 0 {
			items[i].Kind, items[i].Layer = window.KindRetrieved, "memory"
		}
	}
	return items
}

func TestElisionInParts(t *testing.T) {
	t.Parallel()
	items := manyItems(2_000)
	items = append(items, window.Item{ID: "u", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 1})
	pass, err := window.PlanElision(window.History{Items: items}, window.BeforeLastUser(), window.Style{
		Level: window.Offloaded, StubTokens: 3, ReloadRef: func(i window.Item) string { return "file:" + i.ID },
	})
	if err != nil || len(pass.Elided) < 900 {
		t.Fatal(err, len(pass.Elided))
	}
	parts := facts.ElisionParts("elision:c1", "c1", pass, new(itemLog).position)
	encoded(t, parts)
	n, saved := 0, int64(0)
	for i, part := range parts {
		if part.Metadata["part"] != i+1 || part.Metadata["parts"] != len(parts) {
			t.Errorf("%v", part.Metadata)
		}
		n += len(part.ElidedItemRefs)
		saved += *part.TokensSaved
	}
	if n != len(pass.Elided) || saved != int64(pass.SavedPerCall) {
		t.Errorf("%d items and %d tokens, not %d and %d", n, saved, len(pass.Elided), pass.SavedPerCall)
	}
	if len(facts.ElisionParts("elision:c1", "c1", window.Pass{}, nil)) != 0 {
		t.Error("a pass that did nothing is a fact")
	}
}
