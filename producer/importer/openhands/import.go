package openhands

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"

	"github.com/ctxledger/ctxledger/producer/importer/internal/completion"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ohImport is one import of one log.
type ohImport struct {
	*model.Writer
	runs      map[int]*ohRun // runs by document, without runs of single events
	documents int            // number of documents that pass 1 has read
	loose     *ohReading     // state of the single events
	room      []byte

	*ohReading // state of the current document
	line       int
}

// ohReading is the state of a run in pass 2.
type ohReading struct {
	run     *ohRun
	main    *model.Thread
	ordinal int                // ordinal of the next event
	next    int                // index of the next answer
	answer  *ohAnswer          // answer whose first event is the current one, nil for none
	callID  string             // the model call of the last answer's pieces
	total   *completion.Tokens // accumulated total in the last event
	before  *completion.Tokens // accumulated total in the event before
	uses    map[uint64]ohUse
	actions ohActionTrace
	renamed map[uint64]string // reused tool call id → id of the newest tool call with it
	last    *model.Origin
}

// ohUse counts the uses of a tool call's id in a run.
type ohUse struct {
	response uint64 // hash of the first response that used it
	results  int    // number of results so far
}

var ohToolkit = model.NewTool(model.FormatOpenHands)

// Import imports an OpenHands log and passes its facts to emit in the order of its events. Each
// run is a session. A log has one of these forms:
//
//   - the output of an evaluation, with one run per line;
//   - one document with a run or an array of events;
//   - one event per line.
//
// Documents are read event by event, so their size is not limited. The file name appears in
// problems only. The log is read twice. The error is an error of r, of emit or of ctx. The report
// lists problems of the log, also if Import returns an error.
func Import(ctx context.Context, file string, r io.ReadSeeker, opts model.Options, emit func(*schema.Event) error) (model.Report, error) {
	im := &ohImport{Writer: model.NewWriter(ohToolkit, file, opts, emit), runs: make(map[int]*ohRun)}
	err := im.TwiceDocuments(ctx, r, im.index, im.document)
	return im.Report, err
}

// index reads a document in pass 1. All documents that are single events form one run.
func (im *ohImport) index(d *model.Document) error {
	run := new(ohRun)
	err := run.index(d, &im.room)
	switch {
	case run.events > 0 && !run.loose:
		im.runs[d.Number] = run
	case (run.loose || run.state) && im.loose == nil:
		im.loose = &ohReading{run: run}
	case run.loose || run.state:
		im.loose.run.join(run)
	}
	im.documents = d.Number + 1
	return err
}

// document imports one document in pass 2.
func (im *ohImport) document(d *model.Document) error {
	run := im.runs[d.Number]
	switch {
	case run != nil:
		delete(im.runs, d.Number)
		im.ohReading = &ohReading{run: run}
	case d.Number >= im.documents:
		return nil // the document was written after pass 1
	case im.loose != nil:
		im.ohReading = im.loose
	default:
		im.ohReading = &ohReading{run: new(ohRun)}
	}
	im.line = d.Line
	if im.main == nil {
		if problem := im.begin(); problem != nil {
			err := d.Dec.SkipValue()
			if err == nil {
				im.Problem(d.Line, problem)
			}
			return err
		}
	}
	err := im.run.Read(d, &im.room, im.Value)
	if im.Failed != nil {
		return im.Failed
	}
	if end := im.End(); end != nil {
		return end
	}
	if im.ohReading != im.loose {
		im.main.End()
	}
	return err
}

// milliBits leaves room for four thousand entries of a slice a millisecond. Positions stay below 2⁵³.
const milliBits = 12

// begin opens the session of a run.
func (im *ohImport) begin() *model.LineError {
	im.run.link()
	session := im.run.session()
	if session == "" {
		return model.NewLineError(model.ReasonNoSession, "no event of the run has a time, so the run cannot be identified")
	}
	t, isNew := im.Writer.Thread(model.ThreadKey{Session: session, Thread: session})
	if !isNew {
		return model.NewLineError(model.ReasonDuplicateRecord, "an earlier run is the same")
	}
	if record, at, sliced := im.run.slice(); sliced { // slices of revision 2 had the source of the whole log
		t.Slice(record, at.UnixMilli()<<milliBits)
	}
	im.main, im.uses, im.renamed = t, make(map[uint64]ohUse), make(map[uint64]string)
	t.Session.Last = im.run.time()
	t.Task = im.Usable(im.line, "instance_id", im.run.instance)
	return nil
}

