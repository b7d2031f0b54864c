package redact

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
	"slices"
	"strconv"
)

// ErrKey says that the key of a [Fingerprinter] cannot be used. It is permanent.
var ErrKey = errors.New("fingerprint key needs an id and 32 bytes or more")

// PrefixLen is how many bytes the rolling hash covers, and the least length of a
// value that has a fingerprint.
const PrefixLen = 8

// Fingerprint lets a holder of the tenant key recognise a value without having
// it. Its fields are those of the redaction fact.
type Fingerprint struct {
	KeyID      string // names the key
	Length     int64  // bytes
	PrefixHash string // sealed rolling hash of the first 8 bytes, 16 hex digits
	HMAC       string // HMAC-SHA-256 of the whole value, 64 hex digits
}

// Fingerprinter makes and recognises fingerprints under one tenant key. It is
// immutable and safe for concurrent use, and prints its key id alone. The zero
// value is not usable.
//
// With K the key and || for concatenation:
//
//	mac(label, m) = HMAC-SHA-256(K, "ctxledger redact " || label || 0x00 || m)
//	HMAC          = mac("value", v)
//	B             = first 8 bytes of mac("base", ""), big-endian, mod p; p = 2^61-1
//	roll(w)       = sum over i of (w[i]+1) * B^(7-i), mod p, for 8 bytes w
//	PrefixHash    = roll(v[0:8]) XOR first 8 bytes of mac("seal", HMAC), big-endian
//
// The seal is there because a bare polynomial gives its base away to whoever
// knows one prefix, and equal prefixes such as "sk-proj-" would look equal. A
// holder of the key takes it off once and then compares roll, which moves along
// a text by one multiplication and addition a byte.
type Fingerprinter struct{ get func() *fingerprintKeys }

type fingerprintKeys struct {
	id   string
	key  []byte
	base uint64
	top  uint64 // base^7
}

const prime = 1<<61 - 1

// NewFingerprinter returns a fingerprinter for the tenant key. The error is
// [ErrKey] where the id is empty or the key has fewer than 32 bytes.
func NewFingerprinter(keyID string, key []byte) (Fingerprinter, error) {
	if keyID == "" || len(key) < 32 {
		return Fingerprinter{}, ErrKey
	}
	k := &fingerprintKeys{id: keyID, key: slices.Clone(key)}
	sum := k.mac("base", nil)
	k.base = binary.BigEndian.Uint64(sum) % prime
	k.top = 1
	for range PrefixLen - 1 {
		k.top = mulmod(k.top, k.base)
	}
	return Fingerprinter{get: func() *fingerprintKeys { return k }}, nil
}

// Of returns the fingerprint of a value. It returns false for one shorter than
// [PrefixLen], which only the guard recognises.
func (f Fingerprinter) Of(value []byte) (Fingerprint, bool) {
	if len(value) < PrefixLen {
		return Fingerprint{}, false
	}
	whole := f.get().mac("value", value)
	return Fingerprint{
		KeyID:      f.get().id,
		Length:     int64(len(value)),
		PrefixHash: fmt.Sprintf("%016x", f.get().roll(value[:PrefixLen])^f.get().seal(whole)),
		HMAC:       hex.EncodeToString(whole),
	}, true
}

// Fingerprints returns the fingerprints of the guard's values that have one,
// under the policy refs, in the order in which they were given.
func (f Fingerprinter) Fingerprints(g *Guard) []PolicyFingerprint {
	var out []PolicyFingerprint
	if g.Len() == 0 {
		return nil
	}
	for _, v := range g.held().values {
		if fp, ok := f.Of([]byte(v.secret)); ok {
			out = append(out, PolicyFingerprint{PolicyRef: v.policyRef, Reason: v.reason, Fingerprint: fp})
		}
	}
	return out
}

