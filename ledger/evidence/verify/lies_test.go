package verify

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/schema"
)

// turnWith writes a turn in which one event is changed before it is recorded.
func turnWith(at int, change func(*schema.Event)) func(r *rig) {
	return func(r *rig) {
		n := 0
		newSession(r.t, 1).turnOf(9, func(e *schema.Event) {
			if n++; n == at {
				change(e)
			}
			r.record(e)
		})
	}
}

// turnOf writes a turn by another method than [rig.record].
func turnOf(write func(r *rig, n int, e *schema.Event)) func(r *rig) {
	return func(r *rig) {
		n := 0
		newSession(r.t, 1).turnOf(9, func(e *schema.Event) {
			n++
			write(r, n, e)
		})
	}
}

// recordedAt writes a record with a time of recording.
func (r *rig) recordedAt(e *schema.Event, at time.Time, seq uint64) {
	rec := &pack.Record{LogIndex: r.size, StreamSeq: seq, RecordedAt: at, Salt: r.salt(), Event: e}
	rec.Leaf = proof.Leaf(e, proof.Salt(rec.Salt))
	r.put(rec)
}

// TestLies: whoever holds the keys of the pack and of the log can record and sign anything. What
// contradicts the rest of the pack is found and named.
func TestLies(t *testing.T) {
	t.Parallel()
	honest := turnWith(0, nil)
	for name, c := range map[string]struct {
		header func(*pack.Header)
		write  func(r *rig)
		q      Question
		file   string
		reason string
	}{
		"an event twice": {nil, turnOf(func(r *rig, _ int, e *schema.Event) { r.record(e); r.record(e) }), Format, pack.EventsFile, "has the source and the id of an earlier record"},
		"an id twice":    {nil, turnWith(3, func(e *schema.Event) { e.ID = "e-2" }), Format, pack.EventsFile, `has the source and the id of an earlier record, "e-2"`},
		"a record in two logs": {func(h *pack.Header) { h.Logs = append(h.Logs, proof.Origin("CTX", "2")) }, func(r *rig) {
			honest(r)
			r.nextLog()
			honest(r)
		}, Format, pack.EventsFile, "has the source and the id of an earlier record"},
		"a log twice":                 {func(h *pack.Header) { h.Logs = append(h.Logs, h.Logs[0]) }, func(r *rig) { honest(r); r.nextLog() }, Format, pack.HeaderFile, "twice, as log 1 and 2"},
		"a sequence twice":            {nil, turnWith(3, func(e *schema.Event) { *e.Sequence = 2 }), Completeness, pack.EventsFile, "sequence 3 of"},
		"data of another type":        {nil, turnWith(3, func(e *schema.Event) { e.Data = []byte(`{"x":1}`) }), Format, pack.EventsFile, "breaks the contract of events"},
		"data that is not JSON":       {nil, turnWith(3, func(e *schema.Event) { e.Data = []byte(`{"x":`) }), Format, pack.EventsFile, "breaks the contract of events"},
		"no source":                   {nil, turnWith(3, func(e *schema.Event) { e.Source = "" }), Format, pack.EventsFile, "required at /source"},
		"no id":                       {nil, turnWith(3, func(e *schema.Event) { e.ID = "" }), Format, pack.EventsFile, "required at /id"},
		"a record of another session": {nil, turnWith(3, func(e *schema.Event) { e.SessionID = "s-2" }), Format, pack.EventsFile, `is of session "s-2", but the header names session "s-1"`},
		"a header of another session": {func(h *pack.Header) { h.Scope.Session = "s-2" }, honest, Format, pack.EventsFile, `is of session "s-1", but the header names session "s-2"`},
		"a header of another turn":    {func(h *pack.Header) { h.Scope.Kind, h.Scope.Turn = pack.ScopeTurn, "turn-9" }, honest, Format, pack.HeaderFile, "names a scope of which the pack has no record"},
		"a header of another run":     {func(h *pack.Header) { h.Scope.Kind, h.Scope.Run = pack.ScopeRun, "run-9" }, honest, Format, pack.HeaderFile, "names a scope of which the pack has no record"},
		"a better telling that is not there": {func(h *pack.Header) {
			h.Rules, h.Retold = 3, []pack.Retold{{Source: "urn:ctxledger:import:codex:s;r2;bare;0a", By: "urn:ctxledger:import:codex:s;r2;text;0b"}}
		}, turnWith(3, func(e *schema.Event) { e.Source = "urn:ctxledger:import:codex:s;r2;bare;0a" }), Format, pack.HeaderFile, "has no record of it"},
		"a record of a call that is not there": {func(h *pack.Header) {
			const source = "urn:ctxledger:import:codex:s:from:r;r3;bare;0a"
			h.Rules, h.Retold = 4, []pack.Retold{{Source: source, Call: "call-1", By: source, ByCall: "call-2"}}
		}, turnWith(3, func(e *schema.Event) {
			e.Source = "urn:ctxledger:import:codex:s:from:r;r3;bare;0a"
			if broken, err := e.Encode(&schema.UsageRecorded{CallID: "call-1"}); err != nil || broken != nil {
				panic(fmt.Sprint(broken, err))
			}
		}), Format, pack.HeaderFile, `says that the record of call "call-2" counts`},
		"recorded after the export":     {nil, turnOf(func(r *rig, _ int, e *schema.Event) { r.recordedAt(e, rigTime.Add(2*time.Hour), r.seq+1) }), Format, pack.EventsFile, "after the pack was created"},
		"exported before the recording": {func(h *pack.Header) { h.Created = rigTime.Add(-24 * time.Hour) }, honest, Format, pack.EventsFile, "after the pack was created"},
		"recorded backwards": {nil, turnOf(func(r *rig, n int, e *schema.Event) {
			r.recordedAt(e, rigTime.Add(-time.Duration(n)*time.Hour), r.seq+1)
		}), Format, pack.EventsFile, "but an earlier record of the log at"},
		"a sequence of the stream again": {nil, turnOf(func(r *rig, _ int, e *schema.Event) { r.recordedAt(e, e.Time, 1) }), Order, pack.EventsFile, "has the stream sequence 1, after 1"},
		"erased without an erasure": {nil, turnOf(func(r *rig, n int, e *schema.Event) {
			if n == 3 {
				r.erase(e, "erasure-1")
				return
			}
			r.record(e)
		}), Inclusion, pack.EventsFile, "no fact of this erasure"},
		"a record left out": {nil, turnOf(func(r *rig, n int, e *schema.Event) {
			if n == 3 {
				r.other(1)
				return
			}
			r.record(e)
		}), Completeness, pack.EventsFile, "sequence 3 of"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, filepath.Join(t.TempDir(), "pack"), false, sessionScope(), 1)
			if c.header != nil {
				c.header(&r.header)
			}
			c.write(r)
			r.finish()
			want(t, r.verify(), c.q, c.file, c.reason)
		})
	}
}

