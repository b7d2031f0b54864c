package document_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
)

// TestGolden derives a pack of one event of every type and checks every file against the public
// schemas.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, summary := derive(t, header(), golden(t))
	counts := valid(t, files)
	closed(t, files)
	want := map[string]int{
		"envelopes": 1, "surfaces": 2, "items": 2, "source_refs": 2, "selections": 1, "budgets": 1, "assemblies": 1, "compactions": 1, "missing_context": 3,
		"events": len(schema.Types()),
	}
	for kind, n := range want {
		if got := counts[pack.ContextFile(kind)]; got != n {
			t.Errorf("%d documents in %s, want %d", got, kind, n)
		}
	}
	if summary.Records != uint64(len(schema.Types())) || summary.Unread != 0 || summary.Windows != 1 {
		t.Errorf("summary %+v", summary)
	}
	edges := make(map[string]int)
	for _, e := range read[provenance](t, files, pack.ProvenanceFile).Edges {
		edges[e.Relationship]++
	}
	for _, relationship := range []string{"generated_by", "used", "derived_from", "associated_with", "redacted_from"} {
		if edges[relationship] == 0 {
			t.Errorf("no edge %s in %v", relationship, edges)
		}
	}
	for _, text := range []string{"turn turn-3", "Task completed: retry/backoff.go as read", "█", "evidence verify"} {
		if !bytes.Contains(files[pack.ReadmeFile].Data, []byte(text)) {
			t.Errorf("README without %q:\n%s", text, files[pack.ReadmeFile].Data)
		}
	}
}

// TestSameRecordsSameBytes: the documents depend only on their records.
func TestSameRecordsSameBytes(t *testing.T) {
	t.Parallel()
	first, _ := derive(t, header(), golden(t))
	for range 5 {
		again, _ := derive(t, header(), golden(t))
		for path, f := range first {
			if !bytes.Equal(f.Data, again[path].Data) {
				t.Fatalf("%s differs:\n%s\n%s", path, f.Data, again[path].Data)
			}
		}
	}
}

func compare(t testing.TB, files fstest.MapFS, records []*pack.Record) []document.Difference {
	t.Helper()
	c, err := document.NewComparer(files, header())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := c.Add(0, r); err != nil {
			t.Fatal(err)
		}
	}
	_, found, err := c.Close()
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestComparer flips, removes and adds bytes in every file. Each time, the differences name this
// file and line, and no other file.
func TestComparer(t *testing.T) {
	t.Parallel()
	records := golden(t)
	clean, _ := derive(t, header(), records)
	if found := compare(t, clean, records); len(found) > 0 {
		t.Fatal(found)
	}
	random := rand.New(rand.NewPCG(7, 7))
	for _, path := range document.Files() {
		data := clean[path].Data
		for n := range 24 {
			at := random.IntN(len(data))
			var changed []byte
			switch n % 4 {
			case 0:
				changed = slices.Clone(data)
				changed[at] ^= 1 << random.IntN(8)
			case 1:
				changed = slices.Delete(slices.Clone(data), at, at+1)
			case 2:
				changed = slices.Insert(slices.Clone(data), at, data[at])
			case 3:
				changed = append(slices.Clone(data), data[at])
				at = len(data)
			}
			files := maps.Clone(clean)
			files[path] = &fstest.MapFile{Data: changed}
			found := compare(t, files, records)
			line := 1 + bytes.Count(data[:at], []byte("\n"))
			if len(found) == 0 {
				t.Fatalf("%s: change %d at byte %d (line %d) was not found", path, n%4, at, line)
			}
			nearest := 1 << 30
			for _, d := range found {
				if d.File != path {
					t.Fatalf("%s changed at line %d: %v", path, line, found)
				}
				nearest = min(nearest, max(d.Line-line, line-d.Line))
			}
			// Removing or inserting a byte equal to its neighbours gives the same text at later
			// places.
			if nearest > 1 && n%4 != 1 && n%4 != 2 {
				t.Fatalf("%s changed at line %d: %v", path, line, found)
			}
		}
		files := maps.Clone(clean)
		delete(files, path)
		found := compare(t, files, records)
		if len(found) == 0 || slices.ContainsFunc(found, func(d document.Difference) bool { return d.File != path }) {
			t.Errorf("%s taken away: %v", path, found)
		}
	}
}