// Value imports one element of the history.
func (im *ohImport) Value(n int, value jsontext.Value) error {
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
		im.Problem(im.line, model.NewLineError(model.ReasonUnexpectedValue, "element "+strconv.Itoa(n)+" of the history is not an event"))
	}
	return failed
}

// answered finds the answer whose first event is the current one.
func (r *ohReading) answered(ordinal int) {
	r.answer = nil
	r.run.answers.Forget(r.next)
	for ; r.next < r.run.answers.Len(); r.next++ {
		a := r.run.answers.At(r.next)
		if a.event == ordinal {
			r.answer = a
		}
		if a.event >= ordinal {
			return
		}
	}
}

// End emits the calls without an event. In a growing log, they wait for their event.
func (im *ohImport) End() error {
	if im.Opts.Growing || im.last == nil || im.ordinal < im.run.events {
		return nil
	}
	calls := im.run.background(im.run.rest)
	im.run.rest = ohBackground{}
	if len(calls) == 0 || !im.run.state {
		return im.background(im.last, calls, true)
	}
	counted, err := json.Marshal([]any{calls, im.run.reported(), im.run.head}, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("name the calls that line %d of the log counts: %w", im.line, err)
	}
	sum := sha256.Sum256(counted)
	o := im.last.Counts(hex.EncodeToString(sum[:8]))
	if err := im.Writer.Open(o, im.run.scope(new(ohArgs))); err != nil {
		return err
	}
	return im.background(o, calls, true)
}

