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

// The oracle holds the tables against everything that the streams ever had. What
// it lets pass beyond the exact outcome is what the protocol does not claim, and
// each exception says why.

// outcomes are the tables of which exactly one has a row of each message.
var outcomes = []string{"events", "duplicates", "quarantine"}

// verdict is the oracle at work on one schedule.
type verdict struct {
	*schedule
	final map[string]map[simPlace]bool // by table, repeats collapsed
}

// check asks whether the world is what the protocol promises.
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
		return // it says so, and goes no further
	}
	for _, stream := range s.streams {
		// Without its entry a lease begins at epoch 1 again, and an older copy of the
		// tables may lack rows of which the server knows the tokens under that epoch.
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

// within reports whether one of the ranges has the message.
func within(list []ledger.Range, at simPlace) bool {
	return slices.ContainsFunc(list, func(r ledger.Range) bool {
		return r.Incarnation == at.incarnation && r.First <= at.seq && at.seq <= r.Last
	})
}

// covered counts the commits that have a message.
func (v *verdict) covered(at simPlace) (n int) {
	for _, c := range v.tables.newest(at.incarnation) {
		if within([]ledger.Range{c.Range}, at) {
			n++
		}
	}
	return n
}

// mayBeForked reports whether something was committed that the stream has no more
// and that nobody deleted.
func (v *verdict) mayBeForked(stream *simStream) bool {
	for at := range stream.undone {
		if v.covered(at) > 0 {
			return true
		}
	}
	return len(v.tables.fenceless) > 0
}

// mayBeExpired reports whether something is gone that was not committed, or that a
// restored table might lack. It may be gone from the stream in whose place this one
// came meanwhile.
func (v *verdict) mayBeExpired(stream *simStream) bool {
	for _, gone := range []map[simPlace]bool{stream.purged, stream.deleted, stream.removed, stream.before} {
		for at := range gone {
			if v.covered(at) == 0 || v.restored {
				return true
			}
		}
	}
	return false
}

// A reading is what the messages of a stream, in their order, have made of it.
type reading struct {
	counted  map[decode.Identity]simPlace // the first of each event
	doubtful map[decode.Identity]bool     // may have counted, by a row that is gone
	withheld [simSecrets]bool
	perhaps  [simSecrets]bool // what other streams withhold, and redactions of which the row is gone
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
		// events may be an older copy than redactions, which is what withholds
		if at.incarnation != stream.incarnation {
			r.tell(v.all[at], &r.perhaps)
		}
	}
	for at, c := range v.all {
		// Another partition was made anew: what of it was not committed is there until
		// its projector removes it.
		if len(v.streams) > 1 && at.incarnation != stream.incarnation && within(v.tables.discarded, at) {
			r.doubtful[c.id] = true
			r.tell(c, &r.perhaps)
		}
	}
	return r
}

// tell notes what a redaction withholds.
func (r *reading) tell(c *simContent, secrets *[simSecrets]bool) {
	if c.withholds >= 0 {
		secrets[c.withholds] = true
	}
}

// want is what the order of the stream makes of a message.
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

