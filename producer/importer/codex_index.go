package importer

// codexIndex is what pass 1 learns about a rollout and pass 2 needs ahead of
// time: what a call used stands behind its items.
type codexIndex struct {
	reader  *codexReader
	meter   codexMeter
	calls   map[int]*codexCall // by the line of a call's first item, or of its count where it has none
	prompts map[int]bool       // lines of messages that a user typed
	counted bool               // the log has counts
	wrong   map[int]*lineError // by the line of a count

	open       *codexCall
	cuts       []int // lines where a call would begin if the log had no counts
	afterInput bool
	lastUser   int   // line of a user message that no event has claimed
	claim      bool  // an event has claimed the next one
	claims     int   // events that claim
	unclaimed  []int // lines of the session's other user messages
	newest     int   // line of the newest item
	held       int   // line of a message that the log ends with, before an event could claim it
}

// codexCall is one model call of a rollout.
type codexCall struct {
	count *codexCount // nil when nothing tells it
	line  int         // of the count
}

func newCodexIndex() *codexIndex {
	return &codexIndex{reader: newCodexReader(true), calls: make(map[int]*codexCall), prompts: make(map[int]bool), wrong: make(map[int]*lineError)}
}

// line learns from one line. Lines that cannot be read are pass 2's to report.
func (x *codexIndex) line(text []byte, number int, last bool) error {
	e, err := x.reader.read(text, number, last)
	switch {
	case err != nil:
	case e.head != nil:
		x.end()
		x.meter = codexMeter{}
	case e.item != nil:
		x.item(e, number)
	case e.event != nil:
		x.event(e, number)
	case e.compacted != nil:
		x.open = nil
	}
	return nil
}

func (x *codexIndex) item(e *codexEntry, number int) {
	x.newest = number
	switch class := e.item.class(); {
	case class == codexInput:
		x.afterInput = true
		if e.item.Type == "message" && e.item.Role == "user" {
			x.prompts[number] = x.claim
			x.lastUser, x.claim = number, false
			if x.prompts[number] {
				x.lastUser = 0
			} else {
				x.unclaimed = append(x.unclaimed, number)
			}
		}
	case class == codexOutput && !e.replay:
		switch {
		case x.open == nil:
			x.open = new(codexCall)
			x.calls[number] = x.open
		case x.afterInput:
			x.cuts = append(x.cuts, number)
		}
		x.afterInput = false
	}
}

func (x *codexIndex) event(e *codexEntry, number int) {
	switch e.event.Type {
	case "user_message":
		x.claims++
		if x.lastUser > 0 {
			x.prompts[x.lastUser], x.lastUser = true, 0
		} else {
			x.claim = true
		}
	case "task_started", "turn_started", "task_complete", "turn_complete", "turn_aborted":
		x.open, x.lastUser, x.claim = nil, 0, false
	case "token_count":
		count, problem := x.meter.read(e.event.Info, e.replay)
		if problem != nil {
			x.wrong[number] = problem
		}
		if count == nil {
			return
		}
		x.counted = true
		if x.open == nil {
			x.open = new(codexCall)
			x.calls[number] = x.open
		}
		x.open.count, x.open.line = count, number
		x.open, x.afterInput = nil, false
	}
}

// end closes the log, or one of its sessions. Without counts, an answer after
// new input is a call of its own. A message that the log ends with is left for
// the next import where only a later event can tell whose it is.
func (x *codexIndex) end() {
	if !x.counted {
		for _, number := range x.cuts {
			x.calls[number] = new(codexCall)
		}
	}
	switch {
	case x.claims == 0: // then how a message begins has to do
		for _, number := range x.unclaimed {
			delete(x.prompts, number)
		}
	case x.lastUser > 0 && x.lastUser == x.newest && !x.prompts[x.lastUser]:
		x.held = x.lastUser
	}
	x.claims, x.unclaimed, x.lastUser, x.claim = 0, nil, 0, false
	x.cuts, x.open, x.counted, x.afterInput = nil, nil, false, false
}
