package window_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/producer/window"
	"pgregory.net/rapid"
)

// talk is a conversation in the form that a runtime keeps: the window and its head.
type talk struct {
	items  []window.Item
	head   window.Head
	number int
}

func (c *talk) id(prefix string) string {
	c.number++
	return fmt.Sprint(prefix, c.number)
}

func (c *talk) inject(t *rapid.T, kind string) {
	ref := c.id("inj")
	head, change, err := c.head.Inject(window.Injection{Kind: kind, Ref: ref, Tokens: 7})
	if err != nil {
		t.Fatal(err)
	}
	c.items, c.head = head.Place(c.items, change, window.Item{ID: ref, Kind: window.KindFixed, Role: window.RoleSystem, Tokens: 7}), head
}

func (c *talk) persona(t *rapid.T, name string) {
	ref, cue := c.id("persona"), c.id("cue")
	old := c.head.Persona()
	head, change, err := c.head.SetPersona(window.Injection{Ref: ref, Persona: name, Tokens: 9}, window.Cue{Ref: cue, Tokens: 3})
	if err != nil {
		t.Fatal(err)
	}
	if changed := old != "" && old != name; changed != (change.Cue != nil) || changed && (change.Cue.From != old || change.Cue.To != name) {
		t.Fatalf("from %q to %q: %+v", old, name, change.Cue)
	}
	c.items = head.Place(c.items, change,
		window.Item{ID: ref, Kind: window.KindFixed, Role: window.RoleSystem, Tokens: 9},
		window.Item{ID: cue, Kind: window.KindMessage, Role: window.RoleSystem, Tokens: 3})
	c.head = head
}

func (c *talk) elide(t *rapid.T) {
	history := window.History{Items: c.items, Head: c.head, Turn: 1}
	policy := rapid.SampledFrom([]window.ElisionPolicy{window.BeforeLastUser(), window.EveryTurns(1, 2), window.LatestReads(), own}).Draw(t, "policy")
	style := window.Style{Level: window.Simple, StubTokens: 2, WholeCalls: rapid.Bool().Draw(t, "whole")}
	frozen, _ := json.Marshal(c.items)
	pass, err := window.PlanElision(history, policy, style)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := window.PlanElision(history, policy, style); !reflect.DeepEqual(pass, again) {
		t.Fatal("the same input gives another pass")
	}
	if now, _ := json.Marshal(c.items); string(now) != string(frozen) {
		t.Fatal("planning changed its input")
	}
	reuse := window.Compare(asSegments(c.items), asSegments(pass.Window))
	if reuse.WindowBefore != pass.TokensBefore || reuse.WindowAfter != pass.TokensAfter || reuse.ChangePosition != pass.FirstChanged || reuse.Recomputed != pass.Penalty {
		t.Fatalf("planned %d -> %d, first change at %d, %d computed again; it is %+v", pass.TokensBefore, pass.TokensAfter, pass.FirstChanged, pass.Penalty, reuse)
	}
	if pass.TokensAfter > pass.TokensBefore || pass.SavedPerCall != pass.TokensBefore-pass.TokensAfter {
		t.Fatalf("from %d to %d tokens, %d saved", pass.TokensBefore, pass.TokensAfter, pass.SavedPerCall)
	}
	if len(pass.Elided) == 0 && (!reflect.DeepEqual(pass.Head, c.head) || len(pass.Moved.Removed) != 0) {
		t.Fatal("a pass that elided nothing moved something")
	}
	if len(pass.Elided) > 0 {
		for _, in := range pass.Head.Attached() {
			if in.AttachedTo != newest(pass.Window) || in.Superseded {
				t.Fatalf("%+v is left behind by a pass", in)
			}
		}
	}
	c.items, c.head = pass.Window, pass.Head
}

// newest returns the id of the newest user message.
func newest(items []window.Item) string {
	id := ""
	for _, it := range items {
		if it.Kind == window.KindMessage && it.Role == window.RoleUser {
			id = it.ID
		}
	}
	return id
}

// check compares the window with its head. Each attachment is in the window once, directly
// after its user message, and at most one of a kind is current.
func (c *talk) check(t *rapid.T, mode window.ReplaceMode) {
	current, there := map[string]int{}, map[string]int{}
	for _, in := range c.head.Attached() {
		there[in.Kind]++
		if !in.Superseded {
			current[in.Kind]++
		}
		at := slices.IndexFunc(c.items, func(it window.Item) bool { return it.ID == in.Ref })
		user := slices.IndexFunc(c.items, func(it window.Item) bool { return it.ID == in.AttachedTo })
		if at < 0 || user < 0 || user > at {
			t.Fatalf("%+v stands at %d, its message at %d", in, at, user)
		}
		for _, between := range c.items[user+1 : at] {
			if between.Role != window.RoleSystem {
				t.Fatalf("%s stands between %s and %s", between.ID, in.AttachedTo, in.Ref)
			}
		}
	}
	for kind := range there {
		if current[kind] != 1 || mode == window.AtOnce && there[kind] != 1 {
			t.Fatalf("%d of kind %s, %d current", there[kind], kind, current[kind])
		}
	}
	injected := 0
	for _, it := range c.items {
		if it.Kind == window.KindFixed && it.ID != "sys" {
			injected++
		}
	}
	if injected != len(c.head.Attached()) {
		t.Fatalf("%d injections in the window, %d attached", injected, len(c.head.Attached()))
	}
}

