package codex

import (
	"github.com/ctxledger/ctxledger/producer/importer/internal/hashset"
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

	counted    bool                    // the session has counts
	uncounted  hashset.List[codexBare] // calls of a session that has no counts so far
	open       codexCall               // no call if its line is 0
	afterInput bool
	claims     codexClaims
	newest     int // line of the newest item
	held       int // first line whose items wait for the next import, 0 for none
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
}

func newCodexIndex(growing bool) *codexIndex {
	return &codexIndex{reader: newCodexReader(true), wrong: make(map[int]*model.LineError), claims: codexClaims{growing: growing}}
}

// line adds one line to the index. Pass 2 reports the lines that cannot be read.
func (x *codexIndex) line(text []byte, number int, last bool) error {
	e, err := x.reader.Read(text, number, last)
	switch {
	case err != nil:
	case e.head != nil:
		x.End()
		x.held = 0 // the session before has ended
		x.meter = codexMeter{}
	case e.item != nil:
		x.item(e, number)
	case e.event != nil:
		x.event(e, number)
	case e.compacted != nil:
		x.settle()
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
		if e.item.Type == "message" && e.item.Role == "user" {
			x.claims.message(number)
		}
	case class == codexOutput && !e.replay:
		x.claims.answered = true
		begins := x.open.line == 0
		if begins {
			x.open.line = number
		}
		if !x.counted && (begins || x.afterInput) {
			x.uncounted.Add(codexBare{number, !begins})
		}
		x.afterInput = false
	}
}

func (x *codexIndex) event(e *codexEntry, number int) {
	switch e.event.Type {
	case "user_message":
		x.claims.event()
	case "task_started", "turn_started", "task_complete", "turn_complete", "turn_aborted":
		x.settle()
		x.claims.endTurn()
	case "token_count":
		count, problem := x.meter.Read(e.event.Info, e.replay)
		if problem != nil {
			x.wrong[number] = problem
		}
		if count == nil {
			return
		}
		x.Count()
		if x.open.line == 0 {
			x.open.line = number
		}
		x.open.count, x.open.counted = count, number
		x.settle()
		x.afterInput = false
	}
}

// Count marks the session as one with counts. Calls that were assumed without counts are dropped.
func (x *codexIndex) Count() {
	if x.counted {
		return
	}
	for _, c := range x.uncounted.All() {
		if !c.cut && c.line != x.open.line {
			x.calls.Add(&codexCall{line: c.line})
		}
	}
	x.uncounted, x.counted = hashset.List[codexBare]{}, true
}

// settle ends the open call, if there is one.
func (x *codexIndex) settle() {
	if x.open.line > 0 && x.counted {
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
		x.calls.Add(&codexCall{line: c.line})
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
