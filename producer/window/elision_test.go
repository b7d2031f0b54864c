package window_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer/window"
	"pgregory.net/rapid"
)

func ExamplePlanElision() {
	history := window.History{Turn: 2, Items: []window.Item{
		{ID: "sys", Kind: window.KindFixed, Tokens: 12000},
		{ID: "u1", Kind: window.KindMessage, Role: "user", Tokens: 20},
		{ID: "call1", Kind: window.KindToolCall, Tokens: 20, CallIDs: []string{"c1"}},
		{ID: "res1", Kind: window.KindToolResult, Tokens: 18000, CallIDs: []string{"c1"}},
		{ID: "a2", Kind: window.KindMessage, Role: "assistant", Tokens: 60},
		{ID: "u2", Kind: window.KindMessage, Role: "user", Tokens: 10},
	}}
	pass, _ := window.PlanElision(history, window.BeforeLastUser(), window.Style{Level: window.Simple, StubTokens: 20})
	calls, _ := pass.BreakEven()
	fmt.Printf("%s: %d -> %d tokens, cache kept up to %d, %d recomputed, pays after %.2f calls\n",
		pass.Policy, pass.TokensBefore, pass.TokensAfter, pass.FirstChanged, pass.Penalty, calls)
	// Output:
	// before_last_user: 30110 -> 12130 tokens, cache kept up to 12040, 90 recomputed, pays after 0.06 calls
}

type elisionVectors struct {
	Cases []struct {
		ID            string
		Before, After []segment
		Expect        struct {
			WindowBefore   int `json:"window_before"`
			WindowAfter    int `json:"window_after"`
			ChangePosition int `json:"change_position"`
			Reused         int
			Recomputed     int
			LostCached     int `json:"lost_cached"`
		}
	}
	Simulation []struct {
		K               int
		Turns           int
		Msg             int
		Tool            int
		Stub            int
		TotalRecomputed int   `json:"total_recomputed"`
		TotalSent       int   `json:"total_window_tokens_sent"`
		Peak            int   `json:"peak_window"`
		Final           int   `json:"final_window"`
		PerTurn         []int `json:"per_turn_recomputed"`
		Reused          int   `json:"reused"`
	} `json:"policy_simulation"`
}

// segment reads [tokens, name].
type segment window.Segment

func (s *segment) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[2]any{&s.Tokens, &s.Ref})
}

func segments(list []segment) []window.Segment {
	var out []window.Segment
	for _, s := range list {
		out = append(out, window.Segment(s))
	}
	return out
}

// played makes each vector's windows with the planner, in addition to comparing the
// vector's own. E09 shows a mistake, and no code here makes it.
var played = map[string]func(t *testing.T) (before, after []window.Item){
	"E01": func(*testing.T) (before, after []window.Item) { return figure(), figure(user("u2", 10)) },
	"E02": func(t *testing.T) (before, after []window.Item) {
		style := window.Style{Level: window.Simple, StubTokens: 20, WholeCalls: true}
		return figure(), append(elided(t, figure(), own, style), user("u2", 10))
	},
	"E04": func(t *testing.T) (before, after []window.Item) {
		before = figure(window.Item{ID: "more", Kind: window.KindMessage, Tokens: 9900})
		return before, append(elided(t, before, own, window.Style{Level: window.Trivial}), user("u3", 10))
	},
	"E06": func(t *testing.T) (before, after []window.Item) {
		before = []window.Item{{ID: "sys", Kind: window.KindFixed, Tokens: 12000}, {ID: "hist", Kind: window.KindMessage, Tokens: 20000}}
		plan, err := window.PlanCompaction(before, []string{"hist"})
		if err != nil {
			t.Fatal(err)
		}
		after, err = plan.Window(window.Item{ID: "summary", Tokens: 600}, state("skills", 800), state("todo", 150), state("recent_files", 2500))
		if err != nil {
			t.Fatal(err)
		}
		return before, append(after, user("u", 20))
	},
	"E07": func(t *testing.T) (before, after []window.Item) { return turned(t, window.AtOnce) },
	"E08": func(t *testing.T) (before, after []window.Item) { return turned(t, window.UntilPass) },
	"E10": func(t *testing.T) (before, after []window.Item) {
		read := window.Item{ID: "t1", Kind: window.KindToolResult, Tokens: 3000, Reads: "foo.py"}
		again := read
		again.ID = "t9"
		before = []window.Item{{ID: "sys", Kind: window.KindFixed, Tokens: 12000}, read, {ID: "work", Kind: window.KindMessage, Tokens: 15000}, again}
		return before, append(elided(t, before, window.LatestReads(), window.Style{Level: window.Simple, StubTokens: 15}), user("u", 20))
	},
	"E11": func(t *testing.T) (before, after []window.Item) {
		head, before := talking(t, window.AtOnce)
		head, change, err := head.UserMessage("u2").SetPersona(window.Injection{Ref: "cfo", Persona: "CFO", Tokens: 205}, window.Cue{Ref: "cue", Tokens: 8})
		if err != nil {
			t.Fatal(err)
		}
		cue := window.Item{ID: "cue", Kind: window.KindMessage, Role: window.RoleSystem, Tokens: 8}
		return before, head.Place(append(slices.Clone(before), user("u2", 20)), change, window.Item{ID: "cfo", Kind: window.KindFixed, Tokens: 205}, cue)
	},
}

