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
	stored    map[string][32]byte // digests by source and id
	conflicts []string
	published []string
	memory    map[string]Source
	last      string // telling of the last import, "" for that of a log that was not rewritten
}

func newStream() *stream {
	return &stream{stored: make(map[string][32]byte), memory: make(map[string]Source)}
}

// imports imports a log, as the command does, and returns the facts that were published.
func (s *stream) imports(t interface{ Fatal(...any) }, log []*schema.Event) []string {
	s.published, s.last = nil, ""
	for corrected := make(map[string]bool); ; {
		err := s.attempt(t, log, corrected)
		differs, ok := err.(*Differs)
		if !ok {
			if err != nil {
				t.Fatal(err)
			}
			return s.firsts()
		}
		comparison := differs.Compare()
		for _, e := range log {
			_ = comparison.Emit(s.told(e))
		}
		if mark, rewritten := comparison.Rewritten(); rewritten {
			s.last = ";" + mark
		} else {
			corrected[differs.Source] = true
		}
	}
}

// firsts returns what was published without repetitions. An attempt that ended early repeats facts of
// other sources.
func (s *stream) firsts() (list []string) {
	seen := make(map[string]bool)
	for _, key := range s.published {
		if !seen[key] {
			list = append(list, key)
		}
		seen[key] = true
	}
	return list
}

// told returns an event as the last import tells it.
func (s *stream) told(e *schema.Event) *schema.Event {
	told := *e
	told.Source += s.last
	return &told
}

func (s *stream) attempt(t interface{ Fatal(...any) }, log []*schema.Event, corrected map[string]bool) error {
	before := len(s.published)
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
		key, digest := e.Source+" "+e.ID, e.Digest()
		if stored, ok := s.stored[key]; ok && stored != digest {
			s.conflicts = append(s.conflicts, key)
		}
		s.stored[key] = digest
		s.published = append(s.published, key)
		return nil
	})
	f.Corrected = corrected
	for _, e := range log {
		if err := f.Emit(s.told(e)); err != nil {
			return err
		}
	}
	added, err := f.End()
	if err != nil {
		return err
	}
	maps.Copy(s.memory, added)
	if f.Facts != len(log) || f.Known+len(s.published)-before != len(log) {
		t.Fatal(fmt.Sprintf("%d facts, %d known, %d published of %d", f.Facts, f.Known, len(s.published), len(log)))
	}
	return nil
}

func event(source, id string) *schema.Event {
	return &schema.Event{Source: source, ID: id, Type: schema.TypeLogAppended.CloudEventsType()}
}

