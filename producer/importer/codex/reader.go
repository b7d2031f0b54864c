package codex

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/google/uuid"
)

// codexReader follows a rollout line by line. For each line it finds the session, the name of the
// record, and whether the line is a copy of another session's record. Each pass has its own
// reader and gives it every line in file order.
type codexReader struct {
	parsing
	session string     // session that the file name holds, "" without one
	sliced  bool       // the session is a slice
	first   codexSlice // first record of the session after its head
	head    *codexHead // head of the current session, nil before the first head
	started time.Time  // start of the current session
	headAt  time.Time  // time of the head's record
	copies
	naming
	repeats codexRepeats // repeated lines among lines with facts
	entry   codexEntry   // buffer for the next line
	last    time.Time    // time of the previous line
}

// parsing is the way in which the lines are parsed.
type parsing struct {
	lines *jsonscan.Lines
	brief bool // reads the types of items, not their content, and does not name kinds or records
}

// copies finds copies of the records of an ancestor.
type copies struct {
	ancestors map[string]bool // known sessions that this session was forked from
	replaying bool            // the lines are copies from an ancestor
	byTurns   bool            // turn ids detect copies, times are not needed
}

// naming numbers the lines of a time.
type naming struct {
	newest  int64 // time of the newest line, in milliseconds
	ordinal int   // number of the previous line among lines of that time
}

// newCodexReader returns a reader of a file.
func newCodexReader(lines *jsonscan.Lines, brief bool, file string) *codexReader {
	return &codexReader{parsing: parsing{lines, brief}, session: sessionOf(file), naming: naming{newest: math.MinInt64}}
}

// codexEntry is one parsed line. A line with facts sets one of the pointers.
type codexEntry struct {
	kind      string // native type
	head      *codexHead
	item      *codexResponseItem
	event     *codexEventMessage
	turn      *codexTurn
	compacted *codexCompaction
	used      *codexUsed
	record    string
	at        time.Time
	untold    bool // the time is from another line
	replay    bool
	begins    bool // the log lacks the session_meta and begins here
	edge      bool // the time is that of the session's first record
	unknown   bool // the type is unknown
	brief     bool // items are read into short
	short     codexBrief
	items     *codexResponseItem // buffer for item
	events    *codexEventMessage // buffer for event
}

// codexReplaySlack is the largest difference between the time of a head and the times of copied
// records in a forked rollout.
const codexReplaySlack = time.Second

// Read parses one line. The entry is valid until the next call. The error is ErrBlank or a
// *LineError.
func (r *codexReader) Read(text []byte, number int, last bool) (*codexEntry, error) {
	var line codexLine
	e := &r.entry
	*e = codexEntry{brief: r.brief, items: e.items, events: e.events}
	if err := line.Read(r.lines, text, last, e.target); err != nil {
		return nil, err
	}
	if err := e.decode(text, &line); err != nil {
		return nil, err
	}
	if e.head != nil {
		return e, r.begin(e, &line, number)
	}
	r.time(e, &line)
	if r.head == nil {
		if r.session == "" || e.untold {
			return nil, errNoHead
		}
		r.headless(e)
	}
	e.edge = r.edge(e, text)
	r.replay(e)
	if e.item == nil && e.compacted == nil && (e.event == nil || e.event.Info.Kind() != '{') {
		return e, nil
	}
	if !line.bare() && line.Timestamp != "" && !r.repeats.First(text, number) {
		return nil, model.NewLineError(model.ReasonDuplicateRecord, "an earlier line is the same")
	}
	if !r.brief {
		r.name(e, number)
		if r.sliced && (e.edge || strings.Contains(e.record, "line:")) {
			e.record = digested(e, text)
		}
	}
	return e, nil
}

// errNoHead is the error for a record before the first session_meta.
var errNoHead = model.NewLineError(model.ReasonNoSession, "the log has no session_meta before this record, and its name holds no session: put the session_meta of the rollout "+
	"before the first line, or name the file rollout-<start>-<session>.jsonl; lines without a session are not imported")

// target returns the destination for the payload of a line of the given type. target returns nil
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
	case codexUsage:
		e.used = new(codexUsed)
		return e.used
	case codexCompacted:
		e.compacted = new(codexCompaction)
		return e.compacted
	}
	return nil
}

// decode reads the content of the line.
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

// begin reads a head. A second head of the same session means that the session was resumed. A
// head of an ancestor means that the session was forked. Any other head begins another session.
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
	case r.head != nil && (r.ancestors[h.ID] || r.isAncestor(h)):
		r.ancestors[h.ForkedFrom] = true
		e.head, r.replaying = nil, true
	default:
		r.head, r.first = h, codexSlice{}
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

// time sets the entry's time to the line's time, or else to the last known time.
func (r *codexReader) time(e *codexEntry, line *codexLine) {
	at, ok := model.ParseTime(line.Timestamp)
	if ok {
		r.last = at
	}
	e.at, e.untold = r.last, !ok
}

// replay detects copies of an ancestor's records. A turn id holds the start time of the turn; the
// turn of a copy is older than the session. If ids hold no time, copies are older than the
// session or have the time of its head.
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

// name gives the record a stable name, which a cut or longer log gives, too. The name consists of
// the time and the number among records of the same time. A line without a time, or older than an
// earlier line, is named by its line number. Two records of a file therefore never have the same
// name.
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
