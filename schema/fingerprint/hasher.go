// Package fingerprint finds values in texts without copies of the values. A [Hasher] makes keyed
// fingerprints of a tenant's values. A [Scanner] finds the values in texts.
package fingerprint

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/bits"
	"sync"

	"github.com/ctxledger/ctxledger/schema"
)

// ErrKey means that a key cannot make fingerprints. ErrKey is permanent.
var ErrKey = errors.New("fingerprints need a tenant key with an id and a secret")

// Prefix is the number of bytes in the rolling hash of a [schema.Fingerprint]. Prefix is also the
// minimum length of a value with a fingerprint.
const Prefix = 8

// Hasher makes and recognises fingerprints under one tenant key. A Hasher is immutable and safe for
// concurrent use. String forms of a Hasher show only its key id. The zero value is not usable.
//
// With K = Key.Derive("fingerprint") and || for concatenation:
//
//	mac(label, m) = HMAC-SHA-256(K, "ctxledger redact " || label || 0x00 || m)
//	HMAC          = mac("value", v)
//	B             = first 8 bytes of mac("base", ""), big-endian, mod p; p = 2^61-1
//	roll(w)       = sum over i of (w[i]+1) * B^(7-i), mod p, for 8 bytes w
//	PrefixHash    = roll(v[0:8]) XOR first 8 bytes of mac("seal", HMAC), big-endian
//
// The seal hides the polynomial. Without the seal, one known prefix would reveal the base, and
// equal prefixes such as "sk-proj-" would look equal. A holder of the key removes the seal once and
// then compares roll. A comparison costs one table look-up for each of the eight bytes. A rolling
// computation needs less arithmetic, but each step has to wait for the previous step.
type Hasher struct{ get func() *material }

// material holds the values that a key gives for fingerprints. material is immutable. A function
// holds it for the reason given at [schema.Key].
type material struct {
	id     string
	secret []byte
	// table[i][b] is the share of byte b at place i of a window in its roll: (b+1)*B^(7-i).
	table [Prefix][256]uint64
	words func() *rolls // of all windows of [schema.Words], made when first asked for
}

// prime is p.
const prime = 1<<61 - 1

// New returns a Hasher for the tenant key. The error is [ErrKey] for the zero Key.
func New(k schema.Key) (Hasher, error) {
	secret := k.Derive("fingerprint")
	if k.ID == "" || secret == nil {
		return Hasher{}, ErrKey
	}
	keys := &material{id: k.ID, secret: secret}
	base := binary.BigEndian.Uint64(keys.mac("base", nil)) % prime
	power := uint64(1)
	for i := Prefix - 1; i >= 0; i-- {
		for b := range keys.table[i] {
			keys.table[i][b] = mulmod(uint64(b)+1, power)
		}
		power = mulmod(power, base)
	}
	keys.words = sync.OnceValue(func() *rolls {
		all, words := new(rolls), schema.Words()
		for start := range len(words) - Prefix + 1 {
			all.add(keys.roll(words[start : start+Prefix]))
		}
		return all
	})
	return Hasher{get: func() *material { return keys }}, nil
}

// Of returns the fingerprint of a value. Of returns false for a value shorter than [Prefix]. Only
// a guard that holds the value itself recognises a short value.
func (f Hasher) Of(value []byte) (schema.Fingerprint, bool) {
	if len(value) < Prefix {
		return schema.Fingerprint{}, false
	}
	keys := f.get()
	whole := keys.mac("value", value)
	return schema.Fingerprint{
		KeyID:      keys.id,
		Length:     int64(len(value)),
		PrefixHash: fmt.Sprintf("%016x", keys.roll(value[:Prefix])^keys.seal(whole)),
		HMAC:       hex.EncodeToString(whole),
	}, true
}

// KeyID returns the id of the key.
func (f Hasher) KeyID() string { return f.get().id }

func (k *material) mac(label string, message []byte) []byte {
	h := hmac.New(sha256.New, k.secret)
	h.Write([]byte("ctxledger redact " + label + "\x00"))
	h.Write(message)
	return h.Sum(nil)
}

func (k *material) seal(whole []byte) uint64 {
	return binary.BigEndian.Uint64(k.mac("seal", whole))
}

func (k *material) roll(window []byte) uint64 {
	var sum uint64
	for i, b := range window {
		sum += k.table[i][b]
	}
	return reduce(sum)
}

// reduce returns n modulo p. The sum of eight numbers below p does not overflow.
func reduce(n uint64) uint64 {
	n = n&prime + n>>61
	if n >= prime {
		n -= prime
	}
	return n
}

// mulmod multiplies modulo p. Both factors are below p.
func mulmod(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return reduce(lo&prime + (lo>>61 | hi<<3))
}

// String returns the key id.
func (f Hasher) String() string {
	if f.get == nil {
		return "schema.Fingerprinter()"
	}
	return "schema.Fingerprinter(" + f.get().id + ")"
}

// GoString returns String().
func (f Hasher) GoString() string { return f.String() }

// Format writes String for every verb.
func (f Hasher) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, f.String()) }

// LogValue logs String.
func (f Hasher) LogValue() slog.Value { return slog.StringValue(f.String()) }