// TestImportsCostWhatIsNew imports logs that grow, shrink and change. The stream has each fact of each
// version, the facts of a source keep their order, and a version that only grew publishes what is
// new. A version that is imported again publishes nothing, unless it was rewritten. A version that reaches less far than an
// earlier one may publish facts again.
func TestImportsCostWhatIsNew(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := newStream()
		var log []*schema.Event
		for version := range rapid.IntRange(1, 6).Draw(t, "versions") {
			grewOnly, had := true, len(log)
			if had > 0 {
				switch rapid.IntRange(0, 4).Draw(t, "change") {
				case 0: // a record is corrected
					log = slices.Clone(log)
					i := rapid.IntRange(0, had-1).Draw(t, "corrected")
					log[i] = &schema.Event{Source: log[i].Source, ID: fmt.Sprintf("corrected-%d-%d", version, i)}
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
			if grewOnly && reached && s.last == "" && len(published) != len(log)-kept {
				t.Fatalf("%d of %d new facts were published", len(published), len(log)-kept)
			}
			for _, e := range log {
				if _, ok := s.stored[s.told(e).Source+" "+e.ID]; !ok {
					t.Fatalf("%s %s is not stored", e.Source, e.ID)
				}
			}
			for _, source := range []string{"source-0", "source-1", "source-2"} {
				next := 0
				for _, e := range log {
					if e.Source != source {
						continue
					}
					if i := slices.Index(published, s.told(e).Source+" "+e.ID); i >= 0 && i < next {
						t.Fatalf("%s came before its predecessor", e.ID)
					} else if i >= 0 {
						next = i
					}
				}
			}
			reached = s.reaches(log)
			if again := s.imports(t, log); reached && s.last == "" && len(again) > 0 {
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

// TestACutLogThatWasRewritten: a log that reaches less far than before, within a block, is a telling of
// its own if its entries are others.
func TestACutLogThatWasRewritten(t *testing.T) {
	t.Parallel()
	s := newStream()
	var log []*schema.Event
	for i := range 10 {
		log = append(log, event("s", fmt.Sprint(i)))
	}
	s.imports(t, log)
	if s.imports(t, log[:5]); s.last != "" {
		t.Errorf("a log that was cut has the telling %q", s.last)
	}
	other := event("s", "3")
	other.Data = []byte(`"other"`)
	log[3] = other
	if s.imports(t, log[:5]); s.last == "" || len(s.conflicts) > 0 {
		t.Errorf("the telling is %q, conflicts: %q", s.last, s.conflicts)
	}
}

// TestRewrittenLogs imports a log and then another version of it. No fact has an id of the stream with
// other bytes. A version whose entries are others is a telling of its own, also after it has grown, and
// costs nothing the next time.
func TestRewrittenLogs(t *testing.T) {
	t.Parallel()
	placed := func(ids []string, text string) (log []*schema.Event) { // with bytes that change with the place
		for i, id := range ids {
			e := event("s", id)
			e.Data = fmt.Appendf(nil, `{"position":%d,"text":%q}`, i, text)
			log = append(log, e)
		}
		return log
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(4, 2000).Draw(t, "facts")
		ids := make([]string, n)
		for i := range ids {
			ids[i] = fmt.Sprint(i)
		}
		log := placed(ids, "as it was")
		s := newStream()
		s.imports(t, log)
		own, either, half := true, false, rapid.IntRange(1, n/2).Draw(t, "half")
		switch change := rapid.IntRange(0, 5).Draw(t, "change"); change {
		case 0: // the first half has the same ids and other bytes
			log = slices.Concat(placed(ids[:half], "rewritten"), log[half:])
		case 1: // the first half has other ids; a sample need not have a small part of a long log
			either = half < n/2
			log = slices.Clone(log)
			for i := range half {
				log[i] = event("s", fmt.Sprint("new-", i))
			}
		case 2: // a record is gone
			log = placed(slices.Delete(slices.Clone(ids), half, half+1), "as it was")
		case 3: // a record is new
			log = placed(slices.Insert(slices.Clone(ids), half, "new"), "as it was")
		case 4: // the log was cut and went on
			log = slices.Clone(log[:n-half])
			for i := range half {
				log = append(log, event("s", fmt.Sprint("new-", i)))
			}
		case 5: // another slice of the session
			own, log = false, nil
			for i := range n {
				log = append(log, event("s", fmt.Sprint("slice-", i)))
			}
		}
		s.imports(t, log)
		if told := s.last; (told != "") != own && !either {
			t.Fatalf("the telling is %q", told)
		} else if more := append(log, event("s", "more")); true {
			if published := s.imports(t, more); s.last != told || told != "" && len(published) != 1 {
				t.Fatalf("the log that has grown has the telling %q after %q and publishes %d facts", s.last, told, len(published))
			}
		}
		if len(s.conflicts) > 0 {
			t.Fatalf("%d conflicts, such as %s", len(s.conflicts), s.conflicts[0])
		}
	})
}

// TestACorrectedRecordCostsItsBlock: the blocks before and after stay known.
func TestACorrectedRecordCostsItsBlock(t *testing.T) {
	t.Parallel()
	s := newStream()
	var log []*schema.Event
	for i := range 1000 {
		log = append(log, event("s", fmt.Sprint(i)))
	}
	log[500].Type = ""
	if n := len(s.imports(t, log)); n != 1000 {
		t.Errorf("%d facts were published at first", n)
	}
	log[500] = &schema.Event{Source: "s", ID: "corrected"}
	if n := len(s.imports(t, append(log, event("s", "new")))); n != blockFacts+1 {
		t.Errorf("%d facts were published for a corrected and a new one", n)
	}
}

// TestDropped: each fact is either passed on or dropped.
func TestDropped(t *testing.T) {
	t.Parallel()
	s := newStream()
	var log []*schema.Event
	for i := range 3*blockFacts + 5 {
		log = append(log, event("s", fmt.Sprint(i)))
	}
	s.imports(t, log)
	for _, again := range []bool{false, true} {
		var passed, dropped int
		f := NewFilter(func(*schema.Event) Source { return s.memory["s"] }, func(*schema.Event) error { passed++; return nil })
		f.Again, f.Dropped = again, func(*schema.Event) { dropped++ }
		for _, e := range append(log, event("s", "new")) {
			if err := f.Emit(e); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := f.End(); err != nil || passed+dropped != len(log)+1 || again == (dropped > 0) {
			t.Errorf("again %v: %d facts passed and %d dropped of %d, %v", again, passed, dropped, len(log)+1, err)
		}
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