// TestWitnessedHeads: a head that a witness has seen tells a second history of the log.
func TestWitnessedHeads(t *testing.T) {
	t.Parallel()
	r := small(t)
	head, err := ReadHead(r.read(pack.CheckpointFile(1)), []note.Verifier{r.key.public, r.key.public})
	r.must(err)
	with := func(change func(*proof.Checkpoint)) *Report {
		seen := head
		change(&seen)
		report, err := Pack(context.Background(), r.target, Options{Keys: []note.Verifier{r.key.public}, Witnessed: []proof.Checkpoint{seen}})
		r.must(err)
		return report
	}
	want(t, with(func(c *proof.Checkpoint) { c.Root[0] ^= 1 }), Signature, pack.CheckpointFile(1), "the log has two histories")
	for text, change := range map[string]func(*proof.Checkpoint){
		"is the witnessed one":          func(*proof.Checkpoint) {},
		"`ctxledger proof consistency`": func(c *proof.Checkpoint) { c.Size++ },
	} {
		report := with(change)
		if v := report.Of(Signature); v.Status != Passed || len(v.Notes) != 1 || !strings.Contains(v.Notes[0], text) {
			t.Errorf("%s: %+v", text, v)
		}
	}
	if v := with(func(c *proof.Checkpoint) { c.Origin = "another"; c.Root[0] ^= 1 }).Of(Signature); v.Status != Passed || len(v.Notes) > 0 {
		t.Errorf("of another log: %+v", v)
	}
}