// TestComparerNamesTheRecord: the difference at a changed element names the element's record.
func TestComparerNamesTheRecord(t *testing.T) {
	t.Parallel()
	records := golden(t)
	files, _ := derive(t, header(), records)
	path := pack.ContextFile("selections")
	files[path] = &fstest.MapFile{Data: bytes.Replace(files[path].Data, []byte("why is the retry test flaky"), []byte("why is the retry test solid"), 1)}
	i := slices.IndexFunc(records, func(r *pack.Record) bool { return r.Event.EventType() == schema.TypeSelectionCompleted })
	found := compare(t, files, records)
	if len(found) != 1 || found[0].File != path || found[0].Line != 2 || found[0].LogIndex != records[i].LogIndex || found[0].Outside {
		t.Errorf("%v, want record %d", found, records[i].LogIndex)
	}
}

// TestWriterErrorEnds: an error in one file ends the whole derivation.
func TestWriterErrorEnds(t *testing.T) {
	t.Parallel()
	b, err := document.New(header(), func(p document.Part) io.Writer {
		if p.File == pack.ProvenanceFile && p.Index == 1 {
			return &failing{after: 2000}
		}
		return io.Discard
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range golden(t) {
		if err = b.Add(0, r); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "write provenance.json: full") {
		t.Fatalf("error %v", err)
	}
	if _, again := b.Close(); again == nil {
		t.Error("closed after an error")
	}
}

type failing struct{ after int }

func (f *failing) Write(b []byte) (int, error) {
	if f.after -= len(b); f.after < 0 {
		return 0, fmt.Errorf("full")
	}
	return len(b), nil
}

// TestHeader: headers without a scope, or with an invalid Agent Evidence id, are errors.
func TestHeader(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*pack.Header){
		"id":      func(h *pack.Header) { h.ID = "pack/1" },
		"time":    func(h *pack.Header) { h.Created = h.Created.AddDate(-5000, 0, 0); h.Created = pack.Header{}.Created },
		"scope":   func(h *pack.Header) { h.Scope.Kind = "galaxy" },
		"turn":    func(h *pack.Header) { h.Scope.Kind = pack.ScopeTurn },
		"session": func(h *pack.Header) { h.Scope.Session = "" },
	} {
		h := header()
		change(&h)
		if _, err := document.New(h, func(document.Part) io.Writer { return io.Discard }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestHostileRecords: records that break the contract still get documents, and the documents stay
// valid.
func TestHostileRecords(t *testing.T) {
	t.Parallel()
	records := golden(t)
	for i, r := range records {
		switch i % 4 {
		case 0:
			r.Event.Data = []byte(`{"schema_version"`)
		case 1:
			r.Event.Data = append(r.Event.Data, "\xff\xfe"...)
		case 2:
			r.Event.Type = "com.example.other\n`"
		case 3:
			r.Event.RunID, r.Event.TurnID, r.Event.ID = strings.Repeat("é/", 300), "```\n# x", "\x00"
		}
	}
	files, summary := derive(t, header(), records)
	valid(t, files)
	closed(t, files)
	if summary.Unread == 0 {
		t.Error("nothing was unread")
	}
	if strings.Count(string(files[pack.ReadmeFile].Data), "```")%2 != 0 {
		t.Errorf("a record ends a block of the README:\n%s", files[pack.ReadmeFile].Data)
	}
}

// TestErasedItemsAreExpired: a named item is expired if only erased facts described it. Items of
// another session, and items that a fact still describes, are not expired.
func TestErasedItemsAreExpired(t *testing.T) {
	t.Parallel()
	var taken []schema.ErasedRecord
	for _, of := range [][2]string{{"i1", "sess-7f3a"}, {"i1", "sess-7f3a"}, {"i2", "sess-7f3a"}, {"i3", "other"}, {"i4", "sess-7f3a"}} {
		taken = append(taken, schema.ErasedRecord{Stream: "CTX", Sequence: 1, SessionID: of[1], ItemID: of[0]})
	}
	files, _ := derive(t, header(), []*pack.Record{
		event(t, 1, &schema.ErasureApplied{ErasureID: "erasure-9", ErasedSubject: "user-1", Reason: "request", Records: taken}, schema.Correlation{}),
		event(t, 2, &schema.ItemAdded{Item: schema.Item{ItemID: "i2"}}, schema.Correlation{}),
		event(t, 3, &schema.AssemblyCreated{AssemblyID: "a1", Target: "model", OrderedBlocks: []schema.Block{{Block: "b", ItemRefs: schema.Refs("i1", "i2", "i3")}}}, schema.Correlation{}),
	})
	valid(t, files)
	closed(t, files)
	list := read[packDocument](t, files, pack.PackFile).Redactions
	if len(list) != 1 || list[0].Target != "item:i1" || list[0].Kind != "expire" || !strings.HasSuffix(list[0].AppliedBy, "erasure-9") {
		t.Errorf("%+v", list)
	}
}
