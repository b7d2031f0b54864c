package windowview_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
)

// windowOf makes a window of words such as a:10, an item and its tokens; a:? is of
// unknown size, and a:10! a stub.
func windowOf(call string, words ...string) windowview.Window {
	w := windowview.Window{Session: "s", Turn: "t", Call: call}
	for i, word := range words {
		colon := strings.LastIndex(word, ":") // an item's name may have one
		item, size := word[:colon], word[colon+1:]
		b := windowview.Block{Position: int64(i), Layer: "user", Items: []string{item}, Elided: strings.HasSuffix(size, "!")}
		if size != "?" {
			b.Tokens = new(int64)
			if _, err := fmt.Sscan(strings.TrimSuffix(size, "!"), b.Tokens); err != nil {
				panic(err)
			}
		}
		if b.Elided {
			b.Level, b.Full, b.Stub = "offloaded", new(int64(500)), "file:x"
		}
		w.Blocks = append(w.Blocks, b)
	}
	return windowview.WithTotals(w)
}

func told(d windowview.Difference) (list []string) {
	for _, c := range d.Changes {
		shown := c.After
		if shown == nil {
			shown = c.Before
		}
		word := c.Kind + " " + shown.Items[0]
		if c.Moved && c.Kind != windowview.Moved {
			word += " (moved)"
		}
		list = append(list, word)
	}
	return list
}

func figures(d windowview.Difference) string {
	say := func(n *int64) string {
		if n == nil {
			return "?"
		}
		return fmt.Sprint(*n)
	}
	return strings.Join([]string{say(d.FirstChanged), say(d.Common), say(d.Expected), say(d.New), say(d.Penalty)}, " ")
}

func TestCompare(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, before, after string
		changes, figures    string // the first change, p, n − p, new, the rest
	}{
		{"nothing", "a:10 b:20", "a:10 b:20", "kept a, kept b", "? 30 0 0 0"},
		{"append", "a:10 b:20", "a:10 b:20 c:5", "kept a, kept b, entered c", "2 30 5 5 0"},
		{"leave", "a:10 b:20 c:5", "a:10 c:5", "kept a, left b, kept c", "1 10 5 0 5"},
		{"shorten", "a:10 b:20 c:5", "a:10 b:2! c:5 d:1", "kept a, shortened b, kept c, entered d", "1 10 8 1 7"},
		{"whole again", "a:10 b:2! c:5", "a:10 b:20 c:5", "kept a, grown b, kept c", "1 10 25 0 25"},
		{"move to the end", "a:1 b:1 c:1 d:1", "b:1 c:1 d:1 a:1", "kept b, kept c, kept d, moved a", "0 0 4 0 4"},
		{"move and shorten", "a:1 b:9 c:1", "b:2 a:1 c:1", "shortened b (moved), kept a, kept c", "0 0 4 0 4"},
		{"unknown behind", "a:10 b:20", "a:10 c:?", "kept a, left b, entered c", "1 10 ? ? ?"},
		{"unknown before", "a:? b:20", "a:? c:5", "kept a, left b, entered c", "1 ? 5 5 0"},
		{"twice the same", "a:1 a:1", "a:1 a:1 a:1", "kept a, kept a, entered a", "2 2 1 0 1"},
		{"from nothing", "", "a:3", "entered a", "0 0 3 3 0"},
		{"to nothing", "a:3", "", "left a", "0 0 0 0 0"},
		{"all others", "a:3 b:1", "c:2", "left a, left b, entered c", "0 0 2 2 0"},
	} {
		d := windowview.Compare(windowOf("c1", strings.Fields(test.before)...), windowOf("c2", strings.Fields(test.after)...))
		if got := strings.Join(told(d), ", "); got != test.changes {
			t.Errorf("%s: %s, want %s", test.name, got, test.changes)
		}
		if got := figures(d); got != test.figures {
			t.Errorf("%s: %s, want %s", test.name, got, test.figures)
		}
	}
}

func TestCompareByDigest(t *testing.T) {
	t.Parallel()
	block := func(name, digest string, tokens int64) windowview.Block {
		return windowview.Block{Name: name, Digest: digest, Tokens: &tokens}
	}
	for _, test := range []struct {
		name          string
		before, after windowview.Block
		want          string
	}{
		{"another name, the same content", block("call-1:0", "d", 5), block("call-2:0", "d", 5), windowview.Kept},
		{"the same name, other content", block("system", "d", 5), block("system", "e", 5), windowview.Changed},
		{"no digest on one side", block("system", "", 5), block("system", "e", 5), windowview.Kept},
	} {
		d := windowview.Compare(windowview.Window{Blocks: []windowview.Block{test.before}}, windowview.Window{Blocks: []windowview.Block{test.after}})
		if len(d.Changes) != 1 || d.Changes[0].Kind != test.want {
			t.Errorf("%s: %+v", test.name, d.Changes)
		}
	}
}