func user(id string, tokens int) window.Item {
	return window.Item{ID: id, Kind: window.KindMessage, Role: window.RoleUser, Tokens: tokens}
}

func state(kind string, tokens int) window.Reinjected {
	return window.Reinjected{Kind: kind, Item: window.Item{ID: kind, Kind: window.KindRetrieved, Tokens: tokens}}
}

func elided(t *testing.T, items []window.Item, policy window.ElisionPolicy, style window.Style) []window.Item {
	t.Helper()
	pass, err := window.PlanElision(window.History{Items: items}, policy, style)
	if err != nil {
		t.Fatal(err)
	}
	return pass.Window
}

// talking returns the window of E07, E08 and E11 with its persona.
func talking(t *testing.T, mode window.ReplaceMode) (window.Head, []window.Item) {
	t.Helper()
	head, change, err := window.NewHead(mode).UserMessage("u1").SetPersona(window.Injection{Ref: "persona@t1", Persona: "consultant", Tokens: 200}, window.Cue{})
	if err != nil {
		t.Fatal(err)
	}
	items := []window.Item{{ID: "sys", Kind: window.KindFixed, Tokens: 12000}, {ID: "hist", Kind: window.KindMessage, Tokens: 5000}, user("u1", 30)}
	items = head.Place(items, change, window.Item{ID: "persona@t1", Kind: window.KindFixed, Tokens: 200})
	return head, append(items, window.Item{ID: "a1", Kind: window.KindMessage, Role: window.RoleAssistant, Tokens: 400})
}

// turned continues to the next user turn, where the persona is refreshed.
func turned(t *testing.T, mode window.ReplaceMode) (before, after []window.Item) {
	t.Helper()
	head, before := talking(t, mode)
	head, change, err := head.UserMessage("u2").SetPersona(window.Injection{Ref: "persona@t2", Persona: "consultant", Tokens: 200}, window.Cue{})
	if err != nil {
		t.Fatal(err)
	}
	return before, head.Place(append(slices.Clone(before), user("u2", 20)), change, window.Item{ID: "persona@t2", Kind: window.KindFixed, Tokens: 200})
}

// asSegments returns a window in the form of a cache: a stub differs from the original
// item.
func asSegments(items []window.Item) []window.Segment {
	var out []window.Segment
	for _, it := range items {
		ref := it.ID
		if it.Kind == window.KindStub {
			ref = "stub of " + ref
		}
		out = append(out, window.Segment{Ref: ref, Tokens: it.Tokens})
	}
	return out
}

func TestElisionVectors(t *testing.T) {
	t.Parallel()
	var file elisionVectors
	vectors(t, "elision.json", &file)
	if len(file.Cases) != len(played)+1 {
		t.Errorf("%d cases, %d are played", len(file.Cases), len(played))
	}
	for _, c := range file.Cases {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			want := window.Reuse{
				WindowBefore: c.Expect.WindowBefore, WindowAfter: c.Expect.WindowAfter,
				ChangePosition: c.Expect.ChangePosition, Recomputed: c.Expect.Recomputed, LostCached: c.Expect.LostCached,
			}
			if got := window.Compare(segments(c.Before), segments(c.After)); got != want || got.Reused() != c.Expect.Reused {
				t.Errorf("got %+v, want %+v", got, want)
			}
			play := played[c.ID]
			if play == nil {
				if c.ID != "E09" {
					t.Error("nothing plays it")
				}
				return
			}
			before, after := play(t)
			if got := window.Compare(asSegments(before), asSegments(after)); got != want {
				t.Errorf("played %+v, want %+v: %v", got, want, names(after))
			}
		})
	}
}

