package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/ctxledger/ctxledger/schema"
)

// TestCleanPacks gives no false alarm over packs of any shape: the number of
// them is cleanPacks.
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

// TestOpenScope does not call complete what nobody sealed.
func TestOpenScope(t *testing.T) {
	t.Parallel()
	r := newRig(t, filepath.Join(t.TempDir(), "pack"), false, sessionScope(), 1)
	s := newSession(t, 1)
	s.turnOf(9, func(e *schema.Event) { r.record(e) })
	r.finish()
	hold(t, r.verify(), map[Question]Status{Completeness: Open})
}

// TestSeveralLogs verifies a scope that goes over two incarnations of a stream,
// with erased records and records that have no log index in order.
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

// TestErasedRecords reads them as expired and proves them by their leaf.
func TestErasedRecords(t *testing.T) {
	t.Parallel()
	for _, listed := range []bool{true, false} {
		r := newRig(t, filepath.Join(t.TempDir(), "pack"), false, sessionScope(), 1)
		s := newSession(t, 1)
		r.begin()
		var leaf string
		s.turnOf(9, func(e *schema.Event) {
			if *e.Sequence == 3 {
				leaf = fmt.Sprintf("%x", r.erase(e, "erasure-1").Leaf[:])
			} else {
				r.record(e)
			}
		})
		if !listed {
			leaf = fmt.Sprintf("%064x", 7)
		}
		r.record(s.event(erasure("erasure-1", leaf)))
		r.finish()
		report := r.verify()
		want := map[Question]Status{Completeness: Open}
		if !listed {
			want[Inclusion] = Failed
		}
		hold(t, report, want)
		if report.Expired != 1 {
			t.Errorf("%d expired", report.Expired)
		}
	}
}

// TestWithheldRecords verifies the proofs of a pack without ids, and says what
// cannot be known of it.
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
	// An empty folder and something else are packs that failed.
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

// TestVerifyWritesNothing leaves the pack and its folder as they were.
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
