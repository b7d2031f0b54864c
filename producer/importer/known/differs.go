package known

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/schema"
)

// Differs is the error for a log whose facts are not those that the stream has of a source, in a
// place where the stream has facts. A log that only grew never differs.
type Differs struct {
	Source string

	before    Source
	mark      string // of the block that differs
	rewritten bool   // ids of the source have other facts now
}

func (d *Differs) Error() string {
	return fmt.Sprintf("the log has other facts of %s than the stream", d.Source)
}

// Comparison compares a whole log with what the stream has of a source, by the entries of the sample.
// A log was rewritten if an entry has another fact, if a new entry is before one of the entries, or if
// some entries are gone and the log reaches at least as far as before. A log without any of the entries
// is another slice of the session. In any other log some facts have other ids because later records
// corrected them.
type Comparison struct {
	differs             *Differs
	facts               int
	sampled             map[uint32]uint32 // entries that were not seen yet
	same, other, sample int               // entries
	mark                string            // of the first other entry
	fresh               string            // mark of the first entry that the sample lacks
	line, freshLine     int               // of these two entries, 0 if the log has no lines
	inserted            bool              // a fresh entry is before one of the sample
}

// Compare returns a comparison, which takes all facts of the log.
func (d *Differs) Compare() *Comparison {
	c := &Comparison{differs: d, sampled: make(map[uint32]uint32)}
	for _, e := range decodeSample(d.before.Sample) {
		c.sampled[e.id] = e.digest
	}
	c.sample = len(c.sampled)
	return c
}

// Emit takes the next fact of the log. Its error is nil.
func (c *Comparison) Emit(e *schema.Event) error {
	if e.Source != c.differs.Source {
		return nil
	}
	c.facts++
	if e.EventType() != schema.TypeLogAppended {
		return nil
	}
	full := e.Digest()
	entry := entryOf(e.ID, full)
	digest, ok := c.sampled[entry.id]
	switch {
	case !ok:
		if c.fresh == "" {
			c.fresh, c.freshLine = hex.EncodeToString(full[:8]), lineOf(e)
		}
		return nil
	case digest == entry.digest:
		c.same++
		c.inserted = c.inserted || c.fresh != "" && c.sample < 2*sampleSize // a sample of all entries
	default:
		if c.other++; c.other == 1 {
			c.mark, c.line = hex.EncodeToString(full[:8]), lineOf(e)
		}
	}
	delete(c.sampled, entry.id)
	return nil
}

// Rewritten reports whether the log was rewritten. The mark names what differs. It stays the same while
// the log only grows.
func (c *Comparison) Rewritten() (mark string, rewritten bool) {
	gone := c.same > 0 && c.same < c.sample && c.facts >= c.differs.before.Facts
	if c.inserted {
		return cmp.Or(c.mark, c.fresh), true
	}
	return cmp.Or(c.mark, c.differs.mark), c.differs.rewritten || c.other > 0 || gone
}

// Line returns the line of the log with the first entry that is another one than before, 0 if it is unknown.
func (c *Comparison) Line() int {
	if c.inserted && (c.line == 0 || c.freshLine < c.line) {
		return c.freshLine
	}
	return c.line
}

// lineOf returns the line of a fact's record.
func lineOf(e *schema.Event) int {
	var fact struct {
		Metadata struct {
			Line int `json:"line"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(e.Data, &fact) // a fact without a line has none
	return fact.Metadata.Line
}

// sample has the last 64 entries of an item log, and of the others the 64 whose ids have the smallest
// digests. It therefore has some entries of each part of a long log, and all entries of a short one.
type sample struct{ least, last []sampled }

// sampled is an entry of an item log in a sample.
type sampled struct{ id, digest uint32 }

const sampleSize, sampledBytes = 64, 8

func entryOf(id string, digest [32]byte) sampled {
	sum := sha256.Sum256([]byte(id))
	return sampled{binary.BigEndian.Uint32(sum[:]), binary.BigEndian.Uint32(digest[:])}
}

func (s *sample) add(e sampled) {
	if s.last = append(s.last, e); len(s.last) <= sampleSize {
		return
	}
	e, s.last = s.last[0], s.last[1:]
	at, _ := slices.BinarySearchFunc(s.least, e, func(a, b sampled) int { return int(int64(a.id) - int64(b.id)) })
	if s.least = slices.Insert(s.least, at, e); len(s.least) > sampleSize {
		s.least = s.least[:sampleSize]
	}
}

func (s *sample) encode() (text []byte) {
	for _, e := range slices.Concat(s.least, s.last) {
		text = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(text, e.id), e.digest)
	}
	return text
}

func decodeSample(text []byte) (list []sampled) {
	for e := range slices.Chunk(text, sampledBytes) {
		list = append(list, sampled{binary.BigEndian.Uint32(e), binary.BigEndian.Uint32(e[4:])})
	}
	return list
}
