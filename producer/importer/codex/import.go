package codex

import (
	"context"
	"io"

	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
)

// codexImport is one import of one rollout.
type codexImport struct {
	*model.Writer
	index   *codexIndex
	reader  *codexReader
	thread  *model.Thread
	head    *codexHead
	calls   string     // the model call of the next answer
	turns   bool       // the log names turns
	carried *codexCall // a call whose first item cannot be read
	lost    bool       // a line without a session was reported
}

var codexTool = model.NewTool(model.FormatCodex)

// Import imports a Codex rollout with one JSON record per line, and passes its facts to emit in
// file order. Each file is a session with one thread. A sub-agent has a separate session, whose
// run names the parent.
//
// The file name appears in problems only. The log is read twice. Lines that are appended
// meanwhile are left for the next import. The error is an error of r, of emit or of ctx. The
// report lists problems of the log, also if Import returns an error.
func Import(ctx context.Context, file string, r io.ReadSeeker, opts model.Options, emit func(*schema.Event) error) (model.Report, error) {
	im := &codexImport{Writer: model.NewWriter(codexTool, file, opts, emit)}
	im.index, im.reader = newCodexIndex(&im.Lines, opts.Growing, file), newCodexReader(&im.Lines, false, file)
	first := true
	err := im.Twice(ctx, r, im.index.read, func(text []byte, number int, last bool) error {
		if first {
			im.reader.repeats = im.index.close()
			first = false
		}
		return im.line(text, number, last)
	})
	return im.Report, err
}

// line imports one line. The error is an error of emit; problems go to the report.
func (im *codexImport) line(text []byte, number int, last bool) error {
	e, err := im.reader.Read(text, number, last)
	if err == model.ErrBlank {
		return nil
	}
	if err == errNoHead && im.lost {
		im.Report.Ignore("line before the session_meta")
		return nil
	}
	if err != nil {
		im.lost = im.lost || err == errNoHead
		im.Problem(number, err)
		if c := im.index.calls.take(number); c != nil { // the call moves to its next item
			im.carried = c
		}
		return nil
	}
	if e.begins {
		if err := im.openSlice(e, number); err != nil {
			return err
		}
	}
	if e.unknown {
		im.Report.NoteUnknown("type " + model.Quoted(e.kind))
		return nil
	}
	if e.head != nil {
		return im.begin(e, number)
	}
	if im.thread == nil {
		im.Problem(number, model.NewLineError(model.ReasonNoSession, "the session_meta of the session could not be imported"))
		return nil
	}
	if problem := im.index.wrong[number]; problem != nil {
		im.Problem(number, problem)
	}
	switch {
	case e.item != nil:
		return im.item(e, number)
	case e.compacted != nil:
		return im.compacted(im.origin(e, number), e)
	case e.turn != nil:
		im.turn(e.turn.TurnID, number)
		im.thread.Model = model.ShortText(e.turn.Model, 128)
	case e.event != nil:
		return im.event(e, number)
	}
	im.Report.Ignore(e.kind)
	return nil
}

// begin opens a session.
func (im *codexImport) begin(e *codexEntry, number int) error {
	if im.head != nil {
		im.Problem(number, model.NewLineError(model.ReasonSecondSession, "another session begins here; both are imported"))
	}
	h := e.head
	if im.thread = nil; e.at.IsZero() {
		im.Problem(number, model.NewLineError(model.ReasonNoTime, "not imported: the session has no start time"))
		return nil
	}
	im.head, im.calls, im.turns = h, "", false
	im.thread, _ = im.Writer.Thread(model.ThreadKey{Session: h.ID, Thread: h.ID})
	if slice, ok := im.index.slices[number]; ok {
		problem := "the log lacks the first records of the session: imported as a slice; import the log's other parts, too"
		if !im.thread.Slice(slice.record, slice.at.UnixMilli()<<milliBits) {
			problem = "the log begins the session again and lacks records in between: imported with a gap"
		}
		im.Problem(number, model.NewLineError(model.ReasonUsageGap, problem))
		im.reader.sliced = true
	}
	if h.subagent {
		if h.ParentThread == h.ID {
			im.Problem(number, model.NewLineError(model.ReasonBadID, "the session names itself as its parent: imported without a parent"))
			h.ParentThread = ""
		}
		im.thread.ParentRun = h.ParentThread
		im.thread.RootRun = ""
		if model.ValueOf(h.depth) <= 1 {
			im.thread.RootRun = h.ParentThread
		}
	}
	o := im.origin(e, number)
	h.depth = im.Count(o, "depth", h.depth)
	if err := im.Writer.Open(o, h.scope()); err != nil || h.baseText == nil {
		return err
	}
	p := &model.Piece{ID: e.record, Name: []string{"system"}, Kind: "system_instruction", Layer: model.LayerSystem, ItemType: model.ItemMessage, Role: "system", Title: "System prompt"}
	p.SetLogged(*h.baseText)
	_, err := im.Piece(o, p, "")
	return err
}

