package pack

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"golang.org/x/mod/sumdb/note"
)

// What an attestation is made of, by the in-toto Statement v1 and DSSE.
const (
	statementType = "https://in-toto.io/Statement/v1"
	payloadType   = "application/vnd.in-toto+json"
	// PredicateType names what an attestation says of its subject.
	PredicateType = "https://ctxledger.dev/evidence-pack/v1"
)

// Errors of an attestation. [ErrUnsigned] is what other keys and changed bytes
// come to; [ErrStatement] says that what is signed is no statement of ours.
var (
	ErrUnsigned  = errors.New("not signed by a given key")
	ErrStatement = errors.New("no statement over a manifest")
)

// Statement is the in-toto Statement over a pack's manifest.
type Statement struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"` // the manifest alone
	PredicateType string    `json:"predicateType"`
	Predicate     Predicate `json:"predicate"`
}

// Subject is a file by its digests.
type Subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"` // sha256 in hexadecimal digits
}

// Predicate is what a [Statement] says of the manifest.
type Predicate struct {
	Header Header `json:"header"`
}

// KeyID names a key of signed notes as envelopes do: its name and hash.
func KeyID(name string, hash uint32) string { return fmt.Sprintf("%s+%08x", name, hash) }

// Attest returns the attestation of a manifest: a DSSE envelope around the
// in-toto statement. The signer is one of Ed25519, as logs have.
func Attest(h Header, manifest []byte, signer note.Signer) ([]byte, error) {
	sum := sha256.Sum256(manifest)
	payload, err := json.Marshal(Statement{
		Type:          statementType,
		Subject:       []Subject{{ManifestFile, map[string]string{"sha256": hex.EncodeToString(sum[:])}}},
		PredicateType: PredicateType,
		Predicate:     Predicate{h},
	}, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode the statement: %w", err)
	}
	envelopes, err := dsse.NewEnvelopeSigner(dsseSigner{signer})
	if err != nil {
		return nil, fmt.Errorf("sign the statement: %w", err)
	}
	envelope, err := envelopes.SignPayload(context.Background(), payloadType, payload)
	if err != nil {
		return nil, fmt.Errorf("sign the statement: %w", err)
	}
	return encodeEnvelope(envelope)
}

// encodeEnvelope is the one form of an envelope: other bytes for the same would
// be a change that nothing covers.
func encodeEnvelope(envelope *dsse.Envelope) ([]byte, error) {
	for _, text := range append([]string{envelope.Payload}, signatures(envelope)...) {
		if _, err := base64.StdEncoding.Strict().DecodeString(text); err != nil {
			return nil, fmt.Errorf("encode the envelope: %w", err)
		}
	}
	text, err := json.Marshal(envelope)
	if err != nil {
		return nil, fmt.Errorf("encode the envelope: %w", err)
	}
	return append(text, '\n'), nil
}

func signatures(envelope *dsse.Envelope) (list []string) {
	for _, s := range envelope.Signatures {
		list = append(list, s.Sig)
	}
	return list
}

// An Attestation is a signed statement and who signed it.
type Attestation struct {
	Statement Statement
	KeyIDs    []string // the given keys that signed it
}

// Digest is the SHA-256 of the manifest that the statement is about.
func (a *Attestation) Digest() (sum [sha256.Size]byte) {
	_, _ = hex.Decode(sum[:], []byte(a.Statement.Subject[0].Digest["sha256"])) // checked on reading
	return sum
}

// ParseAttestation reads an attestation that one of the keys signed. The error
// wraps [ErrUnsigned] when none did, naming the keys that are said to have, and
// [ErrStatement] when what is signed is something else.
func ParseAttestation(text []byte, keys []note.Verifier) (*Attestation, error) {
	var envelope dsse.Envelope
	if err := json.Unmarshal(text, &envelope, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("read the envelope: %w", err)
	}
	again, err := encodeEnvelope(&envelope)
	if err != nil || !bytes.Equal(again, text) {
		return nil, fmt.Errorf("%w: the envelope is %w", ErrUnsigned, ErrNotCanonical)
	}
	ids := make([]string, len(envelope.Signatures))
	for i, s := range envelope.Signatures {
		ids[i] = clip(s.KeyID)
	}
	accepted, payload, err := verifyEnvelope(&envelope, keys)
	if err != nil {
		return nil, fmt.Errorf("%w, or changed since: it names %q", ErrUnsigned, ids)
	}
	a := &Attestation{}
	for _, key := range accepted {
		a.KeyIDs = append(a.KeyIDs, key.KeyID)
	}
	if envelope.PayloadType != payloadType {
		return nil, fmt.Errorf("%w: payload type %q", ErrStatement, clip(envelope.PayloadType))
	}
	if err := json.Unmarshal(payload, &a.Statement); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStatement, err)
	}
	return a, a.Statement.check()
}

func verifyEnvelope(envelope *dsse.Envelope, keys []note.Verifier) ([]dsse.AcceptedKey, []byte, error) {
	seen := make(map[string]bool)
	var verifiers []dsse.Verifier
	for _, key := range keys {
		if id := KeyID(key.Name(), key.KeyHash()); !seen[id] {
			seen[id] = true
			verifiers = append(verifiers, dsseVerifier{key})
		}
	}
	verifier, err := dsse.NewEnvelopeVerifier(verifiers...)
	if err != nil {
		return nil, nil, errors.New("no keys")
	}
	return verifier.VerifyAndDecode(context.Background(), envelope)
}

func (s *Statement) check() error {
	if s.Type != statementType || s.PredicateType != PredicateType {
		return fmt.Errorf("%w: of type %q over %q", ErrStatement, clip(s.Type), clip(s.PredicateType))
	}
	if len(s.Subject) != 1 || s.Subject[0].Name != ManifestFile {
		return fmt.Errorf("%w: want the one subject %s", ErrStatement, ManifestFile)
	}
	if sum, err := hex.DecodeString(s.Subject[0].Digest["sha256"]); err != nil || len(sum) != sha256.Size {
		return fmt.Errorf("%w: no SHA-256 of its subject", ErrStatement)
	}
	return nil
}

// dsseSigner signs envelopes with a key of signed notes.
type dsseSigner struct{ note.Signer }

func (s dsseSigner) Sign(_ context.Context, data []byte) ([]byte, error) { return s.Signer.Sign(data) }
func (s dsseSigner) KeyID() (string, error)                              { return KeyID(s.Name(), s.KeyHash()), nil }

// dsseVerifier verifies envelopes with a key of signed notes.
type dsseVerifier struct{ note.Verifier }

func (v dsseVerifier) Verify(_ context.Context, data, sig []byte) error {
	if !v.Verifier.Verify(data, sig) {
		return ErrUnsigned
	}
	return nil
}
func (v dsseVerifier) KeyID() (string, error)   { return KeyID(v.Name(), v.KeyHash()), nil }
func (v dsseVerifier) Public() crypto.PublicKey { return nil }
