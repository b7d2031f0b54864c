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
	runs map[int]*ohRun // by document

	run     *ohRun // of the document that is read
	line    int
	thread  *thread
	ordinal int               // of the next event
	call    string            // the model call that the last answer's pieces belong to
	numbers map[uint64]int64  // of the events, by hash of their record's id
	results map[string]int    // tool call → its results so far
	ids     map[string]string // tool call id → the response that used it first
	actions map[string]string // event → the tool call that it is
	last    *origin
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
	var events *ohRun // of a log with an event a line
	err := im.twiceDocuments(ctx, r,
		func(d *document) error {
			run := new(ohRun)
			if events != nil {
				run.total = events.total
			}
			err := run.index(d)
			switch {
			case !run.loose:
			case events == nil: // one event a line
				events = run
			default:
				events.join(run)
				run = events
			}
			im.runs[d.number] = run
			return err
		},
		im.document)
	return im.report, err
}

// document imports one document in pass 2.
func (im *ohImport) document(d *document) error {
	run := im.runs[d.number]
	if run == nil {
		return nil // it was written meanwhile
	}
	im.line = d.line
	if run != im.run {
		run.link()
		im.run, im.ordinal, im.call, im.last = run, 0, "", nil
		im.results, im.numbers = make(map[string]int), make(map[uint64]int64)
		im.ids, im.actions = make(map[string]string), make(map[string]string)
		session := run.session()
		if session == "" {
			err := d.dec.SkipValue()
			if im.run = nil; err == nil {
				im.problem(d.line, &lineError{ReasonNoSession, "no event of the run has a time, so that it cannot be told from others"})
			}
			return err
		}
		isNew := false
		if im.thread, isNew = im.writer.thread(threadKey{session, session}); !isNew {
			im.problem(d.line, &lineError{ReasonDuplicateRecord, "the run stands above"})
			im.run = nil
			return d.dec.SkipValue()
		}
		im.thread.session.last = run.time()
		if validID(run.instance) {
			im.thread.task = run.instance
		}
	}
	again := ohRun{} // pass 1 has read what is not an event
	err := again.read(d, im.value)
	if im.failed != nil {
		return im.failed
	}
	if end := im.end(); end != nil {
		return end
	}
	return err
}

// value imports one element of the history.
func (im *ohImport) value(n int, value jsontext.Value) error {
	var failed error
	ok := eachEvent(value, func(e *ohEvent) {
		ordinal := im.ordinal
		im.ordinal++
		if failed == nil {
			failed = im.event(e, ordinal)
		}
	})
	if !ok {
		im.problem(im.line, &lineError{ReasonUnexpectedValue, "element " + strconv.Itoa(n) + " of the history is no event"})
	}
	return failed
}

// end emits the calls that no event is of.
func (im *ohImport) end() error {
	if im.run == nil || im.last == nil || im.ordinal < im.run.events {
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
	if !o.thread.first(o.record) {
		im.problem(im.line, &lineError{ReasonDuplicateRecord, "an event with this id stands above"})
		return nil
	}
	im.last = o
	args := e.args()
	if err := im.writer.open(o, im.run.scope(args)); err != nil {
		return err
	}
	if call := im.run.calls[ordinal]; call != nil {
		if err := im.start(o, e, call); err != nil {
			return err
		}
	}
	switch {
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
	if id == "" {
		id = "at-" + strconv.Itoa(ordinal)
	}
	if !validID(id) {
		return nil, &lineError{ReasonBadID, "event " + strconv.Itoa(ordinal) + " has an id that cannot travel"}
	}
	o := &origin{thread: im.thread, record: ohRecord(id), line: im.line, extra: map[string]any{"record_type": e.kind(), "event_id": id}}
	if n, err := strconv.ParseInt(id, 10, 64); err == nil {
		im.numbers[hashOf(o.record)] = n
	}
	at, ok := parseTime(e.Timestamp)
	if !ok {
		at = im.thread.session.last
		o.extra["time_of_another_record"] = true
	}
	o.at, im.thread.session.last = at, at
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
func (im *ohImport) start(o *origin, e *ohEvent, call *ohCall) error {
	if err := im.background(o, call.before, false); err != nil {
		return err
	}
	if call.condenser && call.tokens == nil {
		return nil // whether a model was called is not told
	}
	c := &modelCall{id: call.response, extra: make(map[string]any)}
	if call.condenser {
		c.noWindow, c.lineage = true, o.thread.key.thread+":condenser"
		c.extra["background"] = true
	}
	if c.id == "" || !validID(c.id) {
		c.id = o.record + ":call"
	}
	model := ""
	if e.Tool != nil && e.Tool.Response != nil {
		model = e.Tool.Response.Model
		if len(e.Tool.Response.Choices) > 0 {
			c.stop = shortText(e.Tool.Response.Choices[0].FinishReason, 64)
		}
	}
	im.fill(c, call.tokens, model)
	if call.last && len(im.run.rest) == 0 {
		im.reportTotals(c)
	}
	im.call = c.id
	if err := im.writer.call(o, c); err != nil || call.condenser {
		return err
	}
	o.thread.called(o, c.model)
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
	if totals := im.run.metrics.reported(len(im.run.metrics.Tokens)); len(totals) > 0 {
		c.extra["reported_totals"] = totals
		c.version = []string{"totals"}
	}
}

// background emits calls that no event is of, such as a condenser's. What they
// saw is not known.
func (im *ohImport) background(o *origin, calls []*ohTokens, end bool) error {
	for i, tokens := range calls {
		c := &modelCall{id: tokens.ResponseID, noWindow: true, lineage: o.thread.key.thread + ":background", extra: map[string]any{"background": true}}
		if c.id == "" || !validID(c.id) {
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