// TestConversation runs random turns: users write, tools answer, content is injected,
// personas change, passes run.
func TestConversation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		mode := rapid.SampledFrom([]window.ReplaceMode{window.AtOnce, window.UntilPass}).Draw(t, "mode")
		c := &talk{head: window.NewHead(mode), items: []window.Item{{ID: "sys", Kind: window.KindFixed, Tokens: 50}}}
		speak := func(*rapid.T) {
			id := c.id("u")
			c.items, c.head = append(slices.Clone(c.items), user(id, 5)), c.head.UserMessage(id)
		}
		speak(t)
		t.Repeat(map[string]func(*rapid.T){
			"speak": speak,
			"work": func(t *rapid.T) {
				call := c.id("call")
				c.items = append(slices.Clone(c.items),
					window.Item{ID: call, Kind: window.KindToolCall, Role: window.RoleAssistant, Tokens: 4, CallIDs: []string{call}},
					window.Item{ID: c.id("result"), Kind: window.KindToolResult, Role: window.RoleTool, CallIDs: []string{call},
						Tokens: rapid.IntRange(0, 90).Draw(t, "size"), Reads: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "file")},
					window.Item{ID: c.id("a"), Kind: window.KindMessage, Role: window.RoleAssistant, Tokens: 6})
			},
			"inject":  func(t *rapid.T) { c.inject(t, rapid.SampledFrom([]string{"clock", "memory"}).Draw(t, "kind")) },
			"persona": func(t *rapid.T) { c.persona(t, rapid.SampledFrom([]string{"CFO", "CTO"}).Draw(t, "persona")) },
			"elide":   c.elide,
			"":        func(t *rapid.T) { c.check(t, mode) },
		})
	})
}

// TestPlaceInOrder: new injections follow the items that are already there, even if the
// turn has continued.
func TestPlaceInOrder(t *testing.T) {
	t.Parallel()
	c := &talk{items: []window.Item{user("u", 5)}, head: window.Head{}.UserMessage("u")}
	for _, kind := range []string{"clock", "memory"} {
		head, change, err := c.head.Inject(window.Injection{Kind: kind, Ref: kind})
		if err != nil {
			t.Fatal(err)
		}
		c.items, c.head = head.Place(c.items, change, window.Item{ID: kind, Kind: window.KindFixed}), head
		if kind == "clock" {
			c.items = append(c.items, window.Item{ID: "a", Kind: window.KindMessage, Role: window.RoleAssistant})
		}
	}
	if got := names(c.items); !slices.Equal(got, []string{"u", "clock", "memory", "a"}) {
		t.Errorf("%v", got)
	}
}

func TestPlaceWithoutTheMessage(t *testing.T) {
	t.Parallel()
	head, change, err := window.Head{}.UserMessage("elsewhere").Inject(window.Injection{Kind: "clock", Ref: "t"})
	if err != nil {
		t.Fatal(err)
	}
	items := []window.Item{user("u", 1)}
	if got := names(head.Place(items, change, window.Item{ID: "t"})); !slices.Equal(got, []string{"u", "t"}) {
		t.Errorf("%v", got)
	}
	if got := names(head.Place(items, change)); !slices.Equal(got, []string{"u"}) {
		t.Errorf("an item that is nowhere: %v", got)
	}
	if _, _, err := head.Inject(window.Injection{Kind: "other", Ref: "t"}); err == nil {
		t.Error("one item is injected twice")
	}
}

// TestInjectionsAreNotElided: a policy may name injections, but they belong to the head.
func TestInjectionsAreNotElided(t *testing.T) {
	t.Parallel()
	head, change, err := window.Head{}.UserMessage("u").Inject(window.Injection{Kind: "clock", Ref: "t", Tokens: 9})
	if err != nil {
		t.Fatal(err)
	}
	items := head.Place([]window.Item{user("u", 1)}, change, window.Item{ID: "t", Kind: window.KindMessage, Tokens: 9})
	everything := window.ElisionPolicy{Name: "all", Select: func(h window.History) ([]int, string) { return []int{1}, "x" }}
	pass, err := window.PlanElision(window.History{Items: items, Head: head.UserMessage("u2")}, everything, window.Style{Level: window.Trivial})
	if err != nil || len(pass.Elided) != 0 || len(pass.Window) != 2 || len(pass.Moved.Removed) != 0 {
		t.Errorf("%+v, %v", pass, err)
	}
}
