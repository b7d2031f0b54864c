package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/ctxledger/ctxledger/schema"
)

// TestCleanPacks: unchanged packs of every form give no fault. cleanPacks is the number of packs.
func TestCleanPacks(t *testing.T) {
	t.Parallel()
	for seed := range uint64(cleanPacks(t)) {
		target := filepath.Join(t.TempDir(), "pack")
		s := newSession(t, seed)
		n := 1 + s.random.IntN(180)
		r := sealed(t, target, seed%4 == 0, n, seed)
		report := r.verify()
		hold(t, report, nil)
		if t.Failed() {
			t.Fatalf("pack %d of %d records: %+v", seed, n, report)
		}
		if report.Records < 2 || report.Logs[0].Records != report.Records || report.Pack != "pack-1" || len(report.SignedBy) != 1 {
			t.Fatalf("%+v", report)
		}
	}
}

// TestOpenScope: a scope without seal is never complete.
func TestOpenScope(t *testing.T) {
	t.Parallel()
	r := newRig(t, filepath.Join(t.TempDir(), "pack"), false, sessionScope(), 1)
	s := newSession(t, 1)
	s.turnOf(9, func(e *schema.Event) { r.record(e) })
	r.finish()
	hold(t, r.verify(), map[Question]Status{Completeness: Open})
}

// TestSeveralLogs verifies a scope over three logs. The logs also have records of other sessions, so
// the log indexes of the scope have gaps.
func TestSeveralLogs(t *testing.T) {
	t.Parallel()
	r := newRig(t, filepath.Join(t.TempDir(), "pack"), true, sessionScope(), 3)
	s := newSession(t, 1)
	r.begin()
	for range 2 {
		s.turnOf(9, func(e *schema.Event) {
			r.other(2)
			r.record(e)
		})
		r.nextLog()
	}
	r.other(5)
	r.record(s.seal("session"))
	r.finish()
	report := r.verify()
	hold(t, report, nil)
	if len(report.Logs) != 3 || report.Logs[1].Records != 9 || report.Logs[2].Records != 1 {
		t.Errorf("%+v", report.Logs)
	}
}

// TestErasedRecords: erased records count as expired and are proven by their leaf. An erasure fact
// must name each of them. An erased record described an item that other records name, so their
// references have no target.
func TestErasedRecords(t *testing.T) {
	t.Parallel()
	other := strings.Repeat("7", 64)
	named := func(r *schema.ErasedRecord) {
		r.Source, r.SourceSequence, r.SessionID = testSource, new(int64(3)), "s-1"
	}
	for name, c := range map[string]struct {
		change func(f *schema.ErasureApplied)
		apart  bool // the fact is in a separate log
		want   map[Question]Status
		detail string // of the completeness verdict
	}{
		"named":              {func(f *schema.ErasureApplied) { named(&f.Records[0]) }, false, map[Question]Status{References: Open}, "sealed scopes: 2, of which complete: 2; records expired: 1"},
		"in another log":     {func(f *schema.ErasureApplied) { named(&f.Records[0]) }, true, map[Question]Status{References: Open}, "sealed scopes: 2, of which complete: 2; records expired: 1"},
		"without its origin": {func(f *schema.ErasureApplied) {}, false, map[Question]Status{Completeness: Open, References: Open}, "complete: 0"},
		"of another sequence": {func(f *schema.ErasureApplied) { named(&f.Records[0]); f.Records[0].SourceSequence = new(int64(4)) }, false,
			map[Question]Status{Completeness: Failed, References: Open}, "complete: 0"},
		"of another leaf": {func(f *schema.ErasureApplied) { named(&f.Records[0]); f.Records[0].Leaf = other }, false,
			map[Question]Status{Inclusion: Failed, Completeness: Failed, References: Open}, "complete: 0"},
		"of another erasure": {func(f *schema.ErasureApplied) { named(&f.Records[0]); f.ErasureID = "erasure-2" }, false,
			map[Question]Status{Inclusion: Failed, Completeness: Failed, References: Open}, "complete: 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			logs := 1
			if c.apart {
				logs = 2
			}
			r := newRig(t, filepath.Join(t.TempDir(), "pack"), false, sessionScope(), logs)
			s := newSession(t, 1)
			r.begin()
			var fact *schema.ErasureApplied
			s.turnOf(9, func(e *schema.Event) {
				if *e.Sequence == 3 {
					fact = erasure("erasure-1", fmt.Sprintf("%x", r.erase(e, "erasure-1").Leaf[:]))
				} else {
					r.record(e)
				}
			})
			c.change(fact)
			r.record(s.seal("session"))
			if c.apart {
				r.nextLog()
			}
			e, err := schema.NewEvent(fact, "e-erasure", "urn:ctxledger:erase", rigTime, schema.Correlation{Tenant: "acme"})
			r.must(err)
			r.record(e)
			r.finish()
			report := r.verify()
			hold(t, report, c.want)
			if v := report.Of(Completeness); report.Expired != 1 || !strings.Contains(v.Detail, c.detail) {
				t.Errorf("%d expired, %s", report.Expired, v.Detail)
			}
		})
	}
}

// TestWithheldRecords verifies the proofs of a pack without ids. The report lists the unknown
// answers.
func TestWithheldRecords(t *testing.T) {
	t.Parallel()
	r := newRig(t, filepath.Join(t.TempDir(), "pack"), false, sessionScope(), 1)
	r.header.RedactIDs = true
	s := newSession(t, 1)
	r.begin()
	s.turnOf(9, r.withhold)
	r.finish()
	report := r.verify()
	hold(t, report, map[Question]Status{Completeness: Open, Derivation: NotChecked, Conservation: NotChecked, Redaction: NotChecked})
	if report.Withheld != 9 {
		t.Errorf("%d withheld", report.Withheld)
	}
}

func TestWrongUse(t *testing.T) {
	t.Parallel()
	if _, err := Pack(context.Background(), t.TempDir(), Options{}); !errors.Is(err, ErrNoKeys) {
		t.Error(err)
	}
	options := Options{Keys: []note.Verifier{newKey(t).public}}
	if _, err := Pack(context.Background(), filepath.Join(t.TempDir(), "x"), options); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := sealed(t, filepath.Join(t.TempDir(), "pack"), false, 20, 1)
	if _, err := Pack(ctx, r.target, options); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// An empty folder and another file are failed packs.
	file := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(file, []byte("no zip"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{t.TempDir(), file} {
		report, err := Pack(context.Background(), path, options)
		if err != nil || !report.Failed() || report.Of(Format).Status != Failed || report.Of(Completeness).Status == Passed {
			t.Errorf("%+v %v", report, err)
		}
	}
}

// TestVerifyWritesNothing: the pack and its folder remain unchanged.
func TestVerifyWritesNothing(t *testing.T) {
	t.Parallel()
	r := sealed(t, filepath.Join(t.TempDir(), "pack"), false, 20, 1)
	before := listAll(t, filepath.Dir(r.target))
	r.verify()
	if after := listAll(t, filepath.Dir(r.target)); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

func listAll(t *testing.T, dir string) (list string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		list += fmt.Sprintln(path, info.Size(), info.Mode(), info.ModTime())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return list
}
