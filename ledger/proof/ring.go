package proof

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// ErrNoSigner means that a ring holds public keys only.
var ErrNoSigner = errors.New("the ring has no signing key")

// Ring holds the keys of a ledger: the secret of its salts, its signing key, and the public halves
// of earlier signing keys. Its string forms never contain a secret. The zero value is empty.
type Ring struct {
	Name   string // name of the ledger's keys; part of every signature
	Secret Secret // secret of the salts; never changes
	Keys   []SigningKey
}

// SigningKey is an Ed25519 key of a ring. The last key of a ring signs. The others are public
// halves that verify earlier signatures.
type SigningKey struct {
	Created time.Time
	Public  string // name+hash+base64, the format of package note
	private func() string
}

// String returns the public half.
func (k SigningKey) String() string { return k.Public }

// GoString is String, so %#v prints no secret.
func (k SigningKey) GoString() string { return k.Public }

// NewRing makes a ring with a secret and a first key, under a random name.
func NewRing(now time.Time) (Ring, error) {
	var id [4]byte
	if _, err := rand.Read(id[:]); err != nil {
		return Ring{}, err
	}
	secret, err := NewSecret(rand.Reader)
	if err != nil {
		return Ring{}, err
	}
	return Ring{Name: "ctxledger-" + hex.EncodeToString(id[:]), Secret: secret}.Rotate(now)
}

// Rotate returns the ring with a new signing key. Of the earlier signing key, only the public half
// remains.
func (r Ring) Rotate(now time.Time) (Ring, error) {
	private, public, err := note.GenerateKey(rand.Reader, r.Name)
	if err != nil {
		return r, fmt.Errorf("make a signing key: %w", err)
	}
	keys := slices.Clone(r.Keys)
	for i := range keys {
		keys[i].private = nil
	}
	r.Keys = append(keys, SigningKey{now.UTC().Truncate(time.Second), public, func() string { return private }})
	return r, nil
}

// IsZero reports whether the ring holds nothing.
func (r Ring) IsZero() bool { return len(r.Keys) == 0 }

// Signer returns the ring's signer. The error is [ErrNoSigner].
func (r Ring) Signer() (note.Signer, error) {
	if len(r.Keys) == 0 || r.Keys[len(r.Keys)-1].private == nil {
		return nil, ErrNoSigner
	}
	return note.NewSigner(r.Keys[len(r.Keys)-1].private())
}

// Verifiers returns the public halves of all keys.
func (r Ring) Verifiers() note.Verifiers {
	var list []note.Verifier
	for _, k := range r.Keys {
		if v, err := note.NewVerifier(k.Public); err == nil {
			list = append(list, v)
		}
	}
	return note.VerifierList(list...)
}

// Public returns the public halves, a line each, the oldest first. This is the file for verifiers.
// [ParseVerifiers] reads it.
func (r Ring) Public() []byte {
	var b bytes.Buffer
	for _, k := range r.Keys {
		fmt.Fprintln(&b, k.Public)
	}
	return b.Bytes()
}

// ParseVerifiers reads public keys, one a line, and skips empty lines and lines that begin with #.
// At least one key is required.
func ParseVerifiers(text []byte) ([]note.Verifier, error) {
	var list []note.Verifier
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, "PRIVATE+KEY+") {
			return nil, fmt.Errorf("public keys, line %d: this is a private key; give the public key", n)
		}
		v, err := note.NewVerifier(line)
		if err != nil {
			return nil, fmt.Errorf("public keys, line %d: want name+hash+key, as printed by `ctxledger proof keygen`", n)
		}
		list = append(list, v)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("public keys: %w", err)
	}
	if len(list) == 0 {
		return nil, errors.New("no public key found; want at least one line name+hash+key")
	}
	return list, nil
}

// Format returns the ring as text. Lines are "name" with the name, and "secret" with the secret in
// base64. Further lines are "key" with time and private key, and "old" with time and public key.
// The result is secret.
func (r Ring) Format() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "name %s\n", r.Name)
	if !r.Secret.IsZero() {
		fmt.Fprintf(&b, "secret %s\n", base64.StdEncoding.EncodeToString(r.Secret.bytes()))
	}
	for _, k := range r.Keys {
		if k.private == nil {
			fmt.Fprintf(&b, "old %s %s\n", k.Created.Format(time.RFC3339), k.Public)
		} else {
			fmt.Fprintf(&b, "key %s %s\n", k.Created.Format(time.RFC3339), k.private())
		}
	}
	return b.Bytes()
}

// ParseRing reads the output of [Ring.Format]. Errors name the line and never its content.
func ParseRing(text []byte) (Ring, error) {
	var r Ring
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		ok := true
		switch {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
		case fields[0] == "name" && len(fields) == 2 && r.Name == "":
			r.Name = fields[1]
		case fields[0] == "secret" && len(fields) == 2 && r.Secret.IsZero():
			b, err := base64.StdEncoding.DecodeString(fields[1])
			if err == nil {
				r.Secret, err = SecretOf(b)
			}
			ok = err == nil
		case (fields[0] == "key" || fields[0] == "old") && len(fields) == 3:
			var k SigningKey
			if k, ok = parseSigningKey(fields[0] == "key", fields[1], fields[2]); ok {
				r.Keys = append(r.Keys, k)
			}
		default:
			ok = false
		}
		if !ok {
			return Ring{}, fmt.Errorf("ring line %d: want name, secret, key or old with their values", n)
		}
	}
	if err := lines.Err(); err != nil {
		return Ring{}, fmt.Errorf("read ring: %w", err)
	}
	if r.Name == "" || r.Secret.IsZero() || r.IsZero() {
		return Ring{}, errors.New("ring: the name, the secret or the key is missing")
	}
	return r, nil
}

func parseSigningKey(private bool, created, text string) (k SigningKey, ok bool) {
	at, err := time.Parse(time.RFC3339, created)
	if err != nil {
		return k, false
	}
	k = SigningKey{Created: at.UTC(), Public: text}
	if private {
		if k.Public, err = publicOf(text); err != nil {
			return k, false
		}
		k.private = func() string { return text }
	}
	_, err = note.NewVerifier(k.Public)
	return k, err == nil
}

// publicOf derives the public half of a private key of package note:
// PRIVATE+KEY+name+hash+base64(algorithm, seed).
func publicOf(private string) (string, error) {
	if _, err := note.NewSigner(private); err != nil {
		return "", err
	}
	fields := strings.SplitN(strings.TrimPrefix(private, "PRIVATE+KEY+"), "+", 3)
	seed, err := base64.StdEncoding.DecodeString(fields[2])
	if err != nil {
		return "", err
	}
	return note.NewEd25519VerifierKey(fields[0], ed25519.NewKeyFromSeed(seed[1:]).Public().(ed25519.PublicKey))
}
