package fingerprint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/schema"
	"pgregory.net/rapid"
)

func fingerprintKey(t testing.TB, fill byte) schema.Key {
	t.Helper()
	key, err := schema.NewKey(bytes.NewReader(bytes.Repeat([]byte{fill}, 32)), time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func fingerprinter(t testing.TB, fill byte) Hasher {
	t.Helper()
	f, err := New(fingerprintKey(t, fill))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// goldenFingerprint comes from another implementation of the formula in the documentation of
// Hasher (Python, hmac and integers).
var goldenFingerprint = schema.Fingerprint{
	KeyID:      "kdaff315086",
	Length:     18,
	PrefixHash: "8615c015ccb10a7d",
	HMAC:       "8e30162676e513fb2596b883e6fee63ab44ee1754c25606710ec013025e510a0",
}

// TestFingerprintGolden checks the format, which must not change under a key id.
func TestFingerprintGolden(t *testing.T) {
	t.Parallel()
	fp, ok := fingerprinter(t, 7).Of([]byte("sk-proj-0123456789"))
	if !ok || fp != goldenFingerprint {
		t.Errorf("got %#v", fp)
	}
}

// TestFingerprintScanIsNaiveSearch compares the one-pass scan with a search for every value at
// every place.
func TestFingerprintScanIsNaiveSearch(t *testing.T) {
	t.Parallel()
	f := fingerprinter(t, 7)
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.SampledFrom([]byte{0, 1, 'a', 0xff}) // few letters, so that prefixes repeat
		values := rapid.SliceOfN(rapid.SliceOfN(few, 8, 24), 1, 4).Draw(t, "values")
		var fps []schema.Fingerprint
		for _, v := range values {
			fp, ok := f.Of(v)
			if !ok {
				t.Fatal("no fingerprint")
			}
			fps = append(fps, fp)
		}
		scanner, err := f.Scanner(fps)
		if err != nil {
			t.Fatal(err)
		}
		text := rapid.SliceOfN(few, 0, 60).Draw(t, "text")
		text = append(text, values[0]...)
		text = append(text, rapid.SliceOfN(few, 0, 20).Draw(t, "tail")...)
		got := map[Match]bool{}
		for _, m := range scanner.Scan(text) {
			got[m] = true
		}
		want := 0
		for i, v := range values {
			for start := 0; start+len(v) <= len(text); start++ {
				if bytes.Equal(text[start:start+len(v)], v) {
					want++
					if !got[Match{Fingerprint: i, Start: start, End: start + len(v)}] {
						t.Fatalf("value %d at %d is not found", i, start)
					}
				}
			}
		}
		if len(got) != want {
			t.Fatalf("%d found, want %d", len(got), want)
		}
	})
}

func TestFingerprintKeys(t *testing.T) {
	t.Parallel()
	a, b := fingerprinter(t, 1), fingerprinter(t, 2)
	one, _ := a.Of([]byte("sk-proj-1111"))
	two, _ := a.Of([]byte("sk-proj-2222"))
	other, _ := b.Of([]byte("sk-proj-1111"))
	if one.PrefixHash == two.PrefixHash {
		t.Error("equal prefixes look equal")
	}
	if one.PrefixHash == other.PrefixHash || one.HMAC == other.HMAC || one.KeyID == other.KeyID {
		t.Error("two keys give one fingerprint")
	}
	if _, ok := a.Of([]byte("1234567")); ok {
		t.Error("a value of 7 bytes has a fingerprint")
	}
	same, err := a.Scanner([]schema.Fingerprint{one})
	if err != nil || same.Scan([]byte("x sk-proj-2222 sk-proj-111")) != nil || len(same.Scan([]byte("sk-proj-1111"))) != 1 {
		t.Errorf("an equal prefix is taken for the value: %v", err)
	}
	scanner, err := b.Scanner([]schema.Fingerprint{one})
	if err != nil || scanner.Scan([]byte("sk-proj-1111")) != nil {
		t.Errorf("another key's fingerprint is found: %v", err)
	}
	for _, bad := range []schema.Fingerprint{
		{KeyID: one.KeyID, Length: 12, PrefixHash: "00", HMAC: one.HMAC},
		{KeyID: one.KeyID, Length: 12, PrefixHash: one.PrefixHash, HMAC: "00"},
		{KeyID: one.KeyID, Length: -1, PrefixHash: one.PrefixHash, HMAC: one.HMAC},
	} {
		if _, err := a.Scanner([]schema.Fingerprint{bad}); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	if _, err := New(schema.Key{}); !errors.Is(err, ErrKey) {
		t.Errorf("the zero key: %v", err)
	}
}

func TestFingerprinterShowsNoSecret(t *testing.T) {
	t.Parallel()
	f := fingerprinter(t, 'Q')
	var out strings.Builder
	for _, v := range []any{f, &f, struct{ hidden Hasher }{f}, map[string]any{"f": f}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		asJSON, _ := json.Marshal(v)
		out.Write(asJSON)
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v)
	}
	derived := fingerprintKey(t, 'Q').Derive("fingerprint")
	for _, secret := range []string{"QQQQ", "51515151", "81 81 81", fmt.Sprintf("%x", derived[:4]), fmt.Sprint(derived[:4])} {
		if strings.Contains(out.String(), strings.Trim(secret, "[]")) {
			t.Errorf("%q is shown in\n%s", secret, out.String())
		}
	}
}

func BenchmarkFingerprintScan(b *testing.B) {
	f := fingerprinter(b, 7)
	for _, n := range []int{1, 1000} {
		var fps []schema.Fingerprint
		for i := range n {
			fp, _ := f.Of(fmt.Appendf(nil, "sk-proj-%010d", i))
			fps = append(fps, fp)
			fp, _ = f.Of(fmt.Appendf(nil, "%010d-sk-proj", i))
			fps = append(fps, fp)
		}
		scanner, err := f.Scanner(fps)
		if err != nil {
			b.Fatal(err)
		}
		text := []byte(strings.Repeat("The quick brown fox jumps over the lazy dog. ", 1456))
		b.Run(fmt.Sprintf("fingerprints=%d", 2*n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				scanner.Scan(text)
			}
		})
	}
}

// TestInWordsIsAScanOfTheWords draws values that stand in the words of the contract, begin like one, or
// have nothing of them.
func TestInWordsIsAScanOfTheWords(t *testing.T) {
	t.Parallel()
	f := fingerprinter(t, 7)
	words := schema.Words()
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.IntRange(0, len(words)-Prefix).Draw(t, "start")
		value := bytes.Clone(words[start : start+rapid.IntRange(Prefix, min(40, len(words)-start)).Draw(t, "length")])
		if place := rapid.IntRange(-1, len(value)-1).Draw(t, "changed"); place >= 0 {
			value[place]++
		}
		fp, _ := f.Of(value)
		s, err := f.Scanner([]schema.Fingerprint{fp})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := s.InWords(), bytes.Contains(words, value); got != want {
			t.Fatalf("%q: %v, want %v", value, got, want)
		}
	})
}
