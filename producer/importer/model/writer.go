package model

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/telling"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// Writer turns the neutral model of a session (threads, calls, pieces, boundaries) into facts.
// Every parser uses a Writer, so two programs that log the same task give the same kinds of
// facts.
type Writer struct {
	tool     tool
	telling  string // end of every source, see telling.go
	file     string // file name for problems
	Opts     Options
	emit     func(*schema.Event) error
	Report   Report
	Sessions map[string]*session
	Threads  map[ThreadKey]*Thread
	Failed   error // error of emit, which ends the import
	Lines    jsonscan.Lines

	lastSession string // session of the last fact
	room
}

// room holds buffers that the next fact or line reuses.
type room struct {
	name  []byte            // name of the last fact
	dec   *jsontext.Decoder // decoder of the last document
	line  []byte            // buffer of the last long line
	item  schema.ItemAdded
	entry schema.LogAppended
}

// tool is the program that writes the logs of a parser.
type tool struct {
	name      string    // agent and runtime_id of the facts
	namespace uuid.UUID // namespace of the event ids
}

func NewTool(f Format) tool {
	return tool{string(f), uuid.NewSHA1(uuid.NameSpaceURL, []byte(telling.ImportSource+string(f)))}
}

func NewWriter(t tool, file string, opts Options, emit func(*schema.Event) error) *Writer {
	return &Writer{
		tool: t, telling: opts.Telling(), file: file, Opts: opts, emit: emit, Report: Report{Files: 1},
		Sessions: make(map[string]*session), Threads: make(map[ThreadKey]*Thread),
	}
}

// Origin is a record of the log that becomes facts: its thread, id, time and line.
type Origin struct {
	Thread *Thread
	Record string // id, native or made
	Hash   uint64 // hash of the record; 0 for the hash of its id
	Parent string // id of the preceding record
	At     time.Time
	Line   int            // line of the file, 0 where a file is one document
	Extra  map[string]any // metadata of the record's facts
	Place  schema.Ref     // see ref
	large  string         // text of the next fact that is not in its event
}

// Hashed returns the hash that represents the record in memory.
func (o *Origin) Hashed() uint64 {
	if o.Hash == 0 {
		o.Hash = HashOf(o.Record)
	}
	return o.Hash
}

// said returns the metadata that all facts of the record share. The facts share the map, too.
func (o *Origin) said() map[string]any {
	if o.Extra == nil {
		o.Extra = make(map[string]any, 1)
	}
	if _, told := o.Extra["line"]; !told && o.Line > 0 {
		o.Extra["line"] = o.Line
	}
	return o.Extra
}

// metadata returns a copy of the shared metadata, for a fact with further metadata.
func (o *Origin) metadata() map[string]any {
	said := o.said()
	m := make(map[string]any, len(said)+4)
	maps.Copy(m, said)
	return m
}

// ref returns the reference to the record, which is the same in every telling.
func (o *Origin) ref() schema.Ref {
	if o.Place == "" {
		o.Place = schema.Ref(o.Thread.source + "#" + o.Record)
	}
	return o.Place
}

// errFactTooLarge is the error for a fact that does not fit into an event.
var errFactTooLarge = errors.New("fact too large")

// fact emits one fact of the record's thread. name distinguishes the fact from others of its type
// in the session. toolCall is the id of the fact's tool call, or "".
func (w *Writer) fact(o *Origin, fact schema.Fact, toolCall string, name ...string) error {
	t := o.Thread
	id, ok := w.eventID(t, fact, toolCall, name)
	if !ok {
		w.Problem(o.Line, NewLineError(ReasonBadID, "an id of a "+string(fact.EventType())+" holds control characters or quotes"))
		return nil
	}
	if t.eventSource == "" {
		t.eventSource = t.source + w.telling
		if t.sliced {
			t.eventSource = t.source + w.Opts.tellingOf(SliceRevision)
		}
	}
	event, err := schema.NewEvent(fact, id.String(), t.eventSource, o.At, t.ids(w.tool.name, w.Opts.Tenant, toolCall))
	if err != nil {
		return fmt.Errorf("line %d of %s: %w", o.Line, w.file, err)
	}
	if len(event.Data) > schema.MaxEventBytes {
		return errFactTooLarge
	}
	t.sequence++
	sequence := t.sequence
	event.Sequence = &sequence
	if o.large != "" {
		w.Opts.LargeText(event, o.large)
	}
	if err := w.emit(event); err != nil {
		w.Failed = fmt.Errorf("emit a fact of line %d of %s: %w", o.Line, w.file, err)
		return w.Failed
	}
	w.Report.Facts++
	if t.Key.Session != w.lastSession { // most facts are of the same session as the fact before
		w.lastSession = t.Key.Session
		w.Report.session(w.lastSession)
	}
	return nil
}

// orProblem turns the error of a fact that is too large into a problem of the line.
func (w *Writer) orProblem(o *Origin, err error) error {
	if err == errFactTooLarge {
		w.Problem(o.Line, NewLineError(ReasonFactTooLarge, fmt.Sprintf("an event holds at most %d bytes", schema.MaxEventBytes)))
		return nil
	}
	return err
}

func (w *Writer) Problem(line int, err error) {
	p := Problem{File: w.file, Line: line, Reason: ReasonMalformedJSON}
	var le *LineError
	if errors.As(err, &le) {
		p.Reason, p.Detail = le.reason, le.Detail
	}
	w.Report.Add(p)
}

// Thread returns the state of a thread and creates it at the first record. isNew reports whether
// the state was created.
func (w *Writer) Thread(key ThreadKey) (t *Thread, isNew bool) {
	if t := w.Threads[key]; t != nil {
		return t, false
	}
	s := w.Sessions[key.Session]
	if s == nil {
		s = &session{Tools: make(map[string]string), titles: make(map[string]string)}
		w.Sessions[key.Session] = s
	}
	t = newThread(w.tool.name, key, s)
	w.Threads[key] = t
	return t, true
}

// Count returns a number of the log, or nil for a negative number, which is a problem.
func (w *Writer) Count(o *Origin, name string, n *int64) *int64 {
	if n != nil && *n < 0 {
		w.Problem(o.Line, NewLineError(ReasonNegativeUsage, name+" is negative"))
		return nil
	}
	return n
}
