package window_test

import (
	"errors"
	"testing"

	"github.com/ctxledger/ctxledger/producer/window"
	"pgregory.net/rapid"
)

func TestPersona(t *testing.T) {
	t.Parallel()
	head := window.NewHead(window.AtOnce).UserMessage("u1")
	head, change, err := head.SetPersona(window.Injection{Ref: "p1", Persona: "consultant", Tokens: 200}, window.Cue{})
	if err != nil || change.Cue != nil || len(change.Injected) != 1 || change.Injected[0].AttachedTo != "u1" {
		t.Fatalf("first persona: %+v, %v", change, err)
	}
	head, change, err = head.UserMessage("u2").SetPersona(window.Injection{Ref: "p2", Persona: "consultant", Tokens: 200}, window.Cue{})
	if err != nil || change.Cue != nil || len(change.Removed) != 1 || change.Removed[0].ReplacedBy != "p2" {
		t.Fatalf("the same persona again: %+v, %v", change, err)
	}
	if _, _, err := head.SetPersona(window.Injection{Ref: "p3", Persona: "CFO"}, window.Cue{}); !errors.Is(err, window.ErrInvalid) {
		t.Fatalf("a change without a cue: %v", err)
	}
	head, change, err = head.UserMessage("u3").SetPersona(window.Injection{Ref: "p3", Persona: "CFO", Tokens: 205}, window.Cue{Ref: "cue", Tokens: 8})
	if err != nil || change.Cue == nil || *change.Cue != (window.Cue{Ref: "cue", From: "consultant", To: "CFO", Tokens: 8}) {
		t.Fatalf("another persona: %+v, %v", change, err)
	}
	if got := head.Attached(); len(got) != 1 || got[0].Ref != "p3" || head.Persona() != "CFO" {
		t.Fatalf("attached %+v", got)
	}
}

// TestHeadVectors runs E07 and E08, the two ways to treat the older injection.
func TestHeadVectors(t *testing.T) {
	t.Parallel()
	for mode, stale := range map[window.ReplaceMode]int{window.AtOnce: 0, window.UntilPass: 200, "": 0} {
		head, _, err := window.NewHead(mode).UserMessage("u1").Inject(window.Injection{Kind: "persona", Ref: "persona@t1", Tokens: 200})
		if err != nil {
			t.Fatal(err)
		}
		head, change, err := head.UserMessage("u2").Inject(window.Injection{Kind: "persona", Ref: "persona@t2", Tokens: 200})
		if err != nil {
			t.Fatal(err)
		}
		tokens := 0
		for _, in := range head.Attached() {
			tokens += in.Tokens
		}
		if tokens != 200+stale || (len(change.Removed) == 1) != (stale == 0) {
			t.Errorf("%q: %d tokens attached, removed %+v", mode, tokens, change.Removed)
		}
		after, change := head.Pass("pass1")
		if got := after.Attached(); len(got) != 1 || got[0].Ref != "persona@t2" || len(change.Injected) != 0 {
			t.Errorf("%q: after the pass %+v, %+v", mode, got, change)
		}
	}
}

func TestPassMovesToTheNewHead(t *testing.T) {
	t.Parallel()
	head, _, _ := window.Head{}.UserMessage("u1").Inject(window.Injection{Kind: "clock", Ref: "clock", Tokens: 5})
	head, change := head.UserMessage("u2").Pass("pass1")
	if len(change.Removed) != 1 || change.Removed[0].Pass != "pass1" || change.Removed[0].Injection.AttachedTo != "u1" ||
		len(change.Injected) != 1 || change.Injected[0].AttachedTo != "u2" {
		t.Fatalf("%+v", change)
	}
	if _, change := head.Pass("pass2"); change.Removed != nil || change.Injected != nil {
		t.Fatalf("a pass at the same head: %+v", change)
	}
}

func TestHeadRefuses(t *testing.T) {
	t.Parallel()
	withUser := window.Head{}.UserMessage("u1")
	for name, c := range map[string]struct {
		head window.Head
		in   window.Injection
	}{
		"no user message": {window.Head{}, window.Injection{Kind: "k", Ref: "r"}},
		"no kind":         {withUser, window.Injection{Ref: "r"}},
		"no ref":          {withUser, window.Injection{Kind: "k"}},
		"negative size":   {withUser, window.Injection{Kind: "k", Ref: "r", Tokens: -1}},
	} {
		if _, _, err := c.head.Inject(c.in); !errors.Is(err, window.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := withUser.SetPersona(window.Injection{Ref: "r"}, window.Cue{}); !errors.Is(err, window.ErrInvalid) {
		t.Errorf("no persona: %v", err)
	}
}

// TestHeadStaysSmall runs random transitions. At most one injection of a kind is current,
// and by default at most one is in the window. The attached injections are the injected and
// not removed ones. Earlier heads do not change.
func TestHeadStaysSmall(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		mode := rapid.SampledFrom([]window.ReplaceMode{window.AtOnce, window.UntilPass}).Draw(t, "mode")
		head := window.NewHead(mode).UserMessage("u0")
		inWindow, newest := map[string]int{}, "u0"
		for i := range rapid.IntRange(1, 20).Draw(t, "steps") {
			before := head
			frozen := before.Attached()
			var change window.HeadChange
			name := string(rune('a' + i))
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				newest = "u" + name
				head = head.UserMessage(newest)
			case 1:
				head, change = head.Pass("pass" + name)
			case 2:
				head, change, _ = head.Inject(window.Injection{Kind: rapid.SampledFrom([]string{"clock", "memory"}).Draw(t, "kind"), Ref: name, Tokens: 1})
			case 3:
				head, change, _ = head.SetPersona(window.Injection{Ref: name, Persona: rapid.SampledFrom([]string{"CFO", "CTO"}).Draw(t, "persona")}, window.Cue{Ref: "cue" + name})
			}
			for _, r := range change.Removed {
				inWindow[r.Injection.Ref]--
			}
			for _, in := range change.Injected {
				inWindow[in.Ref]++
			}
			current, kinds, total := map[string]int{}, map[string]int{}, 0
			for _, in := range head.Attached() {
				kinds[in.Kind]++
				total++
				if in.Superseded && in.AttachedTo == newest {
					t.Fatalf("%q is superseded at the head and not removed", in.Ref)
				}
				if !in.Superseded {
					current[in.Kind]++
				}
				if inWindow[in.Ref] != 1 {
					t.Fatalf("%q is attached and was injected %d times net", in.Ref, inWindow[in.Ref])
				}
			}
			for _, n := range inWindow {
				total -= n
			}
			if total != 0 {
				t.Fatalf("attached and injected differ by %d", total)
			}
			for kind, n := range kinds {
				if current[kind] != 1 || mode == window.AtOnce && n != 1 {
					t.Fatalf("%d of kind %s, %d current", n, kind, current[kind])
				}
			}
			for j, in := range before.Attached() {
				if in != frozen[j] {
					t.Fatal("an earlier head changed")
				}
			}
		}
	})
}
