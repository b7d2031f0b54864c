package window_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/producer/window"
	"pgregory.net/rapid"
)

func ExamplePlanCompaction() {
	items := []window.Item{
		{ID: "sys", Kind: window.KindFixed, Tokens: 12_000},
		{ID: "u1", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 20},
		{ID: "call", Kind: window.KindToolCall, Tokens: 30, CallIDs: []string{"c"}},
		{ID: "read", Kind: window.KindToolResult, Tokens: 14_000, CallIDs: []string{"c"}},
		{ID: "u2", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 15},
	}
	source, _ := window.Oldest(items, 1)
	plan, _ := window.PlanCompaction(items, source)
	after, err := plan.Window(window.Item{ID: "summary", Tokens: 600},
		window.Reinjected{Kind: "todo", Item: window.Item{ID: "todo", Kind: window.KindRetrieved, Tokens: 150}})
	fmt.Println(source, plan.TokensBefore, err)
	for _, it := range after {
		fmt.Println(it.ID, it.Tokens)
	}
	// Output:
	// [u1 call read] 26065 <nil>
	// sys 12000
	// summary 600
	// todo 150
	// u2 15
}

func TestCompactionRefuses(t *testing.T) {
	t.Parallel()
	items := figure(user("u2", 10))
	for name, source := range map[string][]string{
		"nothing": {}, "what is not there": {"u1", "gone"}, "twice": {"u1", "u1"}, "fixed": {"sys"}, "half a call": {"u1", "call1"},
	} {
		if _, err := window.PlanCompaction(items, source); !errors.Is(err, window.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := window.PlanCompaction([]window.Item{{ID: "p", Pinned: true}}, []string{"p"}); !errors.Is(err, window.ErrInvalid) {
		t.Errorf("pinned: %v", err)
	}
	if _, err := window.PlanCompaction([]window.Item{{ID: "a"}, {ID: "a"}}, []string{"a"}); !errors.Is(err, window.ErrInvalid) {
		t.Errorf("twice in the window: %v", err)
	}
	if _, err := window.Oldest(items, -1); !errors.Is(err, window.ErrInvalid) {
		t.Errorf("negative: %v", err)
	}
	if _, err := window.Oldest([]window.Item{{ID: "a", Tokens: -1}}, 0); !errors.Is(err, window.ErrInvalid) {
		t.Errorf("negative size: %v", err)
	}
}

func TestSummaryRefused(t *testing.T) {
	t.Parallel()
	items := figure(user("u2", 10))
	plan, err := window.PlanCompaction(items, []string{"u1", "a1", "call1", "res1", "a2"})
	if err != nil || plan.SourceTokens != 18115 || plan.TokensBefore != 30125 || !slices.Equal(names(plan.Tail), []string{"u2"}) {
		t.Fatalf("%+v, %v", plan, err)
	}
	said := window.Reinjected{Kind: "reasoning", Item: window.Item{ID: "thought", Kind: window.KindMessage, Role: window.RoleAssistant, Tokens: 1}}
	for name, c := range map[string]struct {
		summary window.Item
		state   []window.Reinjected
		want    error
	}{
		"no id":               {window.Item{Tokens: 5}, nil, window.ErrInvalid},
		"no size":             {window.Item{ID: "s"}, nil, window.ErrInvalid},
		"negative":            {window.Item{ID: "s", Tokens: -5}, nil, window.ErrInvalid},
		"id of its source":    {window.Item{ID: "res1", Tokens: 5}, nil, window.ErrInvalid},
		"id of another":       {window.Item{ID: "u2", Tokens: 5}, nil, window.ErrInvalid},
		"as large":            {window.Item{ID: "s", Tokens: 18115}, nil, window.ErrNotSmaller},
		"as large with state": {window.Item{ID: "s", Tokens: 18000}, []window.Reinjected{state("todo", 115)}, window.ErrNotSmaller},
		"state of no kind":    {window.Item{ID: "s", Tokens: 5}, []window.Reinjected{{Item: window.Item{ID: "x"}}}, window.ErrInvalid},
		"state twice":         {window.Item{ID: "s", Tokens: 5}, []window.Reinjected{state("todo", 1), state("todo", 1)}, window.ErrInvalid},
		"state from source":   {window.Item{ID: "s", Tokens: 5}, []window.Reinjected{{Kind: "recent_files", Item: items[4]}}, window.ErrInvalid},
		"old reasoning":       {window.Item{ID: "s", Tokens: 5}, []window.Reinjected{said}, window.ErrInvalid},
	} {
		if after, err := plan.Window(c.summary, c.state...); !errors.Is(err, c.want) || after != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCompactionAddsUp compacts random windows. A compaction never makes a window larger,
// keeps order, pairs and pinned items, accounts for every item, and does not change its
// arguments.
func TestCompactionAddsUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		items := candidates(t)
		frozen, _ := json.Marshal(items)
		source, err := window.Oldest(items, rapid.IntRange(0, 6).Draw(t, "keep"))
		if err != nil {
			t.Fatal(err)
		}
		plan, err := window.PlanCompaction(items, source)
		if len(source) == 0 {
			if !errors.Is(err, window.ErrInvalid) {
				t.Fatal("nothing to summarise, and no error")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		after, err := plan.Window(window.Item{ID: "summary", Tokens: rapid.IntRange(1, 300).Draw(t, "summary")})
		if errors.Is(err, window.ErrNotSmaller) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, it := range after {
			size += it.Tokens
		}
		if size >= plan.TokensBefore {
			t.Fatalf("from %d to %d tokens", plan.TokensBefore, size)
		}
		want := slices.DeleteFunc(names(items), func(id string) bool { return slices.Contains(source, id) })
		if got := slices.DeleteFunc(names(after), func(id string) bool { return id == "summary" }); !slices.Equal(got, want) {
			t.Fatalf("%v stay, not %v", got, want)
		}
		if last := newest(items); last != "" && !slices.Contains(names(after), last) {
			t.Fatal("the newest user message is gone")
		}
		checkPairs(t, items, after)
		checkPinned(t, items, after)
		if now, _ := json.Marshal(items); string(now) != string(frozen) {
			t.Fatal("the input changed")
		}
	})
}
