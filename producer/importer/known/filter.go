package known

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"

	"github.com/ctxledger/ctxledger/schema"
)

// Filter passes on the facts of one log that the stream may lack. The facts of a source keep their
// order. It is not safe for concurrent use.
type Filter struct {
	// Facts is the number of facts, and Known that of the facts that were not passed on.
	Facts, Known int
	// Again makes the filter pass on all facts.
	Again bool
	// Corrected has the sources whose blocks may have other ids than the stream has. They are passed on.
	Corrected map[string]bool

	// Dropped gets the facts that are not passed on. Nil gets none.
	Dropped func(*schema.Event)

	before  func(first *schema.Event) Source
	emit    func(*schema.Event) error
	sources map[string]*sourceFilter
	order   []*sourceFilter
}

// sourceFilter compares the facts of a source. waiting are the facts of the present block, as long
// as the block may be known.
type sourceFilter struct {
	name          string
	before, after Source
	ids, digests  hash.Hash // of the present block
	sample        sample
	inBlock       int
	waiting       []*schema.Event
}

// NewFilter returns a filter. before returns what the stream has of the source of an event, which is
// its first; a zero Source is nothing. emit gets the other facts.
func NewFilter(before func(first *schema.Event) Source, emit func(*schema.Event) error) *Filter {
	return &Filter{before: before, emit: emit, sources: make(map[string]*sourceFilter)}
}

// Emit takes the next fact of the log. Its error is that of emit, or a [*Differs], before which no fact
// of its source was passed on.
func (f *Filter) Emit(e *schema.Event) error {
	f.Facts++
	s := f.sources[e.Source]
	if s == nil {
		s = &sourceFilter{name: e.Source, before: f.before(e), ids: sha256.New(), digests: sha256.New()}
		f.sources[e.Source] = s
		f.order = append(f.order, s)
	}
	s.after.Facts++
	s.inBlock++
	s.ids.Write(binary.AppendUvarint(nil, uint64(len(e.ID))))
	s.ids.Write([]byte(e.ID))
	digest := e.Digest()
	s.digests.Write(digest[:])
	if e.EventType() == schema.TypeLogAppended {
		s.sample.add(entryOf(e.ID, digest))
	}
	if s.after.Facts > s.before.Facts {
		if err := f.emit(e); err != nil {
			return err
		}
	} else {
		s.waiting = append(s.waiting, e)
	}
	if s.after.Facts == s.before.Facts || s.inBlock == blockFacts {
		if err := f.compare(s); err != nil {
			return err
		}
	}
	if s.inBlock == blockFacts {
		s.endBlock()
	}
	return nil
}

// compare drops the waiting facts if their block is known.
func (f *Filter) compare(s *sourceFilter) error {
	if len(s.waiting) == 0 {
		return nil
	}
	sum := s.sum()
	before, ok := s.before.block(len(s.after.Sums)/sumBytes, s.inBlock)
	switch {
	case !ok:
	case sum == before:
		if f.Again {
			return f.pass(s)
		}
		f.Known += len(s.waiting)
		if f.Dropped != nil {
			for _, e := range s.waiting {
				f.Dropped(e)
			}
		}
		s.waiting = s.waiting[:0]
		return nil
	case !f.Corrected[s.name]:
		return &Differs{
			Source: s.name, mark: hex.EncodeToString(sum[idBytes:]),
			rewritten: [idBytes]byte(sum[:]) == [idBytes]byte(before[:]), before: s.before,
		}
	}
	return f.pass(s)
}

func (f *Filter) pass(s *sourceFilter) error {
	for _, e := range s.waiting {
		if err := f.emit(e); err != nil {
			return err
		}
	}
	s.waiting = s.waiting[:0]
	return nil
}

// contradiction returns a [*Differs] if a waiting entry has other bytes than the sample, or is new before
// one of the sample.
func (s *sourceFilter) contradiction() error {
	if len(s.waiting) == 0 {
		return nil
	}
	differs := &Differs{Source: s.name, before: s.before}
	c := differs.Compare()
	for _, e := range s.waiting {
		_ = c.Emit(e)
	}
	if c.other > 0 || c.inserted {
		return differs
	}
	return nil
}

func (s *sourceFilter) sum() (sum [sumBytes]byte) {
	copy(sum[:idBytes], s.ids.Sum(nil))
	copy(sum[idBytes:], s.digests.Sum(nil))
	return sum
}

func (s *sourceFilter) endBlock() {
	sum := s.sum()
	s.after.Sums = append(s.after.Sums, sum[:]...)
	s.ids.Reset()
	s.digests.Reset()
	s.inBlock = 0
}

// End passes on the facts that still wait, because the log is shorter than a known one. Its error is that
// of emit, or a [*Differs] if entries that wait have other bytes than before, or are new among them. It returns
// what the stream has of each source whose facts this log adds to, once the facts that were passed
// on are stored. Their places are not set. A log that reaches less far than a known one adds nothing.
func (f *Filter) End() (map[string]Source, error) {
	added := make(map[string]Source)
	for _, s := range f.order {
		if !f.Corrected[s.name] {
			if err := s.contradiction(); err != nil {
				return nil, err
			}
		}
		if err := f.pass(s); err != nil {
			return nil, err
		}
		if s.inBlock > 0 {
			s.endBlock()
		}
		if s.after.Facts >= s.before.Facts && string(s.after.Sums) != string(s.before.Sums) {
			s.after.Sample = s.sample.encode()
			added[s.name] = s.after
		}
	}
	return added, nil
}
