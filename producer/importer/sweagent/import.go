package sweagent

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/ctxledger/ctxledger/producer/importer/internal/hashset"
	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// sweImport is one import of one log.
type sweImport struct {
	*model.Writer
	sweTrials

	trial   *sweTrial
	line    int
	main    *model.Thread
	message int                  // ordinal of the next message
	answer  int                  // ordinal of the model's next answer
	placed  hashset.List[uint64] // hashes of the records of the main agent's messages, in order
	pending []string             // tool calls of the last answer
	last    *model.Origin
	timed   time.Time // time of the last message that has one
}

// sweTrials are the trials of the log.
type sweTrials struct {
	trials []*sweTrial // in the order of the log, nil for a trial without content
	next   int
	ended  bool // the program has ended a trial
}

var sweTool = model.NewTool(model.FormatSWEAgent)

// Import imports an SWE-agent or mini-swe-agent trajectory and passes its facts to emit in the
// order of its history. Each attempt of a trajectory is a session.
//
// Trajectories have no times: facts have the first microseconds of 1970, in order, and metadata
// time_unknown. Trajectories name no session: its id is made from the problem and the first
// answers of the trial.
//
// Documents are read message by message, so their size is not limited. The file name appears in
// problems only. The log is read twice. The error is an error of r, of emit or of ctx. The report
// lists problems of the log, also if Import returns an error.
func Import(ctx context.Context, file string, r io.ReadSeeker, opts model.Options, emit func(*schema.Event) error) (model.Report, error) {
	im := &sweImport{Writer: model.NewWriter(sweTool, file, opts, emit)}
	err := im.TwiceDocuments(ctx, r, im.index, im.document)
	return im.Report, err
}

// index reads a document in pass 1.
func (im *sweImport) index(d *model.Document) error {
	read := func(attempts func() error) error {
		t := newSWETrial()
		at := len(im.trials)
		im.trials = append(im.trials, t)
		err := t.Read(d,
			func(_ int, value jsontext.Value) error { t.step(value, im.Opts); return nil },
			func(_ int, value jsontext.Value) error { t.message(value); return nil },
			attempts)
		im.ended = im.ended || t.info.Exit != ""
		switch {
		case len(im.trials) > at+1 && t.steps.Len() == 0 && !t.history: // the trial consists of attempts
			im.trials = append(im.trials[:at], im.trials[at+1:]...)
		case !t.told:
			im.trials[at] = nil
		default:
			t.link()
		}
		return err
	}
	return read(func() error { return d.Each(func() error { return read(nil) }) })
}

// document imports a document in pass 2.
func (im *sweImport) document(d *model.Document) error {
	attempts := func() error { return d.Each(func() error { return im.attempt(d, nil) }) }
	if im.next < len(im.trials) && (im.ended || !im.Opts.Growing) {
		return im.attempt(d, attempts)
	}
	return d.Dec.SkipValue() // the document was written after pass 1, or its program still works on it
}

// attempt imports a trial. A trial that consists of attempts has no messages, and its first
// attempt takes its place.
func (im *sweImport) attempt(d *model.Document, attempts func() error) error {
	made, begun := false, false
	if attempts != nil {
		inner := attempts
		attempts = func() error { made = true; return inner() }
	}
	begin := func() bool {
		if !begun && im.next < len(im.trials) {
			im.begin(d)
		}
		begun = true
		return im.trial != nil
	}
	failed := (&sweTrial{}).Read(d,
		func(n int, value jsontext.Value) error {
			if !begin() || im.trial.history {
				return nil
			}
			return im.stepOf(n, value)
		},
		func(n int, value jsontext.Value) error {
			if !begin() {
				return nil
			}
			return im.messageOf(n, value)
		}, attempts)
	if im.Failed != nil {
		return im.Failed
	}
	if im.trial == nil {
		if !made && !begun {
			im.next++
			im.Problem(d.Line, model.NewLineError(model.ReasonNoMessage, "the trajectory has neither a history nor steps"))
		}
		return failed
	}
	if err := im.End(); err != nil {
		return err
	}
	im.trial = nil
	return failed
}

// begin makes the next trial the current one.
func (im *sweImport) begin(d *model.Document) {
	im.trial, im.line = im.trials[im.next], d.Line
	im.trials[im.next] = nil // freed after its last message
	if im.trial == nil {     // the file has changed since pass 1
		im.trial = newSWETrial()
		im.trial.link()
	}
	im.next++
	im.message, im.answer, im.placed, im.pending, im.last, im.timed = 0, 0, hashset.List[uint64]{}, nil, nil, time.Time{}
	name := im.trial.name()
	t, isNew := im.Thread(model.ThreadKey{Session: name, Thread: name})
	im.main = t
	t.Task = im.Usable(d.Line, "the problem's id", im.trial.config.Problem.ID)
	if !isNew {
		im.Problem(d.Line, model.NewLineError(model.ReasonDuplicateRecord, "an earlier trial has the same beginning"))
		im.trial = nil
	}
}