// TestPolicySimulation repeats the vectors' twenty turns with the real policies: each turn
// is a message and a tool output, with a pass every k turns.
func TestPolicySimulation(t *testing.T) {
	t.Parallel()
	var file elisionVectors
	vectors(t, "elision.json", &file)
	var costs struct { // the key has a comma, which a struct tag cannot hold
		Simulation []map[string]any `json:"policy_simulation"`
	}
	vectors(t, "elision.json", &costs)
	if len(file.Simulation) != 5 {
		t.Errorf("%d simulations, 5 are known", len(file.Simulation))
	}
	for i, c := range file.Simulation {
		items := []window.Item{{ID: "sys", Kind: window.KindFixed, Tokens: 12000}}
		var before []window.Segment
		var perTurn []int
		sent, peak, reused := 0, 0, 0
		for turn := 1; turn <= c.Turns; turn++ {
			items = append(items,
				window.Item{ID: fmt.Sprint("u", turn), Kind: window.KindMessage, Role: "user", Tokens: c.Msg},
				window.Item{ID: fmt.Sprint("t", turn), Kind: window.KindToolResult, Role: "tool", Tokens: c.Tool})
			pass, err := window.PlanElision(window.History{Items: items, Turn: turn}, window.EveryTurns(c.K, 1),
				window.Style{Level: window.Simple, StubTokens: c.Stub})
			if err != nil {
				t.Fatal(err)
			}
			items = pass.Window
			var after []window.Segment
			for _, it := range items {
				after = append(after, window.Segment{Ref: it.ID, Tokens: it.Tokens})
			}
			reuse := window.Compare(before, after)
			perTurn = append(perTurn, reuse.Recomputed)
			sent += reuse.WindowAfter
			reused += reuse.Reused()
			peak = max(peak, reuse.WindowAfter)
			before = after
		}
		total := 0
		for _, n := range perTurn {
			total += n
		}
		wantCost := costs.Simulation[i]["cost_units(read .1, write 1.25)"].(float64)
		cost := window.DefaultCacheRates().Units(reused, total)
		if !slices.Equal(perTurn, c.PerTurn) || total != c.TotalRecomputed || sent != c.TotalSent || peak != c.Peak ||
			reused != c.Reused || math.Abs(cost-wantCost) > 1e-6 {
			t.Errorf("k=%d: recomputed %v, total %d, sent %d, peak %d, reused %d, cost %.1f", c.K, perTurn, total, sent, peak, reused, cost)
		}
		if final := before; sumOf(final) != c.Final {
			t.Errorf("k=%d: final window %d, want %d", c.K, sumOf(final), c.Final)
		}
	}
}

func sumOf(s []window.Segment) int {
	n := 0
	for _, x := range s {
		n += x.Tokens
	}
	return n
}

// figure returns the grep example of seed 004, E02 and E04.
func figure(tail ...window.Item) []window.Item {
	return append([]window.Item{
		{ID: "sys", Kind: window.KindFixed, Tokens: 12000},
		{ID: "u1", Kind: window.KindMessage, Role: "user", Tokens: 20},
		{ID: "a1", Kind: window.KindMessage, Role: "assistant", Tokens: 15},
		{ID: "call1", Kind: window.KindToolCall, Tokens: 20, CallIDs: []string{"c"}},
		{ID: "res1", Kind: window.KindToolResult, Tokens: 18000, CallIDs: []string{"c"}},
		{ID: "a2", Kind: window.KindMessage, Role: "assistant", Tokens: 60},
	}, tail...)
}

func all(h window.History) ([]int, string) {
	var out []int
	for i, it := range h.Items {
		if it.Kind == window.KindToolCall || it.Kind == window.KindToolResult {
			out = append(out, i)
		}
	}
	return out, "mine"
}

var own = window.ElisionPolicy{Name: "own", Select: all}

