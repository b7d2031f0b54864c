package verify

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/ledger/proof"
)

// records reads events.ndjson and the leaves of all logs together.
type records struct {
	v       *verifier
	ctx     context.Context
	lines   *lineSource
	leaves  *leafSource
	aligned aligner
	ahead   *placed // taken, but not yet passed to the proof
	derived *derivation
	// damaged counts records that do not match the log, lacking counts missing records.
	damaged, lacking int64
	last             []uint64 // last stream_seq by log
	agreed           consistency
}

// placed is a record in the log that belongs in the proof.
type placed struct {
	log   int
	index int64
	hash  tlog.Hash
}

// checkRecords answers inclusion and order, and passes the facts to the later checks.
func (v *verifier) checkRecords(ctx context.Context) error {
	v.facts.begin(v)
	if len(v.heads) == 0 {
		v.found.faultf(Format, pack.HeaderFile, 1, "the header names no log")
	}
	file, err := v.pack.Lines(pack.EventsFile)
	if err != nil {
		v.unreadable(pack.EventsFile, 0, err)
		v.found.settle(Inclusion, NotChecked, "there are no records")
		v.found.settle(Order, NotChecked, "there are no records")
		v.facts.lost = true
		v.derivationImpossible("there are no records")
		return nil
	}
	defer file.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &records{v: v, ctx: ctx, lines: readLines(ctx, file), leaves: v.openLeaves(), last: make([]uint64, len(v.heads)+1), agreed: newConsistency(v)}
	defer r.leaves.close()
	r.derived = v.newDerivation()
	r.aligned = aligner{nextLine: r.nextLine, nextLeaf: r.leaves.next}
	for log := range v.heads {
		r.prove(log + 1)
	}
	for r.take(len(v.heads)) { // records of no log
	}
	r.readErrors()
	r.agreed.finish()
	v.found.settle(Order, Passed, "records in log order: %d", v.totals.records)
	r.settleInclusion()
	v.facts.lost = r.damaged+r.lacking > 0
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.derived.finish(r.damaged + r.lacking)
}

func (r *records) settleInclusion() {
	v := r.v
	unsigned := 0
	for _, h := range v.heads {
		if !h.signed {
			unsigned++
		}
	}
	if unsigned > 0 || len(v.heads) == 0 {
		v.found.settle(Inclusion, NotChecked, "no signed head for %d of %d logs", unsigned, len(v.heads))
		return
	}
	v.found.settle(Inclusion, Passed, "records proven under signed heads: %d", v.totals.records)
}

// readErrors reports the errors that ended reading early.
func (r *records) readErrors() {
	if err := r.lines.err; err != nil && err != io.EOF {
		r.v.unreadable(pack.EventsFile, r.v.totals.records+1, err)
	}
}

// nextLine returns the next line and counts it.
func (r *records) nextLine() (line, bool) {
	l, ok := r.lines.next()
	if ok {
		r.v.totals.records++
	}
	return l, ok
}

// prove checks the records of a log against its signed head.
func (r *records) prove(log int) {
	v := r.v
	h := &v.heads[log-1]
	hashes := v.openHashes(log)
	defer hashes.close()
	next := func() (int64, tlog.Hash, error) {
		if r.ahead == nil && !r.take(log) || r.ahead.log != log {
			return 0, tlog.Hash{}, io.EOF
		}
		p := r.ahead
		r.ahead = nil
		h.records++
		return p.index, p.hash, nil
	}
	var err error
	if h.signed && hashes.lines != nil {
		err = proof.CheckMany(h.Size, h.Root, next, hashes.next)
	}
	for { // the rest, if the proof ended early
		if _, _, end := next(); end != nil {
			break
		}
	}
	if err == nil {
		return
	}
	path := pack.HashesFile(log)
	switch {
	case errors.Is(err, errHashLine):
		v.found.faultf(Inclusion, path, hashes.lines.Number(), "%v", err)
	case !v.changed[path] && (r.damaged > 0 || r.lacking > 0):
		// The damaged records have faults already. The root cannot match.
	default:
		v.found.faultf(Inclusion, path, 0, "%v", err)
	}
}

// take reads up to the next record with a place in a log, and reports whether there is one. Records
// without a leaf count as records of log.
func (r *records) take(log int) bool {
	for r.ahead == nil {
		m, ok := r.aligned.next()
		if !ok || r.ctx.Err() != nil {
			return false
		}
		r.consider(m, log)
	}
	return true
}

func (r *records) consider(m match, log int) {
	switch {
	case m.leaf == nil:
		r.extra(m.line, log)
	case m.line == nil:
		r.missing(m.leaf)
	case m.exact:
		r.exact(m)
	default:
		r.changed(m)
	}
}

// place passes a record to the proof of its log.
func (r *records) place(log int, index int64, hash tlog.Hash) {
	r.ahead = &placed{log, index, hash}
}

// blamesLeaves reports whether the leaves of a log get the fault when they contradict the records.
func (r *records) blamesLeaves(log int) bool {
	return r.v.changed[pack.LeavesFile(log)] && !r.v.changed[pack.EventsFile]
}