// messageOf imports one element of the history.
func (im *sweImport) messageOf(n int, value jsontext.Value) error {
	m := new(sweMessage)
	if !jsonscan.Decode(value, m.Read) {
		im.Problem(im.line, model.NewLineError(model.ReasonUnexpectedValue, "message "+strconv.Itoa(n)+" has another form"))
		return nil
	}
	return im.oneMessage(m)
}

// stepOf imports a step of a trajectory without a history: the model's input at the first step,
// the answer and the result.
func (im *sweImport) stepOf(n int, value jsontext.Value) error {
	s := new(sweStep)
	if !jsonscan.Decode(value, s.Read) {
		im.Problem(im.line, model.NewLineError(model.ReasonUnexpectedValue, "step "+strconv.Itoa(n)+" has another form"))
		return nil
	}
	if n == 0 {
		shown := s.first(&im.trial.room)
		for i := range shown {
			shown[i].Agent = im.trial.main // steps are those of the main agent
			if err := im.oneMessage(&shown[i]); err != nil {
				return err
			}
		}
	}
	action, _ := json.Marshal(s.Action, jsonscan.Lenient)
	answer := &sweMessage{Role: "assistant", Content: s.Response, Action: action}
	if err := im.oneMessage(answer); err != nil || s.Observation == nil {
		return err
	}
	return im.oneMessage(&sweMessage{Role: "user", Content: s.Observation, Kind: "observation"})
}

// oneMessage imports a message.
func (im *sweImport) oneMessage(m *sweMessage) error {
	o := im.origin(m)
	im.last = o
	if err := im.Writer.Open(o, im.scope(o)); err != nil {
		return err
	}
	if o.Thread == im.main {
		im.placed.Add(o.Hashed())
	}
	if m.Role == "assistant" && !m.IsDemo {
		return im.answered(o, m)
	}
	return im.told(o, m)
}

// origin returns the origin of a message's facts.
func (im *sweImport) origin(m *sweMessage) *model.Origin {
	n := im.message
	im.message++
	kind := "message:" + model.BlockName(m.Role)
	if m.Kind != "" {
		kind = model.BlockName(m.Kind) + ":" + model.BlockName(m.Role)
	}
	o := &model.Origin{Thread: im.main, Record: "message-" + strconv.Itoa(n), Line: im.line, Extra: map[string]any{"record_type": kind, "message": n}}
	if m.Agent != im.trial.main && m.Agent != "" {
		session := im.main.Key.Session
		if im.Usable(im.line, "the session with its agent", session+":"+m.Agent) != "" {
			o.Thread, _ = im.Thread(model.ThreadKey{Session: session, Thread: session + ":" + m.Agent})
		}
	}
	if m.Extra != nil && m.Extra.Timestamp != nil && !math.IsNaN(*m.Extra.Timestamp) && *m.Extra.Timestamp > 0 && *m.Extra.Timestamp < 9e9 {
		im.timed = time.UnixMicro(int64(*m.Extra.Timestamp * 1e6)).UTC()
	}
	if o.At = im.timed; im.timed.IsZero() {
		o.At, o.Thread.Untimed = time.UnixMicro(int64(n)).UTC(), true
		o.Extra["time_unknown"] = true
	}
	return o
}

func (im *sweImport) scope(o *model.Origin) model.Scope {
	depth := int64(0)
	t := im.trial
	s := model.Scope{Kind: "session", Depth: &depth, Program: "swe-agent", Local: map[string]string{
		"environment": t.environment, "problem": t.config.Problem.ID, "repository": t.place, "model": t.config.Agent.Model.Name,
	}}
	switch {
	case t.info.Version != "":
		s.Program += " " + model.ShortText(t.info.Version, 64)
	case t.info.Mini != "":
		s.Program = "mini-swe-agent " + model.ShortText(t.info.Mini, 64)
	}
	if o.Thread != im.main {
		depth = 1
		s.Kind, s.ParentThread = "subagent", im.main.Key.Thread
	}
	return s
}

// startCall emits the model call of an answer. startCall first emits the failed calls before the
// answer, and the elisions since the previous window.
func (im *sweImport) startCall(o *model.Origin, m *sweMessage) (string, error) {
	n := im.answer
	im.answer++
	first, last := im.trial.stepsOf(n)
	if last < 0 {
		c := &model.ModelCall{ID: o.Record + ":call", Extra: make(map[string]any)}
		return c.ID, im.emitCall(o, c, m, n == im.trial.answers.Len()-1)
	}
	for s := first; s < last; s++ {
		if err := im.stepCall(o, s, s > first, nil, false); err != nil {
			return "", err
		}
	}
	final := n == im.trial.answers.Len()-1 && last == im.trial.steps.Len()-1
	return stepCallID(last), im.stepCall(o, last, last > first, m, final)
}

