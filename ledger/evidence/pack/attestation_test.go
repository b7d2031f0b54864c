package pack

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// newKey makes an Ed25519 key, like the keys of logs.
func newKey(t testing.TB, name string) (note.Signer, note.Verifier) {
	t.Helper()
	private, public, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	return signer, verifier
}

func TestAttestation(t *testing.T) {
	t.Parallel()
	signer, verifier := newKey(t, "ledger")
	_, other := newKey(t, "ledger")
	h := Header{ID: "p", Created: time.Unix(1, 0).UTC(), Scope: Scope{Kind: ScopeSession, Session: "s"}, Logs: []string{"o"}}
	manifest := []byte(`{"files":[]}`)
	text, err := Attest(h, manifest, signer)
	if err != nil {
		t.Fatal(err)
	}
	a, err := ParseAttestation(text, []note.Verifier{other, verifier, verifier})
	if err != nil {
		t.Fatal(err)
	}
	if a.Digest() != sha256.Sum256(manifest) || a.Statement.Predicate.Header.ID != "p" || len(a.KeyIDs) != 1 || a.KeyIDs[0] != KeyID("ledger", verifier.KeyHash()) {
		t.Errorf("%+v", a)
	}
	for name, keys := range map[string][]note.Verifier{"another key": {other}, "no key": nil} {
		if _, err := ParseAttestation(text, keys); !errors.Is(err, ErrUnsigned) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The signature does not cover the key id, but a flipped key id must not pass.
	for at := range text {
		changed := []byte(string(text))
		changed[at] ^= 1
		if b, err := ParseAttestation(changed, []note.Verifier{verifier}); err == nil && at < len(text)-1 {
			t.Errorf("byte %d (%q) is not covered: %+v", at, text[at], b.KeyIDs)
		}
	}
}

func TestAttestationOfSomethingElse(t *testing.T) {
	t.Parallel()
	signer, verifier := newKey(t, "ledger")
	for _, text := range []string{"", "{}", "[]", `{"payload":"e30=","payloadType":"x","signatures":[]}`, strings.Repeat("[", 20000)} {
		if _, err := ParseAttestation([]byte(text), []note.Verifier{verifier}); err == nil {
			t.Errorf("%.40q is an attestation", text)
		}
	}
	if _, err := (&dsseVerifier{verifier}).KeyID(); err != nil {
		t.Error(err)
	}
	if (&Statement{Type: statementType, PredicateType: PredicateType, Subject: []Subject{{Name: "x"}}}).check() == nil {
		t.Error("another subject is taken")
	}
	_ = signer
}

func FuzzParseAttestation(f *testing.F) {
	signer, verifier := newKey(f, "ledger")
	text, err := Attest(Header{Logs: []string{}}, nil, signer)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"payload":"","payloadType":"","signatures":[{"keyid":"","sig":""}]}`))
	f.Fuzz(func(t *testing.T, changed []byte) {
		a, err := ParseAttestation(changed, []note.Verifier{verifier})
		if err == nil && a.Digest() != sha256.Sum256(nil) {
			t.Fatal("a statement that was never signed")
		}
	})
}
