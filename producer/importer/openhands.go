package importer

import (
	"context"
	"io"
	"strconv"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/go-json-experiment/json/jsontext"
)

// ohImport is one import of one log.
type ohImport struct {
	*writer
	runs      map[int]*ohRun // by document, without those of single events
	documents int            // that pass 1 has read
	loose     *ohReading     // of the single events
	room      []byte

	*ohReading // of the document that is read
	line       int
}

// ohReading is how far a run is read in pass 2.
type ohReading struct {
	run     *ohRun
	main    *thread
	ordinal int       // of the next event
	next    int       // place of the next answer
	answer  *ohAnswer // that the event is the first of, nil for none
	callID  string    // the model call that the last answer's pieces belong to
	total   *ohTokens // accumulated, as the last event told
	before  *ohTokens // and as the one before it did
	uses    map[uint64]ohUse
	actions ohActionTrace
	renamed map[uint64]string // tool call's id that another answer has used → the newest tool call that is told by it
	last    *origin
}

// ohUse is what a run made of a tool call's id.
type ohUse struct {
	response uint64 // hash of the first response that used it
	results  int    // so far
}

var ohToolkit = newTool(FormatOpenHands)

// OpenHands imports an OpenHands log and passes its facts to emit in the order
// of its events, as [ClaudeCode] does. A log is an evaluation's output, one run
// a line; one run, or one array of events, as a document; or an event a line.
// Each run is a session.
//
// Documents are read event by event, so that one of any size fits. The file
// name only names problems. The log is read twice. The error is that of r, of
// emit or of ctx; whatever is wrong with the log itself is in the report, also
// when there is an error.
func OpenHands(ctx context.Context, file string, r io.ReadSeeker, opts Options, emit func(*schema.Event) error) (Report, error) {
	im := &ohImport{writer: newWriter(ohToolkit, file, opts, emit), runs: make(map[int]*ohRun)}
	err := im.twiceDocuments(ctx, r, im.index, im.document)
	return im.report, err
}

// index reads a document in pass 1. Documents that are single events are a run
// together.
func (im *ohImport) index(d *document) error {
	run := new(ohRun)
	err := run.index(d, &im.room)
	switch {
	case run.events > 0 && !run.loose:
		im.runs[d.number] = run
	case (run.loose || run.state) && im.loose == nil:
		im.loose = &ohReading{run: run}
	case run.loose || run.state:
		im.loose.run.join(run)
	}
	im.documents = d.number + 1
	return err
}

// document imports one document in pass 2.
func (im *ohImport) document(d *document) error {
	run := im.runs[d.number]
	switch {
	case run != nil:
		delete(im.runs, d.number)
		im.ohReading = &ohReading{run: run}
	case d.number >= im.documents:
		return nil // it was written meanwhile
	case im.loose != nil:
		im.ohReading = im.loose
	default:
		im.ohReading = &ohReading{run: new(ohRun)}
	}
	im.line = d.line
	if im.main == nil {
		if problem := im.begin(); problem != nil {
			err := d.dec.SkipValue()
			if err == nil {
				im.problem(d.line, problem)
			}
			return err
		}
	}
	err := im.run.read(d, &im.room, im.value)
	if im.failed != nil {
		return im.failed
	}
	if end := im.end(); end != nil {
		return end
	}
	if im.ohReading != im.loose {
		im.main.end()
	}
	return err
}

// begin opens the session of a run.
func (im *ohImport) begin() *lineError {
	im.run.link()
	session := im.run.session()
	if session == "" {
		return &lineError{ReasonNoSession, "no event of the run has a time, so that it cannot be told from others"}
	}
	t, isNew := im.writer.thread(threadKey{session, session})
	if !isNew {
		return &lineError{ReasonDuplicateRecord, "the run stands above"}
	}
	im.main, im.uses, im.renamed = t, make(map[uint64]ohUse), make(map[uint64]string)
	t.session.last = im.run.time()
	t.task = im.usable(im.line, "instance_id", im.run.instance)
	return nil
}

// value imports one element of the history.
func (im *ohImport) value(n int, value jsontext.Value) error {
	var failed error
	ok := eachEvent(value, func(e *ohEvent) {
		ordinal := im.ordinal
		im.ordinal++
		im.answered(ordinal)
		if im.before = im.total; e.byAgent() && e.Metrics != nil && e.Metrics.Total != nil {
			im.total = e.Metrics.Total
		}
		if failed == nil {
			failed = im.event(e, ordinal)
		}
	})
	if !ok {
		im.problem(im.line, &lineError{ReasonUnexpectedValue, "element " + strconv.Itoa(n) + " of the history is no event"})
	}
	return failed
}

// answered finds the answer that the event is the first of.
func (r *ohReading) answered(ordinal int) {
	r.answer = nil
	r.run.answers.forget(r.next)
	for ; r.next < r.run.answers.len(); r.next++ {
		a := r.run.answers.at(r.next)
		if a.event == ordinal {
			r.answer = a
		}
		if a.event >= ordinal {
			return
		}
	}
}

// end emits the calls that no event is of.
func (im *ohImport) end() error {
	if im.last == nil || im.ordinal < im.run.events {
		return nil
	}
	return im.background(im.last, im.run.rest, true)
}

