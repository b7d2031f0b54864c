package importer

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// writer turns the neutral model of a session (threads, calls, pieces,
// boundaries) into facts. Every parser has one, so that what two tools log of
// the same task becomes the same kinds of facts.
type writer struct {
	tool     tool
	file     string // names problems
	opts     Options
	emit     func(*schema.Event) error
	report   Report
	sessions map[string]*session
	threads  map[threadKey]*thread
	failed   error             // emit's, which ends the import
	name     []byte            // of the last fact, room for the next
	dec      *jsontext.Decoder // of the last document, its buffer for the next
	line     []byte            // of the last long line, room for the next
	item     schema.ItemAdded
	entry    schema.LogAppended
}

// tool is the program whose logs a parser reads.
type tool struct {
	name      string    // agent and runtime_id of the facts
	namespace uuid.UUID // of the event ids
}

func newTool(f Format) tool {
	return tool{string(f), uuid.NewSHA1(uuid.NameSpaceURL, []byte("urn:ctxledger:import:"+string(f)))}
}

func newWriter(t tool, file string, opts Options, emit func(*schema.Event) error) *writer {
	return &writer{
		tool: t, file: file, opts: opts, emit: emit, report: Report{Files: 1},
		sessions: make(map[string]*session), threads: make(map[threadKey]*thread),
	}
}

// origin is a record of the log on its way to facts: whose it is and where it
// stands.
type origin struct {
	thread *thread
	record string // id, native or made
	hash   uint64 // of the record, 0 for that of its id
	parent string // id of the record that this one follows
	at     time.Time
	line   int            // of the file, 0 where a file is one document
	extra  map[string]any // what the metadata of the record's facts say
	place  schema.Ref     // see ref
}

// hashed stands for the record in what an import remembers.
func (o *origin) hashed() uint64 {
	if o.hash == 0 {
		o.hash = hashOf(o.record)
	}
	return o.hash
}

// said is what every fact says about where it comes from. All facts of the
// record share the map.
func (o *origin) said() map[string]any {
	if o.extra == nil {
		o.extra = make(map[string]any, 1)
	}
	if _, told := o.extra["line"]; !told && o.line > 0 {
		o.extra["line"] = o.line
	}
	return o.extra
}

// metadata is a copy of said for a fact that says more.
func (o *origin) metadata() map[string]any {
	said := o.said()
	m := make(map[string]any, len(said)+4)
	maps.Copy(m, said)
	return m
}

// ref is where the record stands.
func (o *origin) ref() schema.Ref {
	if o.place == "" {
		o.place = schema.Ref(o.thread.source + "#" + o.record)
	}
	return o.place
}

// errFactTooLarge is returned for a fact that no event can hold.
var errFactTooLarge = errors.New("fact too large")

// fact emits one fact of the record's thread. name tells the fact from others
// of its type in the session; toolCall is the call that it is about, or "".
func (w *writer) fact(o *origin, fact schema.Fact, toolCall string, name ...string) error {
	t := o.thread
	id, ok := w.eventID(t, fact, toolCall, name)
	if !ok {
		w.problem(o.line, &lineError{ReasonBadID, "an id of a " + string(fact.EventType()) + " holds control characters or quotes"})
		return nil
	}
	event, err := schema.NewEvent(fact, id.String(), t.source, o.at, t.ids(w.tool.name, w.opts.Tenant, toolCall))
	if err != nil {
		return fmt.Errorf("line %d of %s: %w", o.line, w.file, err)
	}
	if len(event.Data) > schema.MaxEventBytes {
		return errFactTooLarge
	}
	t.sequence++
	sequence := t.sequence
	event.Sequence = &sequence
	if err := w.emit(event); err != nil {
		w.failed = fmt.Errorf("emit a fact of line %d of %s: %w", o.line, w.file, err)
		return w.failed
	}
	w.report.Facts++
	w.report.session(t.key.session)
	return nil
}

// orProblem turns a fact that is too large into a problem of its line.
func (w *writer) orProblem(o *origin, err error) error {
	if err == errFactTooLarge {
		w.problem(o.line, &lineError{ReasonFactTooLarge, fmt.Sprintf("an event holds at most %d bytes", schema.MaxEventBytes)})
		return nil
	}
	return err
}

func (w *writer) problem(line int, err error) {
	p := Problem{File: w.file, Line: line, Reason: ReasonMalformedJSON}
	var le *lineError
	if errors.As(err, &le) {
		p.Reason, p.Detail = le.reason, le.detail
	}
	w.report.add(p)
}

// thread returns the state of a thread, made at its first record, and whether
// it was made now.
func (w *writer) thread(key threadKey) (t *thread, isNew bool) {
	if t := w.threads[key]; t != nil {
		return t, false
	}
	s := w.sessions[key.session]
	if s == nil {
		s = &session{tools: make(map[string]string)}
		w.sessions[key.session] = s
	}
	t = newThread(w.tool.name, key, s)
	w.threads[key] = t
	return t, true
}

// count is a number of the log, unknown when it is negative.
func (w *writer) count(o *origin, name string, n *int64) *int64 {
	if n != nil && *n < 0 {
		w.problem(o.line, &lineError{ReasonNegativeUsage, name + " is negative"})
		return nil
	}
	return n
}
