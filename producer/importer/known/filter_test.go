package known

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/schema"
)

// stream is a stream of events with the memory of imports.
type stream struct {
	stored    map[string]int // by source and id, how often
	published []string
	memory    map[string]Source
}

// imports imports a log and returns what was published.
func (s *stream) imports(t interface{ Fatal(...any) }, log []*schema.Event) []string {
	s.published = nil
	f := NewFilter(func(first *schema.Event) Source {
		value, err := s.memory[first.Source].Encode()
		if err != nil {
			t.Fatal(err)
		}
		known, err := Decode(value)
		if err != nil {
			t.Fatal(err)
		}
		return known
	}, func(e *schema.Event) error {
		s.stored[e.Source+" "+e.ID]++
		s.published = append(s.published, e.Source+" "+e.ID)
		return nil
	})
	for _, e := range log {
		if err := f.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	added, err := f.End()
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(s.memory, added)
	if f.Facts != len(log) || f.Known+len(s.published) != len(log) {
		t.Fatal(fmt.Sprintf("%d facts, %d known, %d published of %d", f.Facts, f.Known, len(s.published), len(log)))
	}
	return s.published
}

func event(source, id string) *schema.Event { return &schema.Event{Source: source, ID: id} }

// TestImportsCostWhatIsNew imports logs that grow, shrink and change. The stream has each fact of each
// version, the facts of a source keep their order, and a version that only grew publishes what is
// new. A version that is imported again publishes nothing. A version that reaches less far than an
// earlier one may publish facts again.
func TestImportsCostWhatIsNew(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &stream{stored: make(map[string]int), memory: make(map[string]Source)}
		var log []*schema.Event
		for version := range rapid.IntRange(1, 6).Draw(t, "versions") {
			grewOnly, had := true, len(log)
			if had > 0 {
				switch rapid.IntRange(0, 4).Draw(t, "change") {
				case 0: // a record is corrected
					log = slices.Clone(log)
					i := rapid.IntRange(0, had-1).Draw(t, "corrected")
					log[i] = event(log[i].Source, fmt.Sprintf("corrected-%d-%d", version, i))
					grewOnly = false
				case 1: // the log is cut
					log = log[:rapid.IntRange(0, had-1).Draw(t, "cut")]
					grewOnly = false
				}
			}
			kept, reached := len(log), s.reaches(log)
			for i := range rapid.IntRange(0, 200).Draw(t, "more") {
				log = append(log, event(fmt.Sprint("source-", rapid.IntRange(0, 2).Draw(t, "source")), fmt.Sprintf("%d-%d", version, i)))
			}
			published := s.imports(t, log)
			if grewOnly && reached && len(published) != len(log)-kept {
				t.Fatalf("%d of %d new facts were published", len(published), len(log)-kept)
			}
			for _, e := range log {
				if s.stored[e.Source+" "+e.ID] == 0 {
					t.Fatalf("%s %s is not stored", e.Source, e.ID)
				}
			}
			for _, source := range []string{"source-0", "source-1", "source-2"} {
				next := 0
				for _, e := range log {
					if e.Source != source {
						continue
					}
					if i := slices.Index(published, e.Source+" "+e.ID); i >= 0 && i < next {
						t.Fatalf("%s came before its predecessor", e.ID)
					} else if i >= 0 {
						next = i
					}
				}
			}
			reached = s.reaches(log)
			if again := s.imports(t, log); reached && len(again) > 0 {
				t.Fatalf("the same again published %d of %d", len(again), len(log))
			}
		}
	})
}

// reaches reports whether no source of the log had more facts in an earlier version.
func (s *stream) reaches(log []*schema.Event) bool {
	facts := make(map[string]int)
	for _, e := range log {
		facts[e.Source]++
	}
	for source, n := range facts {
		if s.memory[source].Facts > n {
			return false
		}
	}
	return true
}

// TestACorrectedRecordCostsItsBlock: the blocks before and after stay known.
func TestACorrectedRecordCostsItsBlock(t *testing.T) {
	t.Parallel()
	s := &stream{stored: make(map[string]int), memory: make(map[string]Source)}
	var log []*schema.Event
	for i := range 1000 {
		log = append(log, event("s", fmt.Sprint(i)))
	}
	if n := len(s.imports(t, log)); n != 1000 {
		t.Errorf("%d facts were published at first", n)
	}
	log[500] = event("s", "corrected")
	if n := len(s.imports(t, append(log, event("s", "new")))); n != blockFacts+1 {
		t.Errorf("%d facts were published for a corrected and a new one", n)
	}
}

func TestTheErrorOfEmitEndsTheImport(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, before := range []Source{{}, {Facts: 2, Sums: make([]byte, sumBytes)}} {
		f := NewFilter(func(*schema.Event) Source { return before }, func(*schema.Event) error { return broken })
		err := f.Emit(event("s", "1"))
		if err == nil {
			_, err = f.End()
		}
		if err != broken {
			t.Errorf("the error is %v", err)
		}
	}
}