// event imports one event. The error is emit's; problems go to the report.
func (im *ohImport) event(e *ohEvent, ordinal int) error {
	o, err := im.origin(e, ordinal)
	if err != nil {
		im.problem(im.line, err)
		return nil
	}
	if !o.thread.first(o.hashed()) {
		im.problem(im.line, &lineError{ReasonDuplicateRecord, "an event with this id stands above"})
		return nil
	}
	im.last = o
	args := e.args()
	if err := im.writer.open(o, im.run.scope(args)); err != nil {
		return err
	}
	if im.answer != nil {
		if err := im.start(o, e, im.answer); err != nil {
			return err
		}
	}
	switch {
	case e.sdk != nil:
		return im.sdkEvent(o, e, args)
	case e.Action != "":
		return im.action(o, e, args)
	case e.Observation != "":
		return im.observation(o, e)
	}
	im.problem(im.line, &lineError{ReasonUnknownType, "event " + strconv.Itoa(ordinal) + " is neither an action nor an observation"})
	return nil
}

func (im *ohImport) origin(e *ohEvent, ordinal int) (*origin, *lineError) {
	id := e.id()
	if problem := refused(nativeID{"the event's id", id}); problem != nil {
		return nil, problem
	}
	o := &origin{thread: im.main, record: ohRecord(id), hash: ohHash(id), line: im.line, extra: map[string]any{"record_type": e.kind()}}
	if id == "" {
		o.record = "at-" + strconv.Itoa(ordinal)
		o.hash = hashOf(o.record)
	} else {
		o.extra["event_id"] = id
	}
	at, ok := parseTime(e.Timestamp)
	if !ok {
		at = im.main.session.last
		o.extra["time_of_another_record"] = true
	}
	o.at, im.main.session.last = at, at
	return o, nil
}

// scope is what the run says about itself.
func (run *ohRun) scope(system *ohArgs) scope {
	s := scope{kind: "session", depth: new(int64), program: "openhands", local: map[string]string{
		"instance_id": run.instance, "agent_class": run.head.AgentClass, "dataset": run.head.Dataset, "git_commit": run.head.Commit,
	}}
	if system.Version != "" {
		s.program += " " + shortText(system.Version, 64)
	}
	if s.local["agent_class"] == "" {
		s.local["agent_class"] = system.AgentClass
	}
	if c := run.head.Condenser; c != nil {
		s.local["condenser"] = c.Type
	}
	if n := run.head.MaxIterations; n != nil {
		s.limits = map[string]any{"max_iterations": *n}
	}
	return s
}

// start emits the model call that an event is the first of.
func (im *ohImport) start(o *origin, e *ohEvent, a *ohAnswer) error {
	if err := im.background(o, a.before, false); err != nil {
		return err
	}
	tokens, response := im.used(e, a), e.response()
	if a.count >= 0 && !im.run.state { // they are asked for in order
		im.run.counts.forget(a.count)
	}
	if a.condenser && tokens == nil {
		return nil // whether a model was called is not told
	}
	if response == "" && tokens != nil {
		response = tokens.ResponseID
	}
	c := &modelCall{id: im.usable(im.line, "the id of the model's response", response), extra: make(map[string]any)}
	if a.condenser {
		c.noWindow, c.lineage = true, o.thread.key.thread+":condenser"
		c.extra["background"] = true
	}
	if c.id == "" {
		c.id = o.record + ":call"
	}
	model := ""
	if e.Tool != nil && e.Tool.Response != nil {
		model = e.Tool.Response.Model
		if choice := e.choice(); choice != nil {
			c.stop = shortText(choice.FinishReason, 64)
		}
	}
	im.fill(c, tokens, model)
	if a == im.run.answers.last() && len(im.run.background(im.run.rest)) == 0 {
		im.reportTotals(c)
	}
	im.callID = c.id
	if err := im.writer.call(o, c); err != nil || a.condenser {
		return err
	}
	o.thread.called(o, c.model)
	return nil
}

// used is what an answer's call used: as the run lists it, as the answer says,
// or as the totals grew; nil when nothing tells it.
func (im *ohImport) used(e *ohEvent, a *ohAnswer) *ohTokens {
	if a.count >= 0 {
		return im.run.counts.at(a.count).unpack()
	}
	if a.condenser {
		return nil
	}
	if e.Tool != nil {
		if tokens := e.Tool.Response.usage(); tokens != nil {
			return tokens
		}
	}
	if e.Metrics != nil {
		return e.Metrics.Total.since(im.before)
	}
	return nil
}

// fill gives a call what is known of its use.
func (im *ohImport) fill(c *modelCall, tokens *ohTokens, model string) {
	if tokens != nil {
		usage, problem := tokens.buckets()
		if problem != nil {
			im.problem(im.line, problem)
		}
		c.usage, c.raw, c.cost = usage, tokens.raw(), tokens.cost
		if model == "" {
			model = tokens.Model
		}
	}
	if model == "" && im.run.head.Model != nil {
		model = im.run.head.Model.Model
	}
	c.model = shortText(model, 128)
}

// reportTotals adds the totals that the run tells to its last call.
func (im *ohImport) reportTotals(c *modelCall) {
	if totals := im.run.reported(); len(totals) > 0 {
		c.extra["reported_totals"] = totals
		c.version = []string{"totals"}
	}
}

// background emits calls that no event is of, such as a condenser's. What they
// saw is not known.
func (im *ohImport) background(o *origin, b ohBackground, end bool) error {
	calls := im.run.background(b)
	for i, tokens := range calls {
		c := &modelCall{id: im.usable(im.line, "response_id", tokens.ResponseID), noWindow: true, lineage: o.thread.key.thread + ":background", extra: map[string]any{"background": true}}
		if c.id == "" {
			c.id = o.record + ":before:" + strconv.Itoa(i)
		}
		im.fill(c, tokens, "")
		if end && i == len(calls)-1 {
			im.reportTotals(c)
		}
		if err := im.writer.call(o, c); err != nil {
			return err
		}
	}
	return nil
}
