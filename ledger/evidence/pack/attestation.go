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
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"golang.org/x/mod/sumdb/note"
)

// Constants of an attestation, from the in-toto Statement v1 and DSSE.
const (
	statementType = "https://in-toto.io/Statement/v1"
	payloadType   = "application/vnd.in-toto+json"
	// PredicateType is the type of the predicate in an attestation.
	PredicateType = "https://ctxledger.dev/evidence-pack/v1"
)

// Errors of an attestation. [ErrUnsigned] means other keys or changed bytes. [ErrStatement] means
// that the signed payload is not a statement of this package.
var (
	ErrUnsigned  = errors.New("not signed by a given key")
	ErrStatement = errors.New("not a statement about a manifest")
)

// Statement is the in-toto Statement over a pack's manifest.
type Statement struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"` // only the manifest
	PredicateType string    `json:"predicateType"`
	Predicate     Predicate `json:"predicate"`
}

// Subject is a file with its digests.
type Subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"` // sha256 in hexadecimal digits
}

// Predicate holds the header of the pack.
type Predicate struct {
	Header Header `json:"header"`
}

// KeyID returns the id of a key in envelopes: its name and hash.
func KeyID(name string, hash uint32) string { return fmt.Sprintf("%s+%08x", name, hash) }

// Attest returns the attestation of a manifest: a DSSE envelope around the in-toto statement. The
// signer is an Ed25519 signer, like the signer of a log.
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

// encodeEnvelope returns the only valid encoding of an envelope. Signatures do not cover the
// encoding, so other encodings are refused as changes.
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

// An Attestation is a signed statement with the keys that signed it.
type Attestation struct {
	Statement Statement
	KeyIDs    []string // the given keys that signed it
	Unknown   []string // ids in further signatures, by none of the given keys; not verified
}

// Digest returns the SHA-256 of the attested manifest.
func (a *Attestation) Digest() (sum [sha256.Size]byte) {
	_, _ = hex.Decode(sum[:], []byte(a.Statement.Subject[0].Digest["sha256"])) // checked by ParseAttestation
	return sum
}

// ParseAttestation reads an attestation that one of the keys has signed. The error wraps
// [ErrUnsigned] when none has, and names the keys from the envelope. The error wraps [ErrStatement]
// for any other signed payload.
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
		return nil, fmt.Errorf("%w, or changed after signing: the envelope names %q", ErrUnsigned, ids)
	}
	a := &Attestation{}
	for _, key := range accepted {
		a.KeyIDs = append(a.KeyIDs, key.KeyID)
	}
	for _, id := range ids {
		if !slices.Contains(a.KeyIDs, id) {
			a.Unknown = append(a.Unknown, id)
		}
	}
	if len(ids) > len(a.KeyIDs)+len(a.Unknown) {
		return nil, fmt.Errorf("%w: the envelope has %d signatures of %d keys", ErrUnsigned, len(ids), len(a.KeyIDs)+len(a.Unknown))
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
		return fmt.Errorf("%w: type %q with predicate type %q", ErrStatement, clip(s.Type), clip(s.PredicateType))
	}
	if len(s.Subject) != 1 || s.Subject[0].Name != ManifestFile {
		return fmt.Errorf("%w: want exactly one subject, %s", ErrStatement, ManifestFile)
	}
	if sum, err := hex.DecodeString(s.Subject[0].Digest["sha256"]); err != nil || len(sum) != sha256.Size {
		return fmt.Errorf("%w: the SHA-256 of the subject is missing or invalid", ErrStatement)
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