func TestLevels(t *testing.T) {
	t.Parallel()
	more := window.Item{ID: "more", Kind: window.KindMessage, Tokens: 9900}
	for name, c := range map[string]struct {
		style                         window.Style
		items                         []window.Item
		ids                           []string
		first, after, penalty, elided int
	}{
		"E02 simple, one stub for the call": {
			window.Style{Level: window.Simple, StubTokens: 20, WholeCalls: true}, figure(),
			[]string{"sys", "u1", "a1", "call1", "a2"}, 12035, 12115, 80, 2},
		"E04 trivial": {
			window.Style{Level: window.Trivial}, figure(more),
			[]string{"sys", "u1", "a1", "a2", "more"}, 12035, 21995, 9960, 2},
		"offloaded, the call stays": {
			window.Style{Level: window.Offloaded, StubTokens: 15, ReloadRef: func(it window.Item) string { return "elided/" + it.ID }}, figure(),
			[]string{"sys", "u1", "a1", "call1", "res1", "a2"}, 12055, 12130, 75, 1},
		"summarized": {
			window.Style{Level: window.Summarized, StubTokens: 30}, figure(),
			[]string{"sys", "u1", "a1", "call1", "res1", "a2"}, 12055, 12145, 90, 1},
		"hybrid": {
			window.Style{Level: window.Hybrid, Decide: func(it window.Item) (window.Cut, bool) {
				return window.Cut{Level: window.Simple, StubTokens: 9}, it.Tokens > 100
			}}, figure(),
			[]string{"sys", "u1", "a1", "call1", "res1", "a2"}, 12055, 12124, 69, 1},
		"a stub that is no smaller": {
			window.Style{Level: window.Simple, StubTokens: 18001}, figure(),
			[]string{"sys", "u1", "a1", "call1", "res1", "a2"}, 30115, 30115, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pass, err := window.PlanElision(window.History{Items: c.items}, own, c.style)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, it := range pass.Window {
				ids = append(ids, it.ID)
			}
			if !slices.Equal(ids, c.ids) || pass.FirstChanged != c.first || pass.TokensAfter != c.after ||
				pass.Penalty != c.penalty || len(pass.Elided) != c.elided {
				t.Errorf("got %v, %+v", ids, pass)
			}
			for _, e := range pass.Elided {
				if c.style.Level == window.Offloaded && e.ReloadRef != "elided/res1" {
					t.Errorf("reload ref %q", e.ReloadRef)
				}
			}
			again, err := window.PlanElision(window.History{Items: pass.Window}, own, c.style)
			if err != nil || len(again.Elided) != 0 || again.Penalty != 0 {
				t.Errorf("a second pass elides %+v, %v", again.Elided, err)
			}
		})
	}
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	items := []window.Item{
		{ID: "u1", Kind: window.KindMessage, Role: "user", Tokens: 1},
		{ID: "r1", Kind: window.KindToolResult, Tokens: 100, Reads: "foo.py"},
		{ID: "r2", Kind: window.KindToolResult, Tokens: 100, Reads: "bar.py"},
		{ID: "commit", Kind: window.KindToolResult, Tokens: 100, Marker: "git commit"},
		{ID: "u2", Kind: window.KindMessage, Role: "user", Tokens: 1},
		{ID: "r3", Kind: window.KindToolResult, Tokens: 100, Reads: "foo.py"},
		{ID: "pinned", Kind: window.KindToolResult, Tokens: 100, Pinned: true},
		{ID: "u3", Kind: window.KindMessage, Role: "user", Tokens: 1},
		{ID: "r4", Kind: window.KindToolResult, Tokens: 100, Reads: "foo.py"},
	}
	for name, c := range map[string]struct {
		policy  window.ElisionPolicy
		turn    int
		idle    time.Duration
		want    []string
		trigger string
	}{
		"before last user":      {window.BeforeLastUser(), 3, 0, []string{"r1", "r2", "commit", "r3"}, "user_message"},
		"every 3 turns":         {window.EveryTurns(3, 1), 3, 0, []string{"r1", "r2", "commit", "r3"}, "turn"},
		"every 3, keep 2":       {window.EveryTurns(3, 2), 3, 0, []string{"r1", "r2", "commit"}, "turn"},
		"every 3, not now":      {window.EveryTurns(3, 1), 4, 0, nil, ""},
		"every 0":               {window.EveryTurns(0, 1), 3, 0, nil, ""},
		"latest reads":          {window.LatestReads(), 3, 0, []string{"r1", "r3"}, "reread"},
		"idle":                  {window.AfterIdle(15 * time.Minute), 3, 15 * time.Minute, []string{"r1", "r2", "commit", "r3"}, "idle"},
		"not idle":              {window.AfterIdle(15 * time.Minute), 3, time.Minute, nil, ""},
		"marker":                {window.OnMarker("git commit"), 3, 0, []string{"r1", "r2"}, "git commit"},
		"no such marker":        {window.OnMarker("topic"), 3, 0, nil, ""},
		"a policy without body": {window.ElisionPolicy{Name: "none"}, 3, 0, nil, ""},
	} {
		pass, err := window.PlanElision(window.History{Items: items, Turn: c.turn, Idle: c.idle}, c.policy,
			window.Style{Level: window.Simple, StubTokens: 5})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range pass.Elided {
			got = append(got, e.ID)
			if items[e.Index].ID != e.ID || e.Before != 100 || e.Stub != 5 {
				t.Errorf("%s: %+v", name, e)
			}
		}
		if !slices.Equal(got, c.want) || pass.Trigger != c.trigger {
			t.Errorf("%s: elided %v by %q, want %v by %q", name, got, pass.Trigger, c.want, c.trigger)
		}
	}
}

