package redact_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer/redact"
	"pgregory.net/rapid"
)

func fingerprinter(t testing.TB, id string, fill byte) redact.Fingerprinter {
	t.Helper()
	f, err := redact.NewFingerprinter(id, bytes.Repeat([]byte{fill}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFingerprintGolden holds the format: it must not change under a key id.
func TestFingerprintGolden(t *testing.T) {
	t.Parallel()
	fp, ok := fingerprinter(t, "k1", 7).Of([]byte("sk-proj-0123456789"))
	if !ok || fp != goldenFingerprint {
		t.Errorf("got %#v", fp)
	}
}

func TestFingerprintScan(t *testing.T) {
	t.Parallel()
	f := fingerprinter(t, "k1", 7)
	rapid.Check(t, func(t *rapid.T) {
		bytesOf := rapid.SliceOfN(rapid.ByteMax(3), 8, 24) // few letters, so that prefixes repeat
		values := rapid.SliceOfN(bytesOf, 1, 4).Draw(t, "values")
		var fps []redact.Fingerprint
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
		text := rapid.SliceOfN(rapid.ByteMax(3), 0, 60).Draw(t, "text")
		text = append(text, values[0]...)
		text = append(text, rapid.SliceOfN(rapid.ByteMax(3), 0, 20).Draw(t, "tail")...)
		got := map[redact.Found]bool{}
		for _, found := range scanner.Scan(text) {
			got[found] = true
		}
		want := 0
		for i, v := range values {
			for start := 0; start+len(v) <= len(text); start++ {
				if bytes.Equal(text[start:start+len(v)], v) {
					want++
					if !got[redact.Found{Fingerprint: i, Start: start, End: start + len(v)}] {
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
	a, b := fingerprinter(t, "a", 1), fingerprinter(t, "b", 2)
	one, _ := a.Of([]byte("sk-proj-1111"))
	two, _ := a.Of([]byte("sk-proj-2222"))
	other, _ := b.Of([]byte("sk-proj-1111"))
	if one.PrefixHash == two.PrefixHash {
		t.Error("equal prefixes look equal")
	}
	if one.PrefixHash == other.PrefixHash || one.HMAC == other.HMAC {
		t.Error("two keys give one fingerprint")
	}
	if _, ok := a.Of([]byte("1234567")); ok {
		t.Error("a value of 7 bytes has a fingerprint")
	}
	same, err := a.Scanner([]redact.Fingerprint{one})
	if err != nil || same.Scan([]byte("x sk-proj-2222 sk-proj-111")) != nil || len(same.Scan([]byte("sk-proj-1111"))) != 1 {
		t.Errorf("an equal prefix is taken for the value: %v", err)
	}
	scanner, err := b.Scanner([]redact.Fingerprint{one})
	if err != nil || scanner.Scan([]byte("sk-proj-1111")) != nil {
		t.Errorf("another key's fingerprint is found: %v", err)
	}
	for _, bad := range []redact.Fingerprint{
		{KeyID: "a", Length: 12, PrefixHash: "00", HMAC: one.HMAC},
		{KeyID: "a", Length: 12, PrefixHash: one.PrefixHash, HMAC: "00"},
		{KeyID: "a", Length: -1, PrefixHash: one.PrefixHash, HMAC: one.HMAC},
	} {
		if _, err := a.Scanner([]redact.Fingerprint{bad}); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	for _, key := range [][]byte{nil, make([]byte, 31)} {
		if _, err := redact.NewFingerprinter("k", key); !errors.Is(err, redact.ErrKey) {
			t.Errorf("a key of %d bytes: %v", len(key), err)
		}
	}
	fps := a.Fingerprints(guard(t, "sk-proj-1111", "short"))
	if len(fps) != 1 || fps[0].Fingerprint != one || fps[0].PolicyRef != "pol:0" {
		t.Errorf("the guard's fingerprints: %+v", fps)
	}
}

func BenchmarkScan(b *testing.B) {
	f := fingerprinter(b, "k1", 7)
	fp, _ := f.Of([]byte("sk-proj-0123456789"))
	scanner, err := f.Scanner([]redact.Fingerprint{fp})
	if err != nil {
		b.Fatal(err)
	}
	text := []byte(strings.Repeat("The quick brown fox jumps over the lazy dog. ", 1456))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		scanner.Scan(text)
	}
}

// goldenFingerprint was computed by another implementation of the formula in
// the documentation of Fingerprinter (Python, hmac and integers).
var goldenFingerprint = redact.Fingerprint{
	KeyID:      "k1",
	Length:     18,
	PrefixHash: "e2c3a115297ce0b2",
	HMAC:       "11c4f0397cb38d418c5141f5ff5dfd68a3e1713130cd630684fa835a45d37586",
}
