package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/schema/internal/schematest"
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
		got, err := CanonicalBlock([]byte(v.Block))
		if string(got) != v.Canonical {
			t.Errorf("%s: %s, %v", v.Name, got, err)
		}
		if v.Canonical == "" {
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: the error is %v", v.Name, err)
			}
			continue
		}
		if sum, err := BlockSum([]byte(v.Block)); err != nil || hex.EncodeToString(sum[:]) != v.SHA256 {
			t.Errorf("%s: %x, %v", v.Name, sum, err)
		}
	}
}

// TestBlockForms: the order of members, space and cache marks change no digest, and content does.
func TestBlockForms(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		block := drawBlock(t, 3)
		one, err := CanonicalBlock(block.write(t, false))
		if err != nil {
			t.Fatal(err)
		}
		other, err := CanonicalBlock(block.write(t, true))
		if err != nil || !bytes.Equal(one, other) {
			t.Fatalf("%s\n%s\n%v", one, other, err)
		}
		again, err := CanonicalBlock(one)
		if err != nil || !bytes.Equal(again, one) {
			t.Fatalf("again: %s\n%s\n%v", one, again, err)
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

func FuzzCanonicalBlock(f *testing.F) {
	for _, seed := range []string{`"x"`, `{"content":"x"}`, `{"cache_control":{},"content":[{"cache_control":1}]}`, `{"a":1,"a":2}`, "\xff", `"\ud800"`, `[1e400]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, block []byte) {
		text, err := CanonicalBlock(block)
		if err != nil {
			return
		}
		if again, err := CanonicalBlock(text); err != nil || !bytes.Equal(again, text) {
			t.Errorf("%q: %q, %v", text, again, err)
		}
	})
}

// TestEqualityKey: a rotation keeps the key, another tenant has another, and it is no commitment key.
func TestEqualityKey(t *testing.T) {
	t.Parallel()
	ring, err := KeyRing{Tenant: "acme"}.Rotate(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	rotated, err := ring.Rotate(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	other, err := KeyRing{Tenant: "acme"}.Rotate(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte("x"))
	digest := ring.Equality().EqualityDigest(sum)
	if digest == "" || rotated.Equality().EqualityDigest(sum) != digest {
		t.Errorf("a rotation changed %s to %s", digest, rotated.Equality().EqualityDigest(sum))
	}
	if other.Equality().ID == ring.Equality().ID || ring.Equality().ID == ring.Current().ID || ring.Current().Digest(sum[:]) == digest {
		t.Error("the key is another tenant's, or the commitment key")
	}
	back, err := ParseKeyRing(rotated.Format())
	if err != nil || back.Equality().EqualityDigest(sum) != digest {
		t.Errorf("the ring came back with another key: %v", err)
	}
	if (KeyRing{}).Equality().EqualityDigest(sum) != "" {
		t.Error("a ring without keys has an equality key")
	}
}

// TestKnown holds the rules for fidelity, coverage and bases of assemblies.
func TestKnown(t *testing.T) {
	t.Parallel()
	block := `"ordered_blocks":[{"block":"b"}]`
	assembly := func(members string) *Event {
		return &Event{ID: "i", Source: "urn:x", Type: TypeAssemblyCreated.CloudEventsType(), Time: schematest.EventTime,
			Data: []byte(`{"event_type":"context.assembly.created","assembly_id":"a","target":"model",` + block + members + `}`)}
	}
	for members, want := range map[string]string{
		``:                       "",
		`,"fidelity":"wire"`:     "",
		`,"fidelity":"guessed"`:  "range at /data/fidelity",
		`,"fidelity":7`:          "type at /data/fidelity",
		`,"coverage":"complete"`: "",
		`,"coverage":"mostly"`:   "range at /data/coverage",
		`,"coverage":"partial"`:  "required at /data/coverage_reasons",
		`,"coverage":"partial","coverage_reasons":[]`:                 "required at /data/coverage_reasons",
		`,"coverage":"partial","coverage_reasons":[""]`:               "required at /data/coverage_reasons",
		`,"coverage":"partial","coverage_reasons":["no one saw it"]`:  "",
		`,"coverage":"complete","coverage_reasons":["slice_missing"]`: "range at /data/coverage_reasons",
		`,"coverage_reasons":["slice_missing"]`:                       "range at /data/coverage_reasons",
		`,"base_assembly_id":"b","keep":0`:                            "",
		`,"base_assembly_id":"b","keep":140`:                          "",
		`,"base_assembly_id":"b"`:                                     "required at /data/keep",
		`,"keep":3`:                                                   "required at /data/base_assembly_id",
		`,"base_assembly_id":"b","keep":-1`:                           "range at /data/keep",
		`,"base_assembly_id":"b","keep":1.5`:                          "type at /data/keep",
		`,"base_assembly_id":"a","keep":1`:                            "own_source at /data/base_assembly_id",
		`,"base_assembly_id":" ","keep":1`:                            "required at /data/base_assembly_id",
	} {
		_, found := Validate(assembly(members))
		got := ""
		if len(found) == 1 {
			got, _, _ = strings.Cut(found[0].Error(), ":")
		}
		if got != want || len(found) > 1 {
			t.Errorf("%s: %v, want %q", members, found, want)
		}
	}
	if _, found := ValidateRecorded(assembly(`,"keep":3,"fidelity":"guessed"`)); len(found) > 0 {
		t.Errorf("a record from before the rules: %v", found)
	}
	for i, f := range fidelities {
		if f.Rank() != i || Fidelity("").Rank() <= i {
			t.Errorf("%s has rank %d", f, f.Rank())
		}
	}
}
