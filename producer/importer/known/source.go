package known

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
)

// blockFacts is the number of ids in a block.
const blockFacts = 64

// sumBytes is the size of the digest of a block.
const sumBytes = 8

// Place is a position in a stream of events.
type Place struct {
	Incarnation uuid.UUID `json:"incarnation"`
	Last        uint64    `json:"last_sequence"`
}

// Holds reports whether streams with these ends have what they had at the place.
func (p Place) Holds(ends []Place) bool {
	return slices.ContainsFunc(ends, func(end Place) bool { return end.Incarnation == p.Incarnation && end.Last >= p.Last })
}

// Source is what a stream has of the facts of one source.
type Source struct {
	At    Place  `json:"at"`    // at or after the last of the facts
	Facts int    `json:"facts"` // number of facts, in the order of the source
	Sums  []byte `json:"sums"`  // 8 bytes for each block of 64 ids, also for the last one, which may be shorter
}

// Key returns the key of a source of a tenant in the bucket. The telling is a part of the source.
func Key(tenant, source string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", tenant, source))
	return hex.EncodeToString(sum[:16])
}

// Encode returns the value of the bucket, which is JSON.
func (s Source) Encode() ([]byte, error) { return json.Marshal(s) }

// Decode reads a value of the bucket. A value that is not one of Encode is an error.
func Decode(value []byte) (s Source, err error) {
	if err := json.Unmarshal(value, &s, json.RejectUnknownMembers(true)); err != nil {
		return Source{}, err
	}
	if blocks := (s.Facts + blockFacts - 1) / blockFacts; s.Facts < 0 || len(s.Sums) != blocks*sumBytes {
		return Source{}, fmt.Errorf("%d facts do not have digests of %d bytes", s.Facts, len(s.Sums))
	}
	return s, nil
}

// has reports whether sum is the digest of a block of n ids. The blocks count from 0.
func (s Source) has(block, n int, sum [sumBytes]byte) bool {
	return n == min(blockFacts, s.Facts-block*blockFacts) && [sumBytes]byte(s.Sums[block*sumBytes:]) == sum
}
