package codex

import (
	"github.com/ctxledger/ctxledger/producer/importer/internal/hashset"
	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
)

// codexIndex holds the values that pass 1 collects and pass 2 needs in advance. The usage of a
// call comes after the items of the call.
type codexIndex struct {
	reader  *codexReader
	meter   codexMeter
	calls   codexCalls
	untyped hashset.NumberSet        // lines of user messages that no user typed
	wrong   map[int]*model.LineError // by the line of a count

	uncountedCalls
	open   codexCall // no call if its line is 0
	claims codexClaims
	newest int // line of the newest item
	held   int // first line whose items wait for the next import, 0 for none
	beginning
	slices map[int]codexSlice // by the line that begins the session
}

// uncountedCalls are the calls of a session that has no counts so far.
type uncountedCalls struct {
	counted    bool // the session has counts
	uncounted  hashset.List[codexBare]
	afterInput bool // the next answer begins a call
}

// beginning is what the first records of a session tell.
type beginning struct {
	line   int        // of the session's head, or of its first record without one
	first  codexSlice // its first record
	edge   bool       // the next answer may belong to a call that began before the log
	whole  bool       // the session has a count
	sliced bool       // the log lacks the first records of the session
}

// codexClaims pairs the user messages of a session with the events that claim them. An event
// claims a message that a user typed.
type codexClaims struct {
	growing   bool              // the log grows: messages may wait for an event
	answered  bool              // the session has an answer
	first     int               // line of the session's first user message
	last      int               // line of a user message that no event has claimed
	next      bool              // an event has claimed the next message
	events    int               // number of events that claim
	unclaimed hashset.NumberSet // lines of the session's other user messages
}

func (c *codexClaims) message(line int) {
	if c.first == 0 {
		c.first = line
	}
	if c.next {
		c.last, c.next = 0, false
		return
	}
	c.last = line
	c.unclaimed.Add(uint64(line))
}

func (c *codexClaims) event() {
	c.events++
	if c.last == 0 {
		c.next = true
		return
	}
	c.unclaimed.Remove(uint64(c.last))
	c.last = 0
}

// endTurn ends the pairing for the turn. An unpaired message or event stays unpaired.
func (c *codexClaims) endTurn() { c.last, c.next = 0, false }

// codexBare is a call without counts.
type codexBare struct {
	line int
	cut  bool // a call only if the session has no counts
	edge bool // see codexCall
}

func newCodexIndex(lines *jsonscan.Lines, growing bool, file string) *codexIndex {
	return &codexIndex{
		reader: newCodexReader(lines, true, file), wrong: make(map[int]*model.LineError), claims: codexClaims{growing: growing},
		slices: make(map[int]codexSlice),
	}
}

// read adds one line to the index. Pass 2 reports the lines that cannot be read.
func (x *codexIndex) read(text []byte, number int, last bool) error {
	e, err := x.reader.Read(text, number, last)
	if err != nil {
		return nil
	}
	if e.begins {
		x.beginning = beginning{line: number, edge: true, sliced: true}
		x.meter = codexMeter{unknown: true}
	}
	if e.edge && x.first.record == "" {
		x.first = x.reader.first
	}
	switch {
	case e.head != nil:
		x.End()
		x.held = 0 // the session before has ended
		x.meter, x.beginning = codexMeter{}, beginning{line: number, edge: true}
	case e.item != nil:
		x.item(e, number)
	case e.event != nil:
		x.event(e, number)
	case e.compacted != nil:
		x.settle()
		x.edge = false
	case e.used != nil && !e.replay && model.ValidID(e.used.ResponseID):
		x.calls.response = e.used.ResponseID
	}
	return nil
}

func (x *codexIndex) item(e *codexEntry, number int) {
	x.newest = number
	switch class := e.item.class(); {
	case class == codexInput:
		x.afterInput = true
		if e.item.Type == "message" {
			x.edge = false
			if e.item.Role == "user" {
				x.claims.message(number)
			}
		}
		x.lacksStart(e)
	case class == codexOutput && !e.replay:
		x.lacksStart(e)
		x.claims.answered = true
		begins, edge := x.open.line == 0, x.edge || e.edge
		if begins {
			x.open.line, x.open.edge = number, edge
		}
		if !x.counted && (begins || x.afterInput) {
			x.uncounted.Add(codexBare{number, !begins, edge})
		}
		x.afterInput, x.edge = false, false
	}
}

// lacksStart marks the session as a slice if an answer, its count or a tool's result is before all
// messages. A session that was forked from another may begin with any of them.
func (x *codexIndex) lacksStart(e *codexEntry) {
	if x.edge && !e.untold && !e.replay && len(x.reader.ancestors) == 0 {
		x.sliced = true
	}
}

func (x *codexIndex) event(e *codexEntry, number int) {
	switch e.event.Type {
	case "user_message":
		x.claims.event()
	case "task_started", "turn_started", "task_complete", "turn_complete", "turn_aborted":
		x.settle()
		x.edge = false
		x.claims.endTurn()
	case "token_count":
		count, problem := x.meter.Read(e.event.Info, e.replay)
		if problem != nil {
			x.wrong[number] = problem
		}
		if count == nil {
			return
		}
		x.lacksStart(e)
		if !x.whole && count.gap && len(x.reader.ancestors) == 0 {
			x.sliced, count.gap = true, false
		}
		x.whole = true
		x.Count()
		if x.open.line == 0 {
			x.open.line, x.open.edge = number, x.edge || e.edge
		}
		x.open.count, x.open.counted = count, number
		x.settle()
		x.afterInput, x.edge = false, false
	}
}

// Count marks the session as one with counts. Calls that were assumed without counts are dropped.
func (x *codexIndex) Count() {
	if x.counted {
		return
	}
	for _, c := range x.uncounted.All() {
		if !c.cut && c.line != x.open.line && !(c.edge && x.sliced) {
			x.calls.Add(&codexCall{line: c.line})
		}
	}
	x.uncounted, x.counted = hashset.List[codexBare]{}, true
}

// settle ends the open call, if there is one. A call that began before a slice and has no counts is
// told by an earlier slice.
func (x *codexIndex) settle() {
	x.open.edge = x.open.edge && x.sliced
	if x.open.line > 0 && x.counted && (x.open.count != nil || !x.open.edge) {
		x.calls.Add(&x.open)
		x.calls.answeredBy(x.open.line)
	}
	x.calls.response = ""
	x.open = codexCall{}
}

// End ends the log or one of its sessions. Without counts, an answer after new input is a
// separate call. The log's last message waits for the next import if only a later event can
// decide its author. In a session without claiming events, the beginning of a message decides, and
// the messages of a growing log wait for the first answer.
func (x *codexIndex) End() {
	x.settle()
	for _, c := range x.uncounted.All() {
		if !(c.edge && x.sliced) {
			x.calls.Add(&codexCall{line: c.line})
		}
	}
	if x.sliced {
		x.slices[x.beginning.line] = x.first
	}
	if x.claims.events > 0 {
		x.untyped.AddAll(x.claims.unclaimed)
		if x.claims.last > 0 && x.claims.last == x.newest {
			x.held = x.claims.last
		}
	} else if x.claims.growing && !x.claims.answered {
		x.held = x.claims.first
	}
	x.claims = codexClaims{growing: x.claims.growing}
	x.uncounted, x.counted, x.afterInput = hashset.List[codexBare]{}, false, false
}

// close ends pass 1 and returns the repeated lines.
func (x *codexIndex) close() codexRepeats {
	x.End()
	repeats := x.reader.repeats
	repeats.Forget()
	x.reader = nil
	return repeats
}