// PolicyFingerprint is a fingerprint with what a redaction fact says of it.
type PolicyFingerprint struct {
	PolicyRef   string
	Reason      string
	Fingerprint Fingerprint
}

// Found is a place in a text where a fingerprinted value stands.
type Found struct {
	Fingerprint int // index among those given to Scanner
	Start, End  int // byte offsets
}

// Scanner recognises fingerprinted values in texts. It is immutable.
type Scanner struct {
	get    func() *fingerprintKeys
	byRoll map[uint64][]target
}

type target struct {
	index  int
	length int
	hmac   []byte
}

// Scanner returns a scanner for fingerprints under this key; those of other keys
// are left out. The error names the first that cannot be read.
func (f Fingerprinter) Scanner(fingerprints []Fingerprint) (*Scanner, error) {
	s := &Scanner{get: f.get, byRoll: map[uint64][]target{}}
	for i, fp := range fingerprints {
		if fp.KeyID != f.get().id {
			continue
		}
		whole, err := hex.DecodeString(fp.HMAC)
		if err != nil || len(whole) != sha256.Size || fp.Length < PrefixLen {
			return nil, fmt.Errorf("read fingerprint %d: bad length or HMAC", i)
		}
		sealed, err := strconv.ParseUint(fp.PrefixHash, 16, 64)
		if err != nil || len(fp.PrefixHash) != 16 {
			return nil, fmt.Errorf("read fingerprint %d: bad prefix hash", i)
		}
		roll := sealed ^ f.get().seal(whole)
		s.byRoll[roll] = append(s.byRoll[roll], target{index: i, length: int(fp.Length), hmac: whole})
	}
	return s, nil
}

// Scan finds the values in one pass, verifying each candidate with the HMAC.
func (s *Scanner) Scan(text []byte) []Found {
	if len(text) < PrefixLen || len(s.byRoll) == 0 {
		return nil
	}
	var out []Found
	keys := s.get()
	roll := keys.roll(text[:PrefixLen])
	for start := 0; ; start++ {
		for _, t := range s.byRoll[roll] {
			end := start + t.length
			if end <= len(text) && hmac.Equal(keys.mac("value", text[start:end]), t.hmac) {
				out = append(out, Found{Fingerprint: t.index, Start: start, End: end})
			}
		}
		if start+PrefixLen >= len(text) {
			return out
		}
		roll = keys.slide(roll, text[start], text[start+PrefixLen])
	}
}

func (k *fingerprintKeys) mac(label string, message []byte) []byte {
	h := hmac.New(sha256.New, k.key)
	h.Write([]byte("ctxledger redact " + label + "\x00"))
	h.Write(message)
	return h.Sum(nil)
}

func (k *fingerprintKeys) seal(whole []byte) uint64 {
	return binary.BigEndian.Uint64(k.mac("seal", whole))
}

func (k *fingerprintKeys) roll(window []byte) uint64 {
	var out uint64
	for _, b := range window {
		out = (mulmod(out, k.base) + uint64(b) + 1) % prime
	}
	return out
}

// slide moves the window on by one byte.
func (k *fingerprintKeys) slide(roll uint64, leaves, enters byte) uint64 {
	roll += prime - mulmod(uint64(leaves)+1, k.top)
	return (mulmod(roll%prime, k.base) + uint64(enters) + 1) % prime
}

// mulmod multiplies modulo 2^61-1.
func mulmod(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	sum := lo&prime + (lo>>61 | hi<<3)
	return sum % prime
}

// String returns the key id.
func (f Fingerprinter) String() string {
	if f.get == nil {
		return "redact.Fingerprinter()"
	}
	return "redact.Fingerprinter(" + f.get().id + ")"
}

// GoString is String.
func (f Fingerprinter) GoString() string { return f.String() }

// Format writes String for every verb.
func (f Fingerprinter) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, f.String()) }

// LogValue logs String.
func (f Fingerprinter) LogValue() slog.Value { return slog.StringValue(f.String()) }
