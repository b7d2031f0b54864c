package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func testGuard(t interface{ Fatal(...any) }, secrets []string) *Guard {
	var values []Value
	for _, s := range secrets {
		values = append(values, Withhold(s, "p", "r"))
	}
	g, err := New(values...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// sameAsSearch compares the sieve with the full search, on a document and a text.
func sameAsSearch(t interface{ Fatalf(string, ...any) }, g *Guard, doc []byte, text string) {
	fast, fastHits, err := g.MaskJSON(doc)
	slow, slowHits, _ := g.held().maskJSON(doc)
	if err != nil || !bytes.Equal(fast, slow) || !reflect.DeepEqual(fastHits, slowHits) {
		t.Fatalf("%q\nwith the sieve %q %v, %v\nwithout        %q %v", doc, fast, fastHits, err, slow, slowHits)
	}
	if got, want := g.Check(text), g.held().find(text, false); !reflect.DeepEqual(got, want) {
		t.Fatalf("%q\nwith the sieve %v\nwithout        %v", text, got, want)
	}
}

// TestSieveMissesNothing draws secrets and texts from few letters, so matches are frequent.
// The answers must be the answers of the full search of every string in every reading.
func TestSieveMissesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(rapid.OneOf(
			rapid.StringMatching(`[abAB1 -]{2,12}`),
			rapid.StringMatching(`[a-zA-Z0-9+/=]{8,30}`),
			rapid.StringMatching(`[aé漢ſK"\\%&]{1,6}`),
			rapid.StringMatching(`[0-9]{6,10}`),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 12), func(b []byte) string { return string(b) }),
		), 1, 4).Draw(t, "secrets")
		g := testGuard(t, secrets)
		piece := rapid.OneOf(
			rapid.StringMatching(`[abAB1 -]{0,9}`),
			rapid.StringMatching(`(%[0-9a-f]{2}|&#[0-9]{2};|\\u00[4-6][0-9a-f]|\\n|[aé漢ſK\x{200b}]){0,4}`),
			rapid.Map(rapid.SampledFrom(secrets), func(s string) string { return s }),
			rapid.Map(rapid.SampledFrom(secrets), func(s string) string { return s[:len(s)/2] }),
			rapid.Map(rapid.SampledFrom(secrets), func(s string) string { return s[len(s)/2:] }),
			rapid.Map(rapid.SampledFrom(secrets), strings.ToUpper),
			rapid.Map(rapid.SampledFrom(secrets), url.QueryEscape),
			rapid.Map(rapid.SampledFrom(secrets), func(s string) string { return hex.EncodeToString([]byte(s)) }),
			rapid.Map(rapid.SampledFrom(secrets), func(s string) string { return base64.StdEncoding.EncodeToString([]byte("x" + s)) }),
		)
		text := strings.Join(rapid.SliceOfN(piece, 0, 4).Draw(t, "text"), "")
		list := rapid.SliceOfN(piece, 0, 3).Draw(t, "list")
		number := rapid.Int64Range(0, 1e10).Draw(t, "number")
		doc, err := json.Marshal(map[string]any{"a": text, text: list, "n": []any{number, secrets, nil, true}, "z": list})
		if err != nil {
			t.Fatal(err)
		}
		sameAsSearch(t, g, doc, text)
		doc, err = json.MarshalIndent(map[string]any{"a": list, "b": text}, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		sameAsSearch(t, g, doc, text)
	})
}

func FuzzSieve(f *testing.F) {
	f.Add("topsecret", `{"a":["top","secret"],"topsecret":1}`)
	f.Add("47110815", `[-47110815, 4711]`)
	f.Add("a\xffb", `["\u00e9%2B+","a\u200bb"]`)
	f.Add("correct horse", `{ "q" : "correct+horse" , "b":"&#99;orrect%20horse"}`)
	f.Fuzz(func(t *testing.T, secret, doc string) {
		g, err := New(Withhold(secret, "p", "r"), Withhold("topsecret", "p", "r"))
		if err != nil || !json.Valid([]byte(doc)) {
			return
		}
		sameAsSearch(t, g, []byte(doc), doc)
	})
}

// TestSieveTellsMost checks that the sieve is sure in most cases, because otherwise each
// answer is correct but slow. TestSieveTellsMost counts allocations and so does not run in
// parallel.
func TestSieveTellsMost(t *testing.T) {
	g := testGuard(t, realisticValues(1000))
	for _, size := range []int{1 << 10, 70 << 10} {
		if doc := benchDocument(size); !g.held().surelyCleanJSON(doc) {
			t.Errorf("a document of %d bytes without hits is searched", size)
		}
	}
	doc := benchDocument(70 << 10)
	if n := testing.AllocsPerRun(10, func() { _, _, _ = g.MaskEncoded(doc) }); n > 10 { // the race detector makes the pool forget
		t.Errorf("%v allocations for a document of 3,000 strings without hits", n)
	}
}

// realisticValues returns values in the form of keys, passwords, phone numbers, tokens,
// names and PINs of 8 digits.
func realisticValues(n int) []string {
	list := make([]string, n)
	for i := range list {
		x := uint64(i+1) * 0x9E3779B97F4A7C15
		switch i % 6 {
		case 0:
			list[i] = fmt.Sprintf("sk-proj-%016x%08x", x, uint32(x*31))
		case 1:
			list[i] = fmt.Sprintf("postgres://app:%012x@db-%d.internal:5432/app", x>>16, i)
		case 2:
			list[i] = fmt.Sprintf("+49 151 %08d", x%100_000_000)
		case 3:
			list[i] = base64.RawURLEncoding.EncodeToString([]byte(fmt.Sprintf("%020d", x)))
		case 4:
			list[i] = fmt.Sprintf("Maximilian von Beispiel-%05d", x%100_000)
		case 5:
			list[i] = fmt.Sprintf("%08d", x%100_000_000)
		}
	}
	return list
}

// benchDocument returns a selection of about size bytes, as in a turn.
func benchDocument(size int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"schema_version":"0.1.0","event_type":"context.selection.completed","selection_id":"selection:call1","note":"The Quick brown fox\n","candidates":[`)
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `{"item_ref":"item-%03d","tokens":%d,"layer":"tool results","reason":"budget_limit"},`, i, 100+i)
	}
	b.WriteString(`null]}`)
	return b.Bytes()
}

// BenchmarkMaskDocument masks documents without hits, the most frequent case: with the
// sieve, and only with the full search.
func BenchmarkMaskDocument(b *testing.B) {
	for _, size := range []int{1 << 10, 70 << 10} {
		for _, n := range []int{10, 1000} {
			g, doc := testGuard(b, realisticValues(n)), benchDocument(size)
			for name, mask := range map[string]func([]byte) ([]byte, []Hit, error){
				"encoded": g.MaskEncoded, "any": g.MaskJSON, "search": g.held().maskJSON,
			} {
				b.Run(fmt.Sprintf("%dKB/values=%d/%s", size>>10, n, name), func(b *testing.B) {
					b.SetBytes(int64(len(doc)))
					b.ReportAllocs()
					for b.Loop() {
						if _, hits, err := mask(doc); hits != nil || err != nil {
							b.Fatal(hits, err)
						}
					}
				})
			}
		}
	}
}

// BenchmarkWith makes a guard with one more value.
func BenchmarkWith(b *testing.B) {
	g := testGuard(b, realisticValues(1000))
	for b.Loop() {
		if _, err := g.With(Withhold("one more value", "p", "r")); err != nil {
			b.Fatal(err)
		}
	}
}
