package projector

import (
	"cmp"
	"errors"
	"slices"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// The oracle compares the tables with every message that the streams ever had. Its exceptions
// are the cases that the protocol does not promise. Each exception gives its reason.

// outcomes are the tables of which exactly one has a row for each message.
var outcomes = []string{"events", "duplicates", "quarantine"}

// verdict is the state of the oracle for one schedule.
type verdict struct {
	*schedule
	final map[string]map[simPlace]bool // by table, without repeats
}

// check reports whether the world fulfils the promises of the protocol.
func (s *schedule) check() {
	v := &verdict{schedule: s, final: make(map[string]map[simPlace]bool)}
	for _, table := range simTables {
		v.final[table] = s.tables.final(table)
	}
	stopped := false
	for _, c := range s.processes() {
		if !isDone(c.done) || c.err == nil || errors.Is(c.err, lease.ErrLost) {
			continue
		}
		stream := s.streams[c.stream]
		stopped = true
		switch {
		case errors.Is(c.err, streamio.ErrStreamForked) && v.mayBeForked(stream):
		case errors.Is(c.err, streamio.ErrEventsExpired) && v.mayBeExpired(stream):
		default:
			s.breaks("a projector ended with %v", c.err)
		}
	}
	if stopped {
		return // the projector reports it and stops
	}
	for _, stream := range s.streams {
		// Without its entry a lease begins at epoch 1 again. An older copy of the tables may
		// lack rows whose tokens the server knows under that epoch.
		if !s.journalLost || !s.restored {
			v.checkStream(stream)
		}
	}
	v.checkFormer()
	v.checkBare()
}

// in returns the outcomes of a message.
func (v *verdict) in(at simPlace) (tables []string) {
	for _, table := range outcomes {
		if v.final[table][at] {
			tables = append(tables, table)
		}
	}
	return tables
}

// within reports whether one of the ranges includes the message.
func within(list []ledger.Range, at simPlace) bool {
	return slices.ContainsFunc(list, func(r ledger.Range) bool {
		return r.Incarnation == at.incarnation && r.First <= at.seq && at.seq <= r.Last
	})
}

// covered counts the commits that include a message.
func (v *verdict) covered(at simPlace) (n int) {
	for _, c := range v.tables.newest(at.incarnation) {
		if within([]ledger.Range{c.Range}, at) {
			n++
		}
	}
	return n
}

// mayBeForked reports whether a committed message is missing from the stream without a
// deletion. If the stream was made anew after the projector looked, the message can be of the stream before.
func (v *verdict) mayBeForked(stream *simStream) bool {
	for _, undone := range []map[simPlace]bool{stream.undone, stream.undoneBefore} {
		for at := range undone {
			if v.covered(at) > 0 {
				return true
			}
		}
	}
	return len(v.tables.fenceless) > 0
}

// mayBeExpired reports whether an uncommitted message is gone, or a message of which a restored
// table may lack rows. The message may also be gone from an earlier stream that this one has
// replaced.
func (v *verdict) mayBeExpired(stream *simStream) bool {
	for _, gone := range []map[simPlace]bool{stream.purged, stream.deleted, stream.removed, stream.goneBefore} {
		for at := range gone {
			if v.covered(at) == 0 || v.restored {
				return true
			}
		}
	}
	return false
}

// A reading is the state after a stream's messages, in their order.
type reading struct {
	counted  map[decode.Identity]simPlace // the first message of each event
	doubtful map[decode.Identity]bool     // may have counted, according to a lost row
	withheld [simSecrets]bool
	perhaps  [simSecrets]bool // values that other streams withhold, and values of redactions without a row
	gone     [simSecrets]bool // values of redactions that expired, and whose rows were removed with their range
}

func (v *verdict) begin(stream *simStream) *reading {
	r := &reading{counted: make(map[decode.Identity]simPlace), doubtful: make(map[decode.Identity]bool)}
	for at := range v.final["events"] {
		if at.incarnation == stream.incarnation {
			continue
		}
		c := v.all[at]
		if !slices.ContainsFunc(v.streams, func(s *simStream) bool { return s.incarnation == at.incarnation }) {
			r.doubtful[c.id] = true
		}
		r.tell(c, &r.perhaps)
	}
	for at := range v.final["redactions"] {
		// events may be an older copy than redactions, and redactions decide
		if at.incarnation != stream.incarnation {
			r.tell(v.all[at], &r.perhaps)
		}
	}
	for at := range v.lost["events"] {
		// The first message of an event was in a stream that is gone, and events is an older copy:
		// the next message of that event takes its place. Its row in duplicates remains.
		if !slices.ContainsFunc(v.streams, func(s *simStream) bool { return s.incarnation == at.incarnation }) {
			r.doubtful[v.all[at].id] = true
		}
	}
	for at, c := range v.all {
		// Another partition was created again: its uncommitted rows remain until its projector
		// removes them.
		if len(v.streams) > 1 && at.incarnation != stream.incarnation && within(v.tables.discarded, at) {
			r.doubtful[c.id] = true
			r.tell(c, &r.perhaps)
		}
	}
	return r
}

// tell adds the values that a redaction withholds.
func (r *reading) tell(c *simContent, secrets *[simSecrets]bool) {
	if c.withholds >= 0 {
		secrets[c.withholds] = true
	}
}

// want is the expected outcome of a message by the order of the stream.
func (r *reading) want(all map[simPlace]*simContent, at simPlace) []string {
	c := all[at]
	switch {
	case !c.valid, c.secret >= 0 && r.withheld[c.secret]:
		return []string{"quarantine"}
	}
	var list []string
	first, again := r.counted[c.id]
	switch {
	case !again && r.doubtful[c.id]:
		return outcomes
	case !again:
		list = []string{"events"}
	case all[first].digest == c.digest:
		list = []string{"duplicates"}
	default:
		list = []string{"quarantine"}
	}
	if c.secret >= 0 && r.perhaps[c.secret] {
		list = append(list, "quarantine")
	}
	return list
}

// checkStream checks for the one correct outcome of every message that a stream ever had.
func (v *verdict) checkStream(stream *simStream) {
	r := v.begin(stream)
	ever := slices.Clone(stream.ever)
	slices.SortFunc(ever, func(a, b ledger.Position) int {
		return cmp.Or(cmp.Compare(a.StreamSeq, b.StreamSeq), a.RecordedAt.Compare(b.RecordedAt))
	})
	for _, position := range ever {
		at := placeIn(position)
		in := v.in(at)
		if stream.undone[at] {
			if v.checkUndone(stream, at, in); len(in) > 0 { // the message may count
				r.doubtful[v.all[at].id] = true
				r.tell(v.all[at], &r.perhaps)
			}
			continue
		}
		here := stream.holds(at.seq)
		if there := here != nil && placeIn(here.Position) == at; !there && len(in) == 0 {
			v.checkGone(stream, at, r)
			continue
		} else if there {
			v.checkCommitted(at)
		}
		c := v.all[at]
		want := r.want(v.all, at)
		switch {
		case v.covered(at) == 0 && (stream.purged[at] && (v.journalLost || v.restored) || stream.removed[at] && v.copies[at] && v.restored):
			// The message expired after a part of its rows was written, and the journal is
			// lost. No message brings the other rows, and no commit confirms the written ones.
			// The same holds for a message that was deleted for its value since an older copy.
			r.doubtful[c.id] = true
			r.tell(c, &r.perhaps)
			continue
		case len(in) == 0:
			v.breaks("message %d is in no table, want it in %v", at.seq, want)
			continue
		case len(in) > 1 && !(v.restored && (r.doubtful[c.id] || c.secret >= 0 && r.perhaps[c.secret])):
			// One table is an older copy than the others, and the message now has another
			// result. Either the first message of its event was deleted by hand and its row is
			// lost, or another stream's redaction has arrived.
			v.breaks("message %d is in %v, want it in %v", at.seq, in, want)
		case stream.purged[at] && within(v.tables.discarded, at) && c.secret >= 0 && r.gone[c.secret]:
			// A redaction of the same range withheld its value. Both expired, and the rows of the
			// range were removed, except those of messages with a withheld value.
			if in[0] != "quarantine" {
				v.breaks("message %d is in %v, want it in quarantine", at.seq, in)
			}
		case !slices.Contains(want, in[0]):
			v.breaks("message %d is in %v, want it in %v", at.seq, in, want)
		}
		if v.restored && v.final["quarantine"][at] && c.secret >= 0 && r.perhaps[c.secret] {
			r.doubtful[c.id] = true // an event before, which is refused now because its row was lost
		}
		v.checkRows(stream, at, c, r)
		if v.final["events"][at] {
			if _, again := r.counted[c.id]; !again {
				r.counted[c.id] = at
			}
			r.tell(c, &r.withheld)
		}
	}
}

// checkRows checks the rows that belong to the outcome of a message.
func (v *verdict) checkRows(stream *simStream, at simPlace, c *simContent, r *reading) {
	for _, table := range []string{"log_items", "redactions"} {
		want := v.final["events"][at] && c.table == table
		if want && v.lost[table][at] && (stream.deleted[at] || c.secret >= 0 && r.perhaps[c.secret]) {
			// An older copy of this table lacks the row. A person deleted the message, or
			// another stream now withholds its value.
			continue
		}
		if !want && v.final["quarantine"][at] && c.secret >= 0 && within(v.tables.fenceless, at) {
			continue // as in checkUndone: here the message came to be refused after its range was discarded
		}
		if v.final[table][at] != want {
			v.breaks("message %d is in %s: %v, want %v", at.seq, table, !want, want)
		}
	}
	if !v.final["quarantine"][at] {
		if stream.removed[at] {
			v.breaks("message %d was deleted by a projector and is not in quarantine", at.seq)
		}
		return
	}
	if !v.copies[at] {
		v.breaks("message %d is in quarantine and has no copy", at.seq)
	}
	if m := stream.holds(at.seq); c.valid && c.secret >= 0 && m != nil && placeIn(m.Position) == at {
		v.breaks("message %d has a withheld value and is still in the stream", at.seq)
	}
}

// checkGone checks a message that is neither in the stream nor in a table.
func (v *verdict) checkGone(stream *simStream, at simPlace, r *reading) {
	switch {
	case stream.removed[at] && v.restored && v.copies[at]:
		// An older copy of the tables has no row for a message that was deleted since for its
		// value. A rebuild restores the row from the quarantine stream.
	case stream.removed[at]:
		v.breaks("message %d was deleted by a projector and is in no table", at.seq)
	case stream.purged[at]:
		if within(v.tables.discarded, at) {
			r.tell(v.all[at], &r.gone)
		}
		// A ledger without commits begins at the first message of the stream.
		commits := v.tables.newest(stream.incarnation)
		if len(commits) > 0 && at.seq > commits[len(commits)-1].First && !v.stoodFor(stream, at) {
			v.breaks("message %d is in no table, and no projector reported it as expired", at.seq)
		}
	case v.restored: // it may have counted
		c := v.all[at]
		r.doubtful[c.id] = true
		r.tell(c, &r.perhaps)
	}
}

// stoodFor reports whether a missing message had replaced a committed one, through an older
// copy of the stream. No trace of that replacement remains.
func (v *verdict) stoodFor(stream *simStream, at simPlace) bool {
	for other := range stream.undone {
		if other.seq == at.seq && v.covered(other) > 0 && len(v.in(other)) > 0 {
			return true
		}
	}
	return false
}

// checkUndone checks a message that the current stream never had.
func (v *verdict) checkUndone(stream *simStream, at simPlace, in []string) {
	switch {
	case len(in) == 0, within(v.tables.fenceless, at):
		// A writer was suspended, and its journalled rows were removed because the stream no
		// longer held the messages. No token and no KILL stops the blocks that it sends later.
	case v.journalLost || v.restored:
		// The stream is an older copy, and the journal of the later rows is lost.
	case v.covered(at) == 0:
		v.breaks("message %d is in %v, is committed by nobody, and the stream does not have it", at.seq, in)
	case stream.last < at.seq, stream.holds(at.seq) != nil:
		v.breaks("message %d is in %v, the stream has another one there, and no projector reported a fork", at.seq, in)
	}
}

// checkCommitted checks for one commit of a message.
func (v *verdict) checkCommitted(at simPlace) {
	if n := v.covered(at); n != 1 && !(n > 1 && (v.journalLost || within(v.tables.fenceless, at))) {
		// Without the entry two projectors may hold the lease for a moment and cut differently.
		v.breaks("message %d is in %d commits", at.seq, n)
	}
}

// checkFormer checks that no rows of uncommitted messages of former streams remain. A
// journalled range that does not begin right after the last commit may have been committed, by
// a lost row of commits. If messages were deleted in between, its rows remain, too.
func (v *verdict) checkFormer() {
	for _, fault := range []string{"message deleted", "another message deleted", "stream purged", "message replaced", "value deleted"} {
		if v.faults[fault] > 0 {
			return
		}
	}
	for _, table := range simTables {
		for at := range v.final[table] {
			if slices.ContainsFunc(v.streams, func(s *simStream) bool { return s.incarnation == at.incarnation }) {
				continue
			}
			if v.covered(at) == 0 && !v.journalLost && !v.restored && !within(v.tables.fenceless, at) {
				v.breaks("message %d of an earlier stream is in %s and committed by nobody", at.seq, table)
			}
		}
	}
}

// checkBare checks the tables without FINAL, except for ranges without tokens or journal. A
// table commits that is older than the others has lost both: the ends of the ranges and their
// names.
func (v *verdict) checkBare() {
	for table, rows := range v.tables.tables {
		seen := make(map[simPlace]bool)
		for _, row := range rows {
			at := placeIn(row)
			if seen[at] && !slices.ContainsFunc(v.inexact(), func(list []ledger.Range) bool { return within(list, at) }) {
				v.breaks("%s has message %d twice", table, at.seq)
			}
			seen[at] = true
		}
	}
}

func (v *verdict) inexact() [][]ledger.Range {
	return [][]ledger.Range{v.tables.unnamed, v.unjournalled, v.uncut, v.tables.fenceless}
}