// checkStream asks for the one right outcome of every message that a stream ever
// had.
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
			if v.checkUndone(stream, at, in); len(in) > 0 { // and may count
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
		case stream.purged[at] && v.covered(at) == 0 && (v.journalLost || v.restored):
			// It expired when a part of its rows was written, and the journal that told of
			// them is lost: nothing brings the others, and no commit vouches for these.
			r.doubtful[c.id] = true
			r.tell(c, &r.perhaps)
			continue
		case len(in) == 0:
			v.breaks("message %d is in no table, want it in %v", at.seq, want)
			continue
		case len(in) > 1 && !(v.restored && (r.doubtful[c.id] || c.secret >= 0 && r.perhaps[c.secret])):
			// An older copy of one table stands beside the others, and the message is
			// derived otherwise since: the first of its event was deleted by hand and its row
			// is lost, or another stream's redaction has come.
			v.breaks("message %d is in %v, want it in %v", at.seq, in, want)
		case !slices.Contains(want, in[0]):
			v.breaks("message %d is in %v, want it in %v", at.seq, in, want)
		}
		if v.restored && v.final["quarantine"][at] && c.secret >= 0 && r.perhaps[c.secret] {
			r.doubtful[c.id] = true // it was an event, and is refused since its row was lost
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

// checkRows asks for what goes with the outcome of a message.
func (v *verdict) checkRows(stream *simStream, at simPlace, c *simContent, r *reading) {
	for _, table := range []string{"log_items", "redactions"} {
		want := v.final["events"][at] && c.table == table
		if want && v.lost[table][at] && (stream.deleted[at] || c.secret >= 0 && r.perhaps[c.secret]) {
			// An older copy of this table lacks it, and a person deleted what would bring it,
			// or another stream withholds its value since.
			continue
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

// checkGone is about a message that is neither in the stream nor in a table.
func (v *verdict) checkGone(stream *simStream, at simPlace, r *reading) {
	switch {
	case stream.removed[at] && v.restored && v.copies[at]:
		// An older copy of the tables has no row of what was deleted for its value since,
		// and the stream cannot bring it: a rebuild takes it from the quarantine stream.
	case stream.removed[at]:
		v.breaks("message %d was deleted by a projector and is in no table", at.seq)
	case stream.purged[at]:
		// A ledger without commits begins where the stream does.
		commits := v.tables.newest(stream.incarnation)
		if len(commits) > 0 && at.seq > commits[len(commits)-1].First && !v.stoodFor(stream, at) {
			v.breaks("message %d is in no table, and nobody says that it has expired", at.seq)
		}
	case v.restored: // it may have counted
		c := v.all[at]
		r.doubtful[c.id] = true
		r.tell(c, &r.perhaps)
	}
}

// stoodFor reports whether a message that is gone came in the place of one that was
// committed, by way of an older copy of the stream: nothing is left to see that by.
func (v *verdict) stoodFor(stream *simStream, at simPlace) bool {
	for other := range stream.undone {
		if other.seq == at.seq && v.covered(other) > 0 && len(v.in(other)) > 0 {
			return true
		}
	}
	return false
}

// checkUndone is about a message that the stream never had, as it is now.
func (v *verdict) checkUndone(stream *simStream, at simPlace, in []string) {
	switch {
	case len(in) == 0, within(v.tables.fenceless, at):
		// A writer was paused, and what it had journalled was removed because the stream
		// no longer held it: no token and no KILL meets the blocks that it sends then.
	case v.journalLost || v.restored:
		// The stream is an older copy, and what told of the rows beyond it is lost.
	case v.covered(at) == 0:
		v.breaks("message %d is in %v, is committed by nobody, and the stream does not have it", at.seq, in)
	case stream.last < at.seq, stream.holds(at.seq) != nil:
		v.breaks("message %d is in %v, the stream has another one there, and nobody says so", at.seq, in)
	}
}

// checkCommitted asks for one commit of a message.
func (v *verdict) checkCommitted(at simPlace) {
	if n := v.covered(at); n != 1 && !(n > 1 && (v.journalLost || within(v.tables.fenceless, at))) {
		// Without the entry two may hold the lease for a moment, who cut differently.
		v.breaks("message %d is in %d commits", at.seq, n)
	}
}

// checkFormer asks that nothing is left of what no stream brings any more and that
// never was committed. A journalled range that does not begin right behind the
// checkpoint may have been committed, by a row that commits has lost: where messages
// were deleted in between, its rows stay as well.
func (v *verdict) checkFormer() {
	for _, fault := range []string{"message deleted", "stream purged", "message replaced", "value deleted"} {
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

// checkBare asks for tables that need no FINAL, but for a range that lost its
// tokens or its journal. A table commits that is older than the others has lost
// both: it says neither where the ranges ended nor under what names.
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
