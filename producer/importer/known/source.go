package known

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
)

// blockFacts is the number of ids in a block.
const blockFacts = 64

// idBytes is the size of the digest of a block's ids, sumBytes that of both digests of a block.
const (
	idBytes  = 8
	sumBytes = 16
)

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
	At    Place `json:"at"`    // at or after the last of the facts
	Facts int   `json:"facts"` // number of facts, in the order of the source
	// Sums has 16 bytes for each block of 64 facts, also for the last one, which may be shorter: 8 of
	// the ids, then 8 of the digests.
	Sums []byte `json:"sums"`
	// Sample is the sample of the entries of the item log, see [sample].
	Sample []byte `json:"sample,omitempty"`
}

// Key returns the key of a source of a tenant in the bucket. The telling is a part of the source.
func Key(tenant, source string) string { return nameOf(tenant, source, versionOfSource) }

// versionOfSource is the version of [Source]. Values of other versions have other keys.
const versionOfSource = "2"

// nameOf makes a name of texts.
func nameOf(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Trim(fmt.Sprintf("%q", texts), "[]")))
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
	if len(s.Sample)%sampledBytes != 0 {
		return Source{}, fmt.Errorf("a sample of %d bytes has no whole number of entries", len(s.Sample))
	}
	return s, nil
}

// block returns the digests of a block of n facts. Blocks count from 0. It returns false if the stream
// has no such block.
func (s Source) block(number, n int) (sum [sumBytes]byte, ok bool) {
	if n != min(blockFacts, s.Facts-number*blockFacts) {
		return sum, false
	}
	return [sumBytes]byte(s.Sums[number*sumBytes:]), true
}
