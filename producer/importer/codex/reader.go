package codex

import (
	"bytes"
	"math"
	"strconv"
	"time"

	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/google/uuid"
)

// codexReader follows a rollout line by line: which session a line belongs to,
// whether it is a replay of another's, and what its record is called. Both
// passes use one of their own and feed it every line in file order.
type codexReader struct {
	brief     bool
	head      *codexHead      // of the session that the lines belong to, nil before the first
	started   time.Time       // of that session
	headAt    time.Time       // when its head was written
	ancestors map[string]bool // sessions that this one was forked from, as far as the log tells
	replaying bool            // the lines are copies from an ancestor
	byTurns   bool            // turn ids tell replays, times need not
	newest    int64           // time of the newest line, in milliseconds
	ordinal   int             // of the line before among those with that time
	repeats   codexRepeats    // among lines with facts
	entry     codexEntry      // of the last line, room for the next
	last      time.Time       // of the line before
}

// newCodexReader returns a reader; a brief one reads of items what they are, and
// nothing of what they hold, and names neither kinds nor records.
func newCodexReader(brief bool) *codexReader {
	return &codexReader{brief: brief, newest: math.MinInt64}
}

// codexEntry is one line, understood. One of the pointers is not nil, or the
// line carries nothing of interest.
type codexEntry struct {
	kind      string // native type
	head      *codexHead
	item      *codexResponseItem
	event     *codexEventMessage
	turn      *codexTurn
	compacted *codexCompaction
	record    string
	at        time.Time
	untold    bool // the time is another line's
	replay    bool
	unknown   bool // of a type that is not known
	brief     bool // items are read into short
	short     codexBrief
	items     *codexResponseItem // room for item
	events    *codexEventMessage // room for event
}

// codexReplaySlack is how much later than its head a forked rollout's copies
// may be stamped.
const codexReplaySlack = time.Second

// Read understands one line. The entry is valid until the next. The error is errBlank or a *lineError.
func (r *codexReader) Read(text []byte, number int, last bool) (*codexEntry, error) {
	var line codexLine
	e := &r.entry
	*e = codexEntry{brief: r.brief, items: e.items, events: e.events}
	if err := line.Read(text, last, e.target); err != nil {
		return nil, err
	}
	if err := e.decode(text, &line); err != nil {
		return nil, err
	}
	if e.head != nil {
		return e, r.begin(e, &line, number)
	}
	if r.head == nil {
		return nil, model.NewLineError(model.ReasonNoSession, "no session_meta stands before this record")
	}
	r.time(e, &line)
	r.replay(e)
	if e.item == nil && e.compacted == nil && (e.event == nil || e.event.Info.Kind() != '{') {
		return e, nil
	}
	if !line.bare() && line.Timestamp != "" && !r.repeats.First(text, number) {
		return nil, model.NewLineError(model.ReasonDuplicateRecord, "the same line stands above")
	}
	if !r.brief {
		r.name(e, number)
	}
	return e, nil
}

// target is what the payload of a line of the given type is decoded into, nil
// for a type without facts.
func (e *codexEntry) target(kind string) codexPayload {
	switch kind {
	case codexMeta:
		e.head = new(codexHead)
		return e.head
	case codexItem:
		if e.items == nil {
			e.items = new(codexResponseItem)
		}
		e.item = e.items
		*e.item = codexResponseItem{}
		if e.brief {
			return &e.short
		}
		return e.item
	case codexEvent:
		if e.events == nil {
			e.events = new(codexEventMessage)
		}
		e.event = e.events
		*e.event = codexEventMessage{}
		return e.event
	case codexContext:
		e.turn = new(codexTurn)
		return e.turn
	case codexCompacted:
		e.compacted = new(codexCompaction)
		return e.compacted
	}
	return nil
}

// decode reads what the line holds.
func (e *codexEntry) decode(text []byte, line *codexLine) error {
	payload, kind := line.Payload, line.Type
	if line.bare() {
		payload = bytes.TrimSpace(bytes.TrimPrefix(text, model.ByteOrderMark))
		switch {
		case line.RecordType != "":
			e.kind = "state"
			return nil
		case line.Type == "":
			kind, e.kind = codexMeta, codexMeta
		default:
			kind, e.kind = codexItem, codexItem+":"+model.ShortText(line.Type, 64)
		}
	}
	if !line.taken {
		into := e.target(kind)
		if into == nil {
			e.kind, e.unknown = line.kind(""), !codexNoFacts[line.Type]
			return nil
		}
		if !jsonscan.Decode(payload, into.Read) {
			return model.NewLineError(model.ReasonUnexpectedValue, "the payload of a "+model.Quoted(line.Type)+" has another form")
		}
	}
	if e.brief && e.item != nil {
		e.item.Type, e.item.Role = e.short.Type, e.short.Role
	}
	switch {
	case e.kind != "" || e.brief:
	case e.item != nil:
		e.kind = line.kind(e.item.Type)
	case e.event != nil:
		e.kind = line.kind(e.event.Type)
	default:
		e.kind = line.kind("")
	}
	if e.item != nil && e.item.Type != "message" && codexItems[e.item.Type] == codexUnknown {
		e.unknown = true
	}
	return nil
}