// event imports one event. The error is an error of emit; problems go to the report.
func (im *ohImport) event(e *ohEvent, ordinal int) error {
	o, err := im.origin(e, ordinal)
	if err != nil {
		im.Problem(im.line, err)
		return nil
	}
	if !o.Thread.First(o.Hashed()) {
		im.Problem(im.line, model.NewLineError(model.ReasonDuplicateRecord, "an earlier event has this id"))
		return nil
	}
	im.last = o
	args := e.args()
	if err := im.Writer.Open(o, im.run.scope(args)); err != nil {
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
	im.Problem(im.line, model.NewLineError(model.ReasonUnknownType, "event "+strconv.Itoa(ordinal)+" is neither an action nor an observation"))
	return nil
}

func (im *ohImport) origin(e *ohEvent, ordinal int) (*model.Origin, *model.LineError) {
	id := e.id()
	if problem := model.Refused(model.NativeID{Member: "the event's id", ID: id}); problem != nil {
		return nil, problem
	}
	o := &model.Origin{Thread: im.main, Record: ohRecord(id), Hash: ohHash(id), Line: im.line, Extra: map[string]any{"record_type": e.kind()}}
	if id == "" {
		o.Record = "at-" + strconv.Itoa(ordinal)
		o.Hash = model.HashOf(o.Record)
	} else {
		o.Extra["event_id"] = id
	}
	at, ok := model.ParseTime(e.Timestamp)
	if !ok {
		at = im.main.Session.Last
		o.Extra["time_of_another_record"] = true
	}
	o.At, im.main.Session.Last = at, at
	return o, nil
}

// scope returns the properties of the run.
func (run *ohRun) scope(system *ohArgs) model.Scope {
	s := model.Scope{Kind: "session", Depth: new(int64), Program: "openhands", Local: map[string]string{
		"instance_id": run.instance, "agent_class": run.head.AgentClass, "dataset": run.head.Dataset, "git_commit": run.head.Commit,
	}}
	if system.Version != "" {
		s.Program += " " + model.ShortText(system.Version, 64)
	}
	if s.Local["agent_class"] == "" {
		s.Local["agent_class"] = system.AgentClass
	}
	if c := run.head.Condenser; c != nil {
		s.Local["condenser"] = c.Type
	}
	if n := run.head.MaxIterations; n != nil {
		s.Limits = map[string]any{"max_iterations": *n}
	}
	return s
}

// start emits the model call of an answer at the answer's first event.
func (im *ohImport) start(o *model.Origin, e *ohEvent, a *ohAnswer) error {
	if err := im.background(o, im.run.background(a.before), false); err != nil {
		return err
	}
	tokens, response := im.used(e, a), e.response()
	if a.count >= 0 && !im.run.state { // counts are read in order
		im.run.counts.Forget(a.count)
	}
	if a.condenser && !im.run.called(a) {
		return nil
	}
	if response == "" && tokens != nil {
		response = tokens.ResponseID
	}
	c := &model.ModelCall{ID: im.Usable(im.line, "the id of the model's response", response), Extra: make(map[string]any)}
	if a.condenser {
		c.NoWindow, c.Lineage = true, o.Thread.Key.Thread+":condenser"
		c.Extra["background"] = true
	}
	if c.ID == "" {
		c.ID = o.Record + ":call"
	}
	name := ""
	if e.Tool != nil && e.Tool.Response != nil {
		name = e.Tool.Response.Model
		if choice := e.choice(); choice != nil {
			c.Stop = model.ShortText(choice.FinishReason, 64)
		}
	}
	if a.failed {
		c.Extra["answer_not_in_history"] = true
	}
	im.fill(c, tokens, name)
	if !im.Opts.Growing && a == im.run.answers.Last() && len(im.run.background(im.run.rest)) == 0 {
		im.reportTotals(c)
	}
	if !a.failed {
		im.callID = c.ID
	}
	if err := im.Writer.Call(o, c); err != nil || a.condenser {
		return err
	}
	o.Thread.Called(o, c.Model)
	return nil
}

// called reports whether a model wrote the summary of a condensation. The state of a conversation can be older
// than the condensation, and then lacks the counts.
func (run *ohRun) called(a *ohAnswer) bool { return a.count >= 0 || run.state && a.response != 0 }

// used returns the usage of an answer's call. The sources are, in this order, the counts of the
// run, the answer, and the growth of the totals. The result is nil if all are missing.
func (im *ohImport) used(e *ohEvent, a *ohAnswer) *completion.Tokens {
	if a.count >= 0 {
		return im.run.counts.At(a.count).Unpack()
	}
	if a.condenser {
		return nil
	}
	if e.Tool != nil {
		if tokens := e.Tool.Response.Tokens(); tokens != nil {
			return tokens
		}
	}
	if e.Metrics != nil {
		return e.Metrics.Total.Since(im.before)
	}
	return nil
}

// fill sets the usage and the model of a call, as far as known.
func (im *ohImport) fill(c *model.ModelCall, tokens *completion.Tokens, name string) {
	if tokens != nil {
		usage, problem := tokens.Buckets()
		if problem != nil {
			im.Problem(im.line, problem)
		}
		c.Usage, c.Raw, c.Cost = usage, tokens.Raw(), tokens.Cost
		if name == "" {
			name = tokens.Model
		}
	}
	if name == "" && im.run.head.Model != nil {
		name = im.run.head.Model.Model
	}
	c.Model = model.ShortText(name, 128)
}

// reportTotals adds the totals of the run to the run's last call.
func (im *ohImport) reportTotals(c *model.ModelCall) {
	if totals := im.run.reported(); len(totals) > 0 {
		c.Extra["reported_totals"] = totals
		c.Version = []string{"totals"}
	}
}

// background emits calls without an event, such as the calls of a condenser. Their windows are
// unknown.
func (im *ohImport) background(o *model.Origin, calls []*completion.Tokens, end bool) error {
	for i, tokens := range calls {
		c := &model.ModelCall{ID: im.Usable(im.line, "response_id", tokens.ResponseID), NoWindow: true, Lineage: o.Thread.Key.Thread + ":background", Extra: map[string]any{"background": true}}
		if c.ID == "" {
			c.ID = o.Record + ":before:" + strconv.Itoa(i)
		}
		im.fill(c, tokens, "")
		if end && i == len(calls)-1 {
			im.reportTotals(c)
		}
		if err := im.Writer.Call(o, c); err != nil {
			return err
		}
	}
	return nil
}
