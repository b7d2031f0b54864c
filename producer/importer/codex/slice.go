package codex

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/ctxledger/ctxledger/producer/importer/model"
)

// A slice is a part of a rollout that does not begin at the rollout's start. A slice without a
// session_meta is of the session that the file name holds. A slice with a session_meta shows itself
// by its first records: the first total has more tokens than the first call, or the first record
// after the messages belongs to an earlier record.
//
// A slice has a source of its own, which names its first record. A record that shares its
// millisecond with the first one, or that has no time of its own, is named by its digest, because
// its number among the records of that time is unknown. Its other records have the names that the
// whole log gives.
//
// The first call of a slice may have begun before the slice. Such a call has the metadata
// begun_before_log, and it is told only with its counts. The ledger compares the totals of calls, so
// a call that several slices tell counts once.

// codexSlice is where a slice begins.
type codexSlice struct {
	record string // name of its first record
	at     time.Time
}

// nameOfRollout matches the name of a rollout: its start and its session. Programs that split or
// rotate a log add to the name.
var nameOfRollout = regexp.MustCompile(`rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})`)

// sessionOf returns the session that a file name holds, "" without one.
func sessionOf(file string) string {
	if found := nameOfRollout.FindStringSubmatch(filepath.Base(file)); found != nil {
		return found[1]
	}
	return ""
}

// headless begins the session of the file name at an entry. A record that is older than the session
// is a copy from an ancestor.
func (r *codexReader) headless(e *codexEntry) {
	r.head = &codexHead{ID: r.session, headless: true}
	r.headAt, r.ancestors, r.first, r.sliced = e.at, make(map[string]bool), codexSlice{}, true
	if began, ok := timeOfID(r.session); ok {
		r.started, r.headAt = began, began.Add(-2*codexReplaySlack)
		r.replaying = e.at.Before(began.Add(-codexReplaySlack))
	}
	e.begins = true
}

// isAncestor reports whether h is the head of a session that the session of the file name was forked
// from.
func (r *codexReader) isAncestor(h *codexHead) bool {
	began, ok := timeOfID(h.ID)
	return r.head.headless && ok && began.Before(r.started)
}

// edge reports whether a record has the time of the session's first one.
func (r *codexReader) edge(e *codexEntry, text []byte) bool {
	if r.first.record == "" {
		r.first = codexSlice{digested(e, text), e.at}
		if !r.head.headless {
			r.first.record = "head+" + r.first.record
		}
	}
	return r.first.at.UnixMilli() == e.at.UnixMilli()
}

// digested names a record by its text.
func digested(e *codexEntry, text []byte) string {
	sum := sha256.Sum256(text)
	name := "x" + hex.EncodeToString(sum[:6])
	if e.untold {
		return name
	}
	return strconv.FormatInt(e.at.UnixMilli(), 10) + "." + name
}

// openSlice opens the thread of a session whose session_meta the log lacks.
func (im *codexImport) openSlice(e *codexEntry, number int) error {
	im.head, im.calls, im.turns = im.reader.head, "", false
	im.Problem(number, model.NewLineError(model.ReasonNoSession,
		"the log begins after the session_meta: imported as a slice of the session that the file name has; import the log's other parts, too"))
	im.thread, _ = im.Writer.Thread(model.ThreadKey{Session: im.head.ID, Thread: im.head.ID})
	im.thread.RootRun = ""
	if slice, ok := im.index.slices[number]; ok {
		im.thread.Slice(slice.record, slice.at.UnixMilli()<<milliBits)
	}
	o := im.origin(e, number)
	if e.record == "" { // the record has no facts of its own
		o.Record = im.reader.first.record
	}
	return im.Writer.Open(o, model.Scope{Kind: "session", Program: "codex"})
}

// milliBits leaves room for four thousand entries a millisecond. Positions stay below 2⁵³.
const milliBits = 12