// TestCompareIsWhole: the changes list every block of both windows exactly once, and unmoved
// blocks keep their order.
func TestCompareIsWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"a:1", "b:2", "c:3", "d:?", "e:5", "e:2!", "f:1", "g:9"})
		words := rapid.SliceOfN(word, 0, 12)
		before, after := windowOf("c1", words.Draw(t, "before")...), windowOf("c2", words.Draw(t, "after")...)
		d := windowview.Compare(before, after)
		var was, is []int64
		last := int64(-1)
		for _, c := range d.Changes {
			if c.Before != nil {
				was = append(was, c.Before.Position)
			}
			if c.After != nil {
				is = append(is, c.After.Position)
			}
			if c.Before != nil && c.After != nil && !c.Moved {
				if c.Before.Position <= last {
					t.Fatalf("%v: the block at %d did not move, but is after %d", told(d), c.Before.Position, last)
				}
				last = c.Before.Position
			}
		}
		for i, p := range is {
			if int64(i) != p {
				t.Fatalf("%v is not the order of the second window", is)
			}
		}
		if len(is) != len(after.Blocks) || len(was) != len(before.Blocks) {
			t.Fatalf("%d and %d blocks became %d and %d", len(before.Blocks), len(after.Blocks), len(was), len(is))
		}
		same := windowview.Compare(after, after)
		if same.FirstChanged != nil {
			t.Fatalf("a window differs from itself: %v", told(same))
		}
	})
}

// TestArithmeticOfTheSeed holds the figures against the shared vectors.
func TestArithmeticOfTheSeed(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("CTXLEDGER_SHARED")
	if shared == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("CTXLEDGER_SHARED is unset: the vectors are needed in CI")
		}
		t.Skip("CTXLEDGER_SHARED names no folder with shared vectors")
	}
	text, err := os.ReadFile(filepath.Join(shared, "vectors", "elision.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			ID            string   `json:"id"`
			Before, After [][2]any // tokens, name
			Expect        struct {
				Reused     int64 `json:"reused"`
				Recomputed int64 `json:"recomputed"`
			} `json:"expect"`
		} `json:"cases"`
	}
	if err := json.Unmarshal(text, &file, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 9 {
		t.Fatalf("only %d cases", len(file.Cases))
	}
	words := func(blocks [][2]any) (list []string) {
		for _, b := range blocks {
			list = append(list, fmt.Sprintf("%v:%v", b[1], b[0]))
		}
		return list
	}
	for _, c := range file.Cases {
		d := windowview.Compare(windowOf("c1", words(c.Before)...), windowOf("c2", words(c.After)...))
		if got, want := [2]int64{*d.Common, *d.Expected}, [2]int64{c.Expect.Reused, c.Expect.Recomputed}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: reused and recomputed are %v, want %v", c.ID, got, want)
		}
	}
}

func TestDrawDifference(t *testing.T) {
	t.Parallel()
	before, after := windowOf("c1", "system:20", "a:10", "b:500", "c:70", "d:5"), windowOf("c2", "system:20", "a:10", "b:12!", "d:5", "c:70", "e:1200")
	after.Previous, after.Billed, after.CacheRead = "c1", new(int64(1_300)), new(int64(30))
	golden(t, "diff_80.txt", draw(t, windowview.Compare(before, after), windowview.Style{Width: 80}))
	after.Previous = "c0"
	golden(t, "diff_far_60.txt", draw(t, windowview.Compare(before, after), windowview.Style{Width: 60}))
	golden(t, "diff_same_80.txt", draw(t, windowview.Compare(before, before), windowview.Style{Width: 80}))
	if text := draw(t, windowview.Compare(before, after), windowview.Style{Width: 80, Colour: true}); !strings.Contains(text, "\x1b[32m+") || !strings.Contains(text, "\x1b[33m<") {
		t.Errorf("no colours: %q", text)
	}
}

// TestCompareTellsContent: digests and sizes have precedence over the passes that named the
// item.
func TestCompareTellsContent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		before, after windowview.Block
		want          string
	}{
		{"the same digest", windowview.Block{Digest: "d"}, windowview.Block{Digest: "d", Elided: true, ElidedBy: "pass-1"}, windowview.Kept},
		{"another digest", windowview.Block{Digest: "d", Tokens: new(int64(5))}, windowview.Block{Digest: "e", Tokens: new(int64(5))}, windowview.Changed},
		{"a stub now", windowview.Block{}, windowview.Block{Elided: true, ElidedBy: "pass-1"}, windowview.Shortened},
		{"the whole again", windowview.Block{Elided: true, ElidedBy: "pass-1"}, windowview.Block{}, windowview.Grown},
		{"a stub named again", windowview.Block{Tokens: new(int64(5)), Elided: true, ElidedBy: "pass-1"}, windowview.Block{Tokens: new(int64(5)), Elided: true, ElidedBy: "pass-2"}, windowview.Kept},
		{"a stub of unknown size named again", windowview.Block{Elided: true, ElidedBy: "pass-1"}, windowview.Block{Elided: true, ElidedBy: "pass-2"}, windowview.Changed},
		{"masked", windowview.Block{}, windowview.Block{Redaction: "masked"}, windowview.Changed},
	} {
		c.before.Items, c.after.Items = []string{"item"}, []string{"item"}
		d := windowview.Compare(windowview.Window{Blocks: []windowview.Block{c.before}}, windowview.Window{Blocks: []windowview.Block{c.after}})
		if got := d.Changes[0].Kind; got != c.want || (d.FirstChanged == nil) != (c.want == windowview.Kept) {
			t.Errorf("%s: %s, first change at %v, want %s", c.name, got, d.FirstChanged, c.want)
		}
	}
}