func stepCallID(step int) string { return "step-" + strconv.Itoa(step) }

// stepCall emits the model call of a step. m is nil if the history does not hold the answer. A call
// is again if the program asked again after an unusable answer. Its window then holds this answer and
// an error, which the history does not hold (revision 5).
func (im *sweImport) stepCall(o *model.Origin, step int, again bool, m *sweMessage, final bool) error {
	w := im.trial.steps.At(step)
	c := &model.ModelCall{ID: stepCallID(step), Extra: map[string]any{"step": step}}
	if again {
		c.Lacking = []string{string(schema.PartialEntries)}
	}
	if w.shown >= 0 {
		c.Extra["window_messages"] = w.shown
	}
	if m == nil {
		c.Extra["answer_not_in_history"] = true
	}
	if o.Thread == im.main && w.shown >= 0 && w.shown <= im.placed.Len() {
		if err := im.elided(o, step, w); err != nil {
			return err
		}
	}
	return im.emitCall(o, c, m, final)
}

// elided emits the stubs of the history processors since the previous step.
func (im *sweImport) elided(o *model.Origin, step int, w *sweWindow) error {
	e := &model.Elision{ID: stepCallID(step) + ":elision", Policy: im.policy(), Level: schema.ElideSimple, Extra: map[string]any{"step": step}}
	before, after, known := int64(0), int64(0), true
	for _, change := range w.changed {
		if change.place >= im.trial.texts.Len() || change.place >= im.placed.Len() || change.text == *im.trial.texts.At(change.place) {
			continue
		}
		for _, item := range o.Thread.Log.Stub(*im.placed.At(change.place), change.tokens, change.digest) {
			known = known && item.TokensBefore != nil && item.TokensAfter != nil
			before, after = before+model.ValueOf(item.TokensBefore), after+model.ValueOf(item.TokensAfter)
			e.Items = append(e.Items, item)
		}
	}
	if len(e.Items) == 0 {
		return nil
	}
	if saved := before - after; known && saved >= 0 {
		e.Before, e.After, e.Saved = &before, &after, &saved
	}
	return im.Elision(o, e)
}

// policy names the history processors that the log names.
func (im *sweImport) policy() string {
	policy := "swe-agent:history_processor"
	for _, p := range im.trial.config.Agent.History {
		if p.Type != "" && p.Type != "cache_control" && model.BlockName(p.Type) == p.Type {
			policy = "swe-agent:" + p.Type
		}
	}
	return policy
}

// emitCall emits a model call. Only mini-swe-agent logs the usage of single calls. The last call
// has the totals.
func (im *sweImport) emitCall(o *model.Origin, c *model.ModelCall, m *sweMessage, final bool) error {
	c.Model = model.ShortText(im.trial.config.Agent.Model.Name, 128)
	if m != nil && m.Extra != nil {
		if tokens := m.Extra.Response.Tokens(); tokens != nil {
			usage, problem := tokens.Buckets()
			if problem != nil {
				im.Problem(im.line, problem)
			}
			c.Usage, c.Raw = usage, tokens.Raw()
		}
		if m.Extra.Response != nil && m.Extra.Response.Model != "" {
			c.Model = model.ShortText(m.Extra.Response.Model, 128)
		}
		if m.Extra.Cost != nil && *m.Extra.Cost >= 0 {
			c.Cost = m.Extra.Cost
		}
	}
	if stats := im.trial.info.Stats; final && stats != nil {
		if totals := stats.reported(); len(totals) > 0 {
			c.Extra["reported_totals"] = totals
			c.Version = []string{"totals", fmt.Sprint(totals)}
		}
	}
	if err := im.Call(o, c); err != nil {
		return err
	}
	o.Thread.Called(o, c.Model)
	return nil
}

// End emits the content that is only in the steps: the result of the last answer, and failed
// calls.
func (im *sweImport) End() error {
	o := im.last
	if o == nil {
		return nil
	}
	if t := im.trial; t.history && len(im.pending) > 0 {
		if step := t.answered; step >= 0 && step == t.steps.Len()-1 {
			result := *o
			result.Record, result.Hash, result.Place = stepCallID(step), 0, ""
			result.Extra = map[string]any{"record_type": "step", "step": step}
			if o.Thread.Untimed {
				result.Extra["time_unknown"] = true
			}
			if err := im.result(&result, im.pending, jsonscan.TextOf(t.observation), "after_the_last_call"); err != nil {
				return err
			}
		}
	}
	if !im.trial.history {
		return nil
	}
	for s := im.trial.nextStep; s < im.trial.steps.Len(); s++ {
		if err := im.stepCall(o, s, s > im.trial.nextStep, nil, s == im.trial.steps.Len()-1); err != nil {
			return err
		}
	}
	return nil
}
