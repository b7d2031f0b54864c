package canonical

import (
	"bytes"
	"encoding/hex"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// TestBlockVectors holds the canonical bytes and the digest of blocks. The vectors are for all
// producers, in any language.
func TestBlockVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/blocks.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name      string `json:"name"`
		Block     string `json:"block"`
		Canonical string `json:"canonical"`
		SHA256    string `json:"sha256"`
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 15 {
		t.Fatalf("%d vectors", len(vectors))
	}
	for _, v := range vectors {
		got, err := Block([]byte(v.Block))
		if string(got) != v.Canonical {
			t.Errorf("%s: %s, %v", v.Name, got, err)
		}
		if v.Canonical == "" {
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: the error is %v", v.Name, err)
			}
			continue
		}
		if sum, err := Sum([]byte(v.Block)); err != nil || hex.EncodeToString(sum[:]) != v.SHA256 {
			t.Errorf("%s: %x, %v", v.Name, sum, err)
		}
	}
}

// TestBlockForms: the order of members, space and cache marks change no digest, and content does.
func TestBlockForms(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		drawn := drawBlock(t, 3)
		one, err := Block(drawn.write(t, false))
		if err != nil {
			t.Fatal(err)
		}
		other, err := Block(drawn.write(t, true))
		if err != nil || !bytes.Equal(one, other) {
			t.Fatalf("%s\n%s\n%v", one, other, err)
		}
		again, err := Block(one)
		if err != nil || !bytes.Equal(again, one) {
			t.Fatalf("again: %s\n%s\n%v", one, again, err)
		}
		changed, err := Block(drawn.changed().write(t, true))
		if err != nil || bytes.Equal(one, changed) {
			t.Fatalf("with other content: %s\n%v", one, err)
		}
	})
}

// A drawn is an object with members in one order, or a text.
type drawn struct {
	text  string
	names []string
	in    map[string]drawn
}

func drawBlock(t *rapid.T, depth int) drawn {
	d := drawn{text: rapid.String().Draw(t, "text")}
	if depth == 0 || rapid.Bool().Draw(t, "a text") {
		return d
	}
	d.names = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"content", "role", "é", "\U0001F600", "\uFFEE", "a", "input"}), 0, 5, rapid.ID).Draw(t, "names")
	d.in = make(map[string]drawn)
	for _, name := range d.names {
		d.in[name] = drawBlock(t, depth-1)
	}
	return d
}

// changed returns the block with other content.
func (d drawn) changed() drawn {
	if d.in == nil {
		return drawn{text: d.text + "x"}
	}
	in := maps.Clone(d.in)
	in["changed"] = drawn{text: "x"}
	return drawn{names: append(slices.Clone(d.names), "changed"), in: in}
}

// write encodes the block, shuffled and with cache marks if marked is set.
func (d drawn) write(t *rapid.T, marked bool) []byte {
	if d.in == nil {
		text, _ := jsontext.AppendQuote(nil, d.text)
		return text
	}
	names := d.names
	if marked {
		names = append(rapid.Permutation(names).Draw(t, "order"), "cache_control")
	}
	out := []byte("{")
	for i, name := range names {
		if i > 0 {
			out = append(out, ", "...)
		}
		quoted, _ := jsontext.AppendQuote(nil, name)
		out = append(append(out, quoted...), ':')
		if name == "cache_control" {
			out = append(out, `{"type":"ephemeral"}`...)
			continue
		}
		out = append(out, d.in[name].write(t, marked)...)
	}
	return append(out, '}')
}

func FuzzBlock(f *testing.F) {
	for _, seed := range []string{`"x"`, `{"content":"x"}`, `{"cache_control":{},"content":[{"cache_control":1}]}`, `{"a":1,"a":2}`, "\xff", `"\ud800"`, `[1e400]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, block []byte) {
		text, err := Block(block)
		if err != nil {
			return
		}
		if again, err := Block(text); err != nil || !bytes.Equal(again, text) {
			t.Errorf("%q: %q, %v", text, again, err)
		}
	})
}