func (h *codexHead) scope() model.Scope {
	s := model.Scope{Kind: "session", Depth: new(int64), Program: "codex", ParentThread: h.ForkedFrom, Local: map[string]string{
		"cwd": h.Cwd, "originator": h.Originator, "model_provider": h.Provider, "forked_from": h.ForkedFrom,
	}}
	if h.Version != "" {
		s.Program += " " + model.ShortText(h.Version, 64)
	}
	if h.Git != nil {
		s.Local["git_branch"], s.Local["git_commit"] = h.Git.Branch, h.Git.Commit
	}
	if h.subagent {
		s.Kind, s.Depth, s.ParentThread = "subagent", h.depth, h.ParentThread
	}
	return s
}

// origin returns the origin of a line's facts.
func (im *codexImport) origin(e *codexEntry, number int) *model.Origin {
	o := &model.Origin{Thread: im.thread, Record: e.record, At: e.at, Line: number, Extra: map[string]any{"record_type": e.kind}}
	if e.replay {
		o.Extra["replayed"] = true
	}
	if e.untold {
		o.Extra["time_of_another_record"] = true
	}
	return o
}

func (im *codexImport) turn(id string, number int) {
	if id = im.Usable(number, "turn_id", id); id != "" {
		im.thread.Turn, im.turns = id, true
	}
}

// event imports an event of the interface, unless a response item holds the same content.
func (im *codexImport) event(e *codexEntry, number int) error {
	switch e.event.Type {
	case "task_started", "turn_started":
		im.turn(e.event.TurnID, number)
		im.calls = ""
	case "task_complete", "turn_complete", "turn_aborted":
		im.calls = ""
	case "token_count":
		if im.index.calls.begins(number) { // a call without an answer in the log
			return im.startCall(im.origin(e, number), number)
		}
		im.calls = ""
	case "thread_rolled_back":
		im.thread.Log.RollBack(model.ValueOf(e.event.NumTurns))
	}
	im.Report.Ignore(e.kind)
	return nil
}

// startCall emits the model call whose first record is in the line, if one begins there.
func (im *codexImport) startCall(o *model.Origin, number int) error {
	c := im.index.calls.take(number)
	if c == nil {
		c, im.carried = im.carried, nil
	}
	if c == nil {
		return nil
	}
	call := &model.ModelCall{ID: o.Record + ":call", Model: im.thread.Model, Extra: make(map[string]any)}
	if call.Provider = im.index.calls.responses[c.line]; call.Provider != "" {
		// these versions edit the base instructions before they send them
		call.Lacking = []string{string(schema.PartialSystem)}
	}
	delete(im.index.calls.responses, c.line)
	if c.edge {
		call.Extra["begun_before_log"] = true
	}
	if c.count != nil {
		call.Usage, call.Raw = c.count.tokens.Unpack().Buckets(), c.count.Raw()
		call.Extra["usage_line"] = c.counted
		if own := c.count.own.numbers(reportedNames); len(own) > 0 {
			call.Extra["reported_totals"] = own
		}
		if c.count.gap {
			im.Problem(c.counted, model.NewLineError(model.ReasonUsageGap, "the total grew by more than the last call: an earlier count is missing"))
		}
	}
	im.calls = call.ID
	return im.Call(o, call)
}

// item imports a response item.
func (im *codexImport) item(e *codexEntry, number int) error {
	class := e.item.class()
	if class == codexIgnored || im.index.held > 0 && number >= im.index.held {
		im.Report.Ignore(e.kind)
		return nil
	}
	if problem := model.Refused(model.NativeID{Member: "call_id", ID: e.item.CallID}); problem != nil {
		im.Problem(number, problem)
		return nil
	}
	o, call := im.origin(e, number), ""
	if class == codexOutput && !e.replay {
		if err := im.startCall(o, number); err != nil {
			return err
		}
		call = im.calls
		im.thread.Called(o, "")
	}
	pieces, problems := e.item.pieces(e.record, !im.index.untyped.Has(uint64(number)), im.toolName)
	for _, p := range problems {
		im.Problem(number, p)
	}
	if e.item.Type == "message" && e.item.Role == "user" && len(pieces) > 0 && pieces[0].Layer == model.LayerUser {
		if !im.turns {
			im.thread.Turn = e.record
		}
		im.thread.Log.Prompt()
	}
	for i := range pieces {
		if _, err := im.Piece(o, &pieces[i], call); err != nil {
			return err
		}
	}
	return nil
}

func (im *codexImport) toolName(call string) string { return im.thread.Session.Tools[call] }
