package producer_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// roomy is a model with a window large enough for all tests.
var roomy = producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 100_000, ReservedOutput: 1_000}}

func turnOf(t testing.TB, client *producer.Client, session string) *producer.Turn {
	t.Helper()
	run, err := client.Open(t.Context(), producer.Run{Session: session})
	if err != nil {
		t.Fatal(err)
	}
	return run.Turn("turn-1", roomy)
}

func say(id, role, text string) producer.Content {
	return producer.Content{ID: id, Layer: role, Role: role, Kind: window.KindMessage, Text: text}
}

func add(t testing.TB, turn *producer.Turn, items []window.Item, contents ...producer.Content) []window.Item {
	t.Helper()
	for _, c := range contents {
		item, err := turn.Add(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	return items
}

func ids(items []window.Item) (list []string) {
	for _, it := range items {
		list = append(list, it.ID)
	}
	return list
}

// TestPersonaLife follows a persona over three turns: set, refreshed, changed
// with its cue, and moved by a pass.
func TestPersonaLife(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := turnOf(t, client, "s")
	call := turn.Call("c")
	head := window.NewHead(window.AtOnce)
	items := add(t, turn, nil, say("u1", "user", "How do we pay for this?"))
	persona := func(name, id string) {
		t.Helper()
		var err error
		items, head, err = call.SetPersona(t.Context(), items, head, name, producer.Content{ID: id, Text: "Speak as the " + name}, producer.Content{})
		if err != nil {
			t.Fatal(err)
		}
	}
	head = head.UserMessage("u1")
	persona("consultant", "p1")
	items = add(t, turn, items, say("a1", "assistant", "Let us see."), say("u2", "user", "And the risk?"))
	head = head.UserMessage("u2")
	persona("consultant", "p2")
	persona("CFO", "p3")
	if want := []string{"u1", "a1", "u2", "p3:cue", "p3"}; !slices.Equal(ids(items), want) || head.Persona() != "CFO" {
		t.Errorf("%v, %s", ids(items), head.Persona())
	}
	items = add(t, turn, items,
		producer.Content{ID: "t1", Role: "assistant", Kind: window.KindToolCall, Text: "ls", ToolCallID: "x"},
		producer.Content{ID: "r1", Role: "tool", Kind: window.KindToolResult, Text: "a long list of files and folders, one a line", ToolCallID: "x"},
		say("u3", "user", "Go on."))
	head = head.UserMessage("u3")
	pass, err := window.PlanElision(window.History{Items: items, Head: head}, window.BeforeLastUser(), window.Style{Level: window.Simple, StubTokens: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := call.Elide(t.Context(), pass); err != nil {
		t.Fatal(err)
	}
	if want := []string{"u1", "a1", "u2", "p3:cue", "t1", "r1", "u3", "p3"}; !slices.Equal(ids(pass.Window), want) {
		t.Errorf("%v", ids(pass.Window))
	}
	var got []string
	for _, e := range rec.Events().Call("c") {
		switch f := e.Fact.(type) {
		case *schema.InjectionApplied:
			got = append(got, fmt.Sprintf("+ %s %s at %s %s>%s cue %s", f.InjectionKind, f.InjectionID, f.AttachedTo, f.PersonaFrom, f.PersonaTo, f.CueItemRef))
		case *schema.InjectionRemoved:
			got = append(got, fmt.Sprintf("- %s %s at %s by %s in %s", f.InjectionKind, f.InjectionID, f.AttachedTo, f.ReplacedBy, f.RemovedByPass))
		}
	}
	want := []string{
		"+ persona inject:u1:p1 at u1 >consultant cue ",
		"- persona inject:u1:p1 at u1 by p2 in ",
		"+ persona inject:u2:p2 at u2 >consultant cue ",
		"- persona inject:u2:p2 at u2 by p3 in ",
		"+ persona_cue inject:u2:p3:cue at u2 consultant>CFO cue p3:cue",
		"+ persona inject:u2:p3 at u2 consultant>CFO cue p3:cue",
		"- persona inject:u2:p3 at u2 by p3 in elision:c",
		"+ persona inject:u3:p3 at u3 >CFO cue ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("recorded\n%q, not\n%q", got, want)
	}
	logged := producertest.Facts[*schema.LogAppended](rec.Events())
	if !slices.ContainsFunc(logged, func(f *schema.LogAppended) bool { return f.LogItemID == "p3:cue" && f.Role == "system" }) ||
		slices.ContainsFunc(logged, func(f *schema.LogAppended) bool { return f.LogItemID == "p3" }) {
		t.Error("a cue is said and an injection is not")
	}
	for _, f := range producertest.Facts[*schema.ItemAdded](rec.Events()) {
		if f.ItemID == "p1:cue" || f.ItemID == "p2:cue" {
			t.Errorf("%s is an item, and no persona changed", f.ItemID)
		}
	}
	if _, err := turn.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestHeadRefuses: a refused injection leaves window and head unchanged and records no
// fact.
func TestHeadRefuses(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := turnOf(t, client, "s")
	call := turn.Call("c")
	items := add(t, turn, nil, say("u1", "user", "hi"))
	head := window.Head{}.UserMessage("u1")
	items, head, err := call.InjectHead(t.Context(), items, head, "clock", producer.Content{ID: "now", Text: "It is noon."})
	if err != nil {
		t.Fatal(err)
	}
	before := len(rec.Events())
	for name, try := range map[string]func() ([]window.Item, window.Head, error){
		"no user message": func() ([]window.Item, window.Head, error) {
			return call.InjectHead(t.Context(), items, window.Head{}, "clock", producer.Content{ID: "a"})
		},
		"no kind": func() ([]window.Item, window.Head, error) {
			return call.InjectHead(t.Context(), items, head, "", producer.Content{ID: "b"})
		},
		"no id": func() ([]window.Item, window.Head, error) {
			return call.InjectHead(t.Context(), items, head, "clock", producer.Content{Text: "x"})
		},
		"the same item": func() ([]window.Item, window.Head, error) {
			return call.InjectHead(t.Context(), items, head, "other", producer.Content{ID: "now"})
		},
		"an item of the turn": func() ([]window.Item, window.Head, error) {
			return call.InjectHead(t.Context(), items, head, "other", producer.Content{ID: "u1"})
		},
		"a persona by the back door": func() ([]window.Item, window.Head, error) {
			return call.InjectHead(t.Context(), items, head, window.PersonaKind, producer.Content{ID: "c"})
		},
		"no persona": func() ([]window.Item, window.Head, error) {
			return call.SetPersona(t.Context(), items, head, "", producer.Content{ID: "d"}, producer.Content{})
		},
	} {
		after, still, err := try()
		if !errors.Is(err, producer.ErrInvalid) && !errors.Is(err, window.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.Equal(ids(after), ids(items)) || name != "no user message" && len(still.Attached()) != 1 {
			t.Errorf("%s: %v, %+v", name, ids(after), still)
		}
	}
	rec.Fail(publish.ErrQueueFull)
	if _, still, err := call.SetPersona(t.Context(), items, head, "CFO", producer.Content{ID: "p"}, producer.Content{}); !errors.Is(err, publish.ErrQueueFull) || still.Persona() != "" {
		t.Errorf("a full queue: %v, %q", err, still.Persona())
	}
	rec.Fail(nil)
	if n := len(rec.Events()); n != before {
		t.Errorf("%d facts of what was refused", n-before)
	}
	if _, _, err := call.SetPersona(t.Context(), items, head, "CFO", producer.Content{ID: "p"}, producer.Content{}); err != nil {
		t.Errorf("once more: %v", err)
	}
}

// TestHeadFactsAddUp runs random turns with the recorder. The applied and not removed
// injections are the head's. By default there is at most one of a kind. A removal names an
// applied injection.
func TestHeadFactsAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		client, rec := producertest.New(t)
		turn := turnOf(t, client, "s")
		call := turn.Call("c")
		mode := rapid.SampledFrom([]window.ReplaceMode{window.AtOnce, window.UntilPass}).Draw(rt, "mode")
		head, items, n := window.NewHead(mode), []window.Item(nil), 0
		id := func(prefix string) string { n++; return fmt.Sprint(prefix, n) }
		speak := func(*rapid.T) {
			u := id("u")
			items, head = add(t, turn, slices.Clone(items), say(u, "user", "go on")), head.UserMessage(u)
		}
		speak(rt)
		var err error
		rt.Repeat(map[string]func(*rapid.T){
			"speak": speak,
			"work": func(*rapid.T) {
				items = add(t, turn, slices.Clone(items), producer.Content{ID: id("r"), Role: "tool", Kind: window.KindToolResult, Text: "one two three four five six"})
			},
			"inject": func(rt *rapid.T) {
				items, head, err = call.InjectHead(t.Context(), items, head, rapid.SampledFrom([]string{"clock", "memory"}).Draw(rt, "kind"), producer.Content{ID: id("i"), Text: "now"})
			},
			"persona": func(rt *rapid.T) {
				items, head, err = call.SetPersona(t.Context(), items, head, rapid.SampledFrom([]string{"CFO", "CTO"}).Draw(rt, "name"), producer.Content{ID: id("p"), Text: "be"}, producer.Content{})
			},
			"elide": func(rt *rapid.T) {
				pass, planErr := window.PlanElision(window.History{Items: items, Head: head}, window.BeforeLastUser(), window.Style{Level: window.Trivial})
				if planErr != nil {
					rt.Fatal(planErr)
				}
				if err = call.Elide(t.Context(), pass); err == nil {
					items, head = pass.Window, pass.Head
				}
			},
			"": func(rt *rapid.T) {
				if err != nil {
					rt.Fatal(err)
				}
				checkHead(rt, rec.Events(), head, mode)
			},
		})
	})
}

func checkHead(t *rapid.T, events producertest.Events, head window.Head, mode window.ReplaceMode) {
	open, kinds := map[string]schema.Ref{}, map[string]int{}
	for _, e := range events {
		switch f := e.Fact.(type) {
		case *schema.InjectionApplied:
			if f.InjectionKind == "persona_cue" {
				continue
			}
			if _, twice := open[f.InjectionID]; twice {
				t.Fatalf("%s is applied twice", f.InjectionID)
			}
			open[f.InjectionID] = f.AttachedTo
			kinds[f.InjectionKind]++
		case *schema.InjectionRemoved:
			if _, known := open[f.InjectionID]; !known {
				t.Fatalf("%s is removed and was not applied", f.InjectionID)
			}
			delete(open, f.InjectionID)
			kinds[f.InjectionKind]--
		}
	}
	if len(open) != len(head.Attached()) {
		t.Fatalf("%d are open, %d attached", len(open), len(head.Attached()))
	}
	for _, in := range head.Attached() {
		if at := open["inject:"+in.AttachedTo+":"+in.Ref]; at.ID() != in.AttachedTo {
			t.Fatalf("%+v is recorded at %q", in, at)
		}
	}
	for kind, n := range kinds {
		if mode == window.AtOnce && n > 1 {
			t.Fatalf("%d of kind %s", n, kind)
		}
	}
}

// TestPersonaOfAnAssembledCall: a persona does not change during a call.
func TestPersonaOfAnAssembledCall(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := turnOf(t, client, "s")
	items := add(t, turn, nil, say("u1", "user", "Hello."))
	head := window.NewHead(window.AtOnce).UserMessage("u1")
	call := turn.Call("c")
	items, head, err := call.SetPersona(t.Context(), items, head, "analyst", producer.Content{ID: "p1", Text: "You analyse."}, producer.Content{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := call.Fit(t.Context(), items, window.DefaultPolicy(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call.Assemble(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	before := len(rec.Events())
	var refused *producer.InvalidError
	after, _, err := call.SetPersona(t.Context(), items, head, "CFO", producer.Content{ID: "p2", Text: "You pay."}, producer.Content{})
	if !errors.As(err, &refused) || refused.Field != "persona" || len(after) != len(items) || len(rec.Events()) != before {
		t.Errorf("%v, %d items, %d facts", err, len(after), len(rec.Events())-before)
	}
	if _, _, err := turn.Call("next").SetPersona(t.Context(), items, head, "CFO", producer.Content{ID: "p2", Text: "You pay."}, producer.Content{}); err != nil {
		t.Error(err)
	}
}

// TestCueNamesThePersona: the cue's default text names the new persona.
//
// Source: seed 004 (persona management).
func TestCueNamesThePersona(t *testing.T) {
	t.Parallel()
	key, err := schema.NewKey(bytes.NewReader(bytes.Repeat([]byte{7}, 32)), producertest.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	client, _ := producertest.New(t, func(c *producer.Config) { c.Key = key })
	turn := turnOf(t, client, "s")
	items := add(t, turn, nil, say("u1", "user", "How do we pay for this?"))
	head := window.NewHead(window.AtOnce).UserMessage("u1")
	for _, name := range []string{"consultant", "CFO"} {
		items, head, err = turn.Call("").SetPersona(t.Context(), items, head, name, producer.Content{ID: name, Text: "Speak as the " + name}, producer.Content{})
		if err != nil {
			t.Fatal(err)
		}
	}
	at := slices.IndexFunc(items, func(it window.Item) bool { return it.ID == "CFO:cue" })
	if at < 0 || items[at].Digest != key.Digest([]byte("persona changed to CFO")) {
		t.Errorf("%+v", items)
	}
}
