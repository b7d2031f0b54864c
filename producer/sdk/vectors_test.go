package sdk

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

// TestVectors compares ids, digests, fingerprints and masked texts with Go's.
func TestVectors(t *testing.T) {
	t.Parallel()
	input, want := vectors(t)
	each(t, func(t *testing.T, l language) {
		got := decode[vectorSet](t, l.run(t, string(input), "vectors"))
		for i, text := range maskable() {
			if i < len(got.Masked) && got.Masked[i] != want.Masked[i] {
				t.Fatalf("the mask of %q is %q, not %q", text, got.Masked[i], want.Masked[i])
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("the vectors are\n%+v\nwant\n%+v", got, want)
		}
	})
}

func must(t testing.TB) func(*redact.Guard, error) *redact.Guard {
	return func(g *redact.Guard, err error) *redact.Guard {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
}

type vectorSet struct {
	Buckets, IDs, Digests, Masked []string
	Fingerprints                  []*schema.Fingerprint
	Disguises                     [][]schema.Fingerprint
}

// withheld are values of the vectors of the guard.
var withheld = []string{"x", "xyz", "zz y", "yxyx", "redacte", "Größe🧭", "xyzxyzxyz", "pol", "[red"}

// maskable returns texts with withheld values in exact form.
func maskable() []string {
	texts := []string{"", "a Größe🧭Größe🧭 b", "[redacted:p0]", "[redacted:p4] [redacted:other] redacted", "[redxyzacted:p1]", "pol [red x"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		var b strings.Builder
		for range random.IntN(14) {
			b.WriteString([]string{"x", "y", "z", " ", "redacted", "🧭"}[random.IntN(6)])
		}
		texts = append(texts, b.String())
	}
	return texts
}

// vectors returns the input of the shared vectors, and Go's results.
func vectors(t *testing.T) (input []byte, want vectorSet) {
	t.Helper()
	sessions := []string{"", "s-1", "Größe", "🧭 session", strings.Repeat("x", 3000)}
	identities := [][2]string{{"urn:ctxledger:runtime:bench-1:host-a", "0195565d-0001"}, {"ab", "c"}, {"a", "bc"}, {"", strings.Repeat("ü", 200)}}
	given := []string{"", "short", "sk-proj-0123456789", "Größe über alles", strings.Repeat("\u00ff", 8), "🧭🧭🧭", "A&b<c>\"d'e f+g/h%", "İstanbul\u200bß\r\nΣ", "schema_version-like"}
	input, err := json.Marshal(map[string]any{"key": keyText, "sessions": sessions, "events": identities, "values": given, "withheld": withheld, "texts": maskable()})
	if err != nil {
		t.Fatal(err)
	}
	ring, err := schema.ParseKeyRing([]byte(keyText))
	if err != nil {
		t.Fatal(err)
	}
	hasher, err := fingerprint.New(ring.Current())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sessions {
		want.Buckets = append(want.Buckets, schema.Bucket(s))
	}
	for _, id := range identities {
		want.IDs = append(want.IDs, (&schema.Event{Source: id[0], ID: id[1]}).MessageID())
	}
	for _, v := range given {
		want.Digests = append(want.Digests, ring.Current().Digest([]byte(v)))
		var print *schema.Fingerprint
		if f, ok := hasher.Of([]byte(v)); ok {
			print = &f
		}
		want.Fingerprints = append(want.Fingerprints, print)
		guard := must(t)(redact.New(redact.Withhold("a first value", "pol:first", "secret")))
		if v != "" {
			guard = must(t)(guard.With(redact.Withhold(v, "pol:x", "secret")))
		}
		forms := []schema.Fingerprint{}
		for _, hit := range guard.Fingerprinted(hasher).Check(v) {
			forms = append(forms, hit.Fingerprints...)
		}
		want.Disguises = append(want.Disguises, forms)
	}
	var values []redact.Value
	for i, v := range withheld {
		values = append(values, redact.Withhold(v, fmt.Sprint("p", i), "secret"))
	}
	guard := must(t)(redact.New(values...))
	for _, text := range maskable() {
		masked, _ := guard.Mask(text)
		want.Masked = append(want.Masked, masked)
	}
	return input, want
}