func TestElisionRefuses(t *testing.T) {
	t.Parallel()
	simple := window.Style{Level: window.Simple, StubTokens: 5}
	outside := window.ElisionPolicy{Name: "x", Select: func(window.History) ([]int, string) { return []int{99}, "" }}
	for name, c := range map[string]struct {
		items  []window.Item
		policy window.ElisionPolicy
		style  window.Style
	}{
		"no level":         {figure(), own, window.Style{}},
		"no stub":          {figure(), own, window.Style{Level: window.Simple}},
		"no reload ref":    {figure(), own, window.Style{Level: window.Offloaded, StubTokens: 1}},
		"empty reload ref": {figure(), own, window.Style{Level: window.Offloaded, StubTokens: 1, ReloadRef: func(window.Item) string { return "" }}},
		"no decision":      {figure(), own, window.Style{Level: window.Hybrid}},
		"hybrid of hybrid": {figure(), own, window.Style{Level: window.Hybrid, Decide: func(window.Item) (window.Cut, bool) {
			return window.Cut{Level: window.Hybrid, StubTokens: 1}, true
		}}},
		"outside":       {figure(), outside, simple},
		"twice":         {append(figure(), window.Item{ID: "sys"}), own, simple},
		"negative size": {append(figure(), window.Item{ID: "n", Tokens: -1}), own, simple},
	} {
		if _, err := window.PlanElision(window.History{Items: c.items}, c.policy, c.style); !errors.Is(err, window.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestElisionAddsUp checks random windows. Sizes add up, pairs stay together, and pinned
// items stay. Items before the first change and the input are unchanged. The same input
// gives an equal pass.
func TestElisionAddsUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		items := candidates(t)
		frozen, _ := json.Marshal(items)
		level := rapid.SampledFrom([]window.Level{window.Trivial, window.Simple}).Draw(t, "level")
		style := window.Style{Level: level, StubTokens: rapid.IntRange(1, 30).Draw(t, "stub"), WholeCalls: rapid.Bool().Draw(t, "whole")}
		history := window.History{Items: items, Turn: 1}
		policy := window.EveryTurns(1, rapid.IntRange(1, 3).Draw(t, "keep"))
		pass, err := window.PlanElision(history, policy, style)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := window.PlanElision(history, policy, style); !reflect.DeepEqual(pass, again) {
			t.Fatal("the same input gives another pass")
		}
		saved, before, after := 0, 0, 0
		for _, e := range pass.Elided {
			saved += e.Before - e.Stub
		}
		for _, it := range items {
			before += it.Tokens
		}
		for _, it := range pass.Window {
			after += it.Tokens
		}
		if pass.TokensBefore != before || pass.TokensAfter != after || before-after != saved || pass.SavedPerCall != saved {
			t.Fatalf("sizes do not add up: %+v", pass)
		}
		prefix := 0
		for i := range min(len(items), len(pass.Window)) {
			if !reflect.DeepEqual(normal(items[i]), normal(pass.Window[i])) {
				break
			}
			prefix += items[i].Tokens
		}
		if len(pass.Elided) > 0 && prefix != pass.FirstChanged {
			t.Fatalf("first change at %d, window differs at %d", pass.FirstChanged, prefix)
		}
		checkPairs(t, items, pass.Window)
		checkPinned(t, items, pass.Window)
		if now, _ := json.Marshal(items); string(now) != string(frozen) {
			t.Fatal("the input changed")
		}
	})
}