// codexNoFacts are types of lines without context facts.
var codexNoFacts = map[string]bool{"session_state": true, "world_state": true, "inter_agent_communication": true}

// begin takes in a head. A second one belongs to the same session where it was
// resumed, to an ancestor where it was forked, or begins another session.
func (r *codexReader) begin(e *codexEntry, line *codexLine, number int) error {
	h := e.head
	h.complete()
	problem := model.Refused(model.NativeID{Member: "the session's id", ID: h.ID}, model.NativeID{Member: "forked_from_id", ID: h.ForkedFrom}, model.NativeID{Member: "parent_thread_id", ID: h.ParentThread})
	if h.ID == "" {
		problem = model.NewLineError(model.ReasonBadID, "the session has no id")
	}
	if problem != nil {
		e.head = nil
		return problem
	}
	r.time(e, line)
	switch {
	case r.head != nil && h.ID == r.head.ID:
		e.head = nil
	case r.head != nil && r.ancestors[h.ID]:
		r.ancestors[h.ForkedFrom] = true
		e.head, r.replaying = nil, true
	default:
		r.head = h
		r.headAt = e.at
		var told bool
		if r.started, told = model.ParseTime(h.Timestamp); !told {
			r.started = e.at
		}
		if e.untold && told {
			e.at, e.untold, r.last = r.started, false, r.started
		}
		r.ancestors = map[string]bool{h.ForkedFrom: true, h.ParentThread: true}
		delete(r.ancestors, "")
		r.replaying, r.byTurns = len(r.ancestors) > 0, false
		r.name(e, number)
	}
	return nil
}

// time gives the entry the line's time, or the last one told before it.
func (r *codexReader) time(e *codexEntry, line *codexLine) {
	at, ok := model.ParseTime(line.Timestamp)
	if ok {
		r.last = at
	}
	e.at, e.untold = r.last, !ok
}

// replay tells copies of an ancestor's records from the session's own: a turn
// id holds the time when the turn began, and a copy's is older than the
// session; where ids hold no time, copies are older than the session or stamped
// when its head was.
func (r *codexReader) replay(e *codexEntry) {
	if !r.replaying {
		return
	}
	id := ""
	switch {
	case e.turn != nil:
		id = e.turn.TurnID
	case e.event != nil && (e.event.Type == "task_started" || e.event.Type == "turn_started"):
		id = e.event.TurnID
	}
	if began, ok := timeOfID(id); ok {
		r.byTurns = true
		r.replaying = began.Before(r.started.Add(-codexReplaySlack))
	} else if !r.byTurns && !e.untold {
		r.replaying = !e.at.After(r.headAt.Add(codexReplaySlack))
	}
	e.replay = r.replaying
}

// timeOfID is the time in a UUID of version 7.
func timeOfID(id string) (time.Time, bool) {
	u, err := uuid.Parse(id)
	if err != nil || u.Version() != 7 {
		return time.Time{}, false
	}
	ms := int64(u[0])<<40 | int64(u[1])<<32 | int64(u[2])<<24 | int64(u[3])<<16 | int64(u[4])<<8 | int64(u[5])
	return time.UnixMilli(ms).UTC(), true
}

// name gives the record a name that a cut or a longer log gives it too: its
// time and its place among those of that time. Lines without a time, and lines
// older than one above, are named by their number, so that no two records of a
// file have one name.
func (r *codexReader) name(e *codexEntry, number int) {
	at := e.at.UnixMilli()
	switch {
	case e.untold:
		e.record = "line:" + strconv.Itoa(number)
		return
	case at < r.newest:
		e.record = strconv.FormatInt(at, 10) + ":line:" + strconv.Itoa(number)
		return
	case at > r.newest:
		r.newest, r.ordinal = at, 0
	default:
		r.ordinal++
	}
	e.record = strconv.FormatInt(at, 10) + "." + strconv.Itoa(r.ordinal)
}
