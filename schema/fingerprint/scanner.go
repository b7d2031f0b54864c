package fingerprint

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/ctxledger/ctxledger/schema"
)

// Match is the place of a fingerprinted value in a text.
type Match struct {
	Fingerprint int // index of the fingerprint, in the order of the calls
	Start, End  int // byte offsets
}

// Scanner recognises fingerprinted values in texts. Make one with
// [Hasher.Scanner]. Scanning is safe for concurrent use; Add is not.
type Scanner struct {
	get    func() *material
	count  int
	byRoll map[uint64][]target
	maybe  rolls // those in byRoll. Most windows of a text therefore need no look-up in the map.
}

// rolls is a bit set of the lowest 16 bits of rolls. A roll that was not added may seem to be there.
type rolls [1 << 10]uint64

func (r *rolls) add(roll uint64)      { r[roll>>6&1023] |= 1 << (roll & 63) }
func (r *rolls) has(roll uint64) bool { return r[roll>>6&1023]>>(roll&63)&1 != 0 }

type target struct {
	index  int
	length int
	hmac   []byte
}

// Scanner returns a scanner for fingerprints under this key. Scanner leaves out fingerprints of
// other keys. The error names the first unreadable fingerprint.
func (f Hasher) Scanner(fingerprints []schema.Fingerprint) (*Scanner, error) {
	s := &Scanner{get: f.get, byRoll: map[uint64][]target{}}
	for i, fp := range fingerprints {
		if err := s.Add(fp); err != nil {
			return nil, fmt.Errorf("read fingerprint %d: %w", i, err)
		}
	}
	return s, nil
}

// Add makes the scanner find one more fingerprint. Its index is the number of fingerprints before
// it. A fingerprint of another key is counted and never found. After an error, the scanner is
// unchanged.
func (s *Scanner) Add(fp schema.Fingerprint) error {
	if fp.KeyID != s.get().id {
		s.count++
		return nil
	}
	whole, err := hex.DecodeString(fp.HMAC)
	if err != nil || len(whole) != sha256.Size || fp.Length < Prefix {
		return errors.New("bad length or HMAC")
	}
	sealed, err := strconv.ParseUint(fp.PrefixHash, 16, 64)
	if err != nil || len(fp.PrefixHash) != 16 {
		return errors.New("bad prefix hash")
	}
	roll := sealed ^ s.get().seal(whole)
	s.byRoll[roll] = append(s.byRoll[roll], target{index: s.count, length: int(fp.Length), hmac: whole})
	s.maybe.add(roll)
	s.count++
	return nil
}

// Scan finds the values in one pass, verifying each candidate with the HMAC.
func (s *Scanner) Scan(text []byte) []Match {
	if len(text) < Prefix || len(s.byRoll) == 0 {
		return nil
	}
	var out []Match
	table := &s.get().table
	for start := range len(text) - Prefix + 1 {
		w := text[start : start+Prefix : start+Prefix]
		_ = w[7]
		roll := table[0][w[0]] + table[1][w[1]] + table[2][w[2]] + table[3][w[3]] +
			table[4][w[4]] + table[5][w[5]] + table[6][w[6]] + table[7][w[7]]
		if roll = reduce(roll); s.maybe.has(roll) {
			out = s.verify(out, roll, text, start)
		}
	}
	return out
}

// InWords reports whether a value stands in the words of the contract, see [schema.Words]. Their rolls
// are kept with the key, so that most scanners need not scan them.
func (s *Scanner) InWords() bool {
	words := s.get().words()
	for roll := range s.byRoll {
		if words.has(roll) {
			return len(s.Scan(schema.Words())) > 0
		}
	}
	return false
}

// verify appends the values that begin at start, where the prefix has the hash roll.
func (s *Scanner) verify(out []Match, roll uint64, text []byte, start int) []Match {
	for _, t := range s.byRoll[roll] {
		if t.length > len(text)-start {
			continue
		}
		end := start + t.length
		if hmac.Equal(s.get().mac("value", text[start:end]), t.hmac) {
			out = append(out, Match{Fingerprint: t.index, Start: start, End: end})
		}
	}
	return out
}