// exact handles a line that has not changed since the proof was made. Its record can still be
// false.
func (r *records) exact(m match) {
	l, v := m.line, r.v
	if l.err != nil {
		v.found.faultf(Format, pack.EventsFile, l.number, "%v", l.err)
	}
	if l.err == nil && r.blamesLeaves(m.leaf.log) && (l.record.LogIndex != m.leaf.LogIndex || l.leaf != m.leaf.Leaf) {
		r.changed(m)
		return
	}
	if l.err != nil || !r.agrees(l, m.leaf) {
		r.damaged++
		r.place(m.leaf.log, m.leaf.LogIndex, m.leaf.Leaf)
		return
	}
	r.inOrder(l, m.leaf.log)
	r.good(l, m.leaf.log)
}

// agrees compares a record with its leaf.
func (r *records) agrees(l *line, f *leaf) bool {
	switch rec := l.record; {
	case rec.LogIndex != f.LogIndex:
		r.v.found.faultf(Inclusion, pack.EventsFile, l.number, "has the log index %d, but its proof is for %d", rec.LogIndex, f.LogIndex)
	case l.leaf != f.Leaf:
		r.v.found.faultf(Inclusion, pack.EventsFile, l.number, "its bytes give the leaf %s, but its proof is for %s", short(l.leaf), short(f.Leaf))
	case l.leaf != rec.Leaf:
		r.v.found.faultf(Inclusion, pack.EventsFile, l.number, "its bytes give the leaf %s, but it states %s", short(l.leaf), short(rec.Leaf))
	default:
		return true
	}
	return false
}

func short(h tlog.Hash) string { return fmt.Sprintf("%x…", h[:6]) }

// inOrder checks that the stream's sequences rise with the log indexes.
func (r *records) inOrder(l *line, log int) {
	if before := r.last[log]; l.record.StreamSeq <= before {
		r.v.found.faultf(Order, pack.EventsFile, l.number, "has the stream sequence %d, after %d", l.record.StreamSeq, before)
		return
	}
	r.last[log] = l.record.StreamSeq
}

// good handles a record that matches the log.
func (r *records) good(l *line, log int) {
	r.agreed.see(l, log)
	r.place(log, l.record.LogIndex, l.leaf)
	switch {
	case l.record.Erased != "":
		r.v.totals.expired++
	case l.record.Withheld:
		r.v.totals.withheld++
	}
	r.v.facts.see(l)
	r.derived.add(l.read, log)
}

// changed handles a line in the place of another one.
func (r *records) changed(m match) {
	l, f, v := m.line, m.leaf, r.v
	if r.blamesLeaves(f.log) && l.err == nil {
		if f.err != nil {
			v.found.faultf(Inclusion, pack.LeavesFile(f.log), f.number, "%v", f.err)
		} else {
			v.found.faultf(Inclusion, pack.LeavesFile(f.log), f.number, "does not belong to the record at line %d", l.number)
		}
		r.good(l, f.log)
		return
	}
	r.damaged++
	switch {
	case l.err != nil:
		v.found.faultf(Format, pack.EventsFile, l.number, "%v", l.err)
		v.found.faultf(Inclusion, pack.EventsFile, l.number, "is not a record")
	case f.err != nil:
		v.found.faultf(Inclusion, pack.LeavesFile(f.log), f.number, "%v", f.err)
	case r.agrees(l, f):
		v.found.faultf(Inclusion, pack.EventsFile, l.number, "was changed in a part that its leaf does not cover: the stream sequence, the time of recording or the formatting")
	}
	if f.err == nil {
		r.place(f.log, f.LogIndex, f.Leaf)
	} else if l.err == nil {
		r.place(f.log, l.record.LogIndex, l.leaf)
	}
}

// missing handles a leaf without its line.
func (r *records) missing(f *leaf) {
	v := r.v
	if r.blamesLeaves(f.log) {
		v.found.faultf(Inclusion, pack.LeavesFile(f.log), f.number, "is a leaf without a record")
		return
	}
	r.lacking++
	if f.err != nil {
		v.found.faultf(Inclusion, pack.LeavesFile(f.log), f.number, "%v", f.err)
		return
	}
	v.found.faultf(Inclusion, pack.EventsFile, r.here(), "the record with log index %d is not in its place", f.LogIndex)
	r.place(f.log, f.LogIndex, f.Leaf)
}

// here is the number of the next line.
func (r *records) here() int64 {
	if len(r.aligned.lines) > 0 {
		return r.aligned.lines[0].number
	}
	return r.v.totals.records + 1
}

// leafHere is the number of the next leaf.
func (r *records) leafHere() int64 {
	if len(r.aligned.leaves) > 0 {
		return r.aligned.leaves[0].number
	}
	return r.leaves.at + 1
}

// extra handles a line without a leaf.
func (r *records) extra(l *line, log int) {
	v := r.v
	if l.err == nil && log > 0 && (r.blamesLeaves(log) || r.leaves.missing[log]) {
		if !r.leaves.missing[log] {
			v.found.faultf(Inclusion, pack.LeavesFile(log), r.leafHere(), "the leaf of the record at line %d is not in its place", l.number)
		}
		r.good(l, log)
		return
	}
	r.damaged++
	if l.err != nil {
		v.found.faultf(Format, pack.EventsFile, l.number, "%v", l.err)
	}
	v.found.faultf(Order, pack.EventsFile, l.number, "an additional or misplaced line: the proof has no such record here")
}
