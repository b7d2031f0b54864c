package importer

import (
	"context"
	"io"

	"github.com/ctxledger/ctxledger/schema"
)

// codexImport is one import of one rollout.
type codexImport struct {
	*writer
	index   *codexIndex
	reader  *codexReader
	thread  *thread
	head    *codexHead
	calls   string     // the model call that the next answer belongs to
	turns   bool       // the log names turns
	carried *codexCall // one whose first item cannot be read
}

var codexTool = newTool(FormatCodex)

// Codex imports a Codex rollout, one JSON record a line, and passes its facts
// to emit in file order, as [ClaudeCode] does. Each file is a session with one
// thread; a sub-agent's is a session of its own whose run names its parent.
//
// The file name only names problems. The log is read twice; what is appended
// to it meanwhile is left for the next import. The error is that of r, of emit
// or of ctx; whatever is wrong with the log itself is in the report, also when
// there is an error.
func Codex(ctx context.Context, file string, r io.ReadSeeker, opts Options, emit func(*schema.Event) error) (Report, error) {
	im := &codexImport{writer: newWriter(codexTool, file, opts, emit), index: newCodexIndex(), reader: newCodexReader(false)}
	first := true
	err := im.twice(ctx, r, im.index.line, func(text []byte, number int, last bool) error {
		if first {
			im.reader.repeats = im.index.close()
			first = false
		}
		return im.line(text, number, last)
	})
	return im.report, err
}

// line imports one line. The error is emit's; problems go to the report.
func (im *codexImport) line(text []byte, number int, last bool) error {
	e, err := im.reader.read(text, number, last)
	if err == errBlank {
		return nil
	}
	if err != nil {
		im.problem(number, err)
		if c := im.index.calls.take(number); c != nil { // the call's next item stands for this one
			im.carried = c
		}
		return nil
	}
	if e.unknown {
		im.problem(number, &lineError{ReasonUnknownType, "type " + quoteType(e.kind)})
		return nil
	}
	if e.head != nil {
		return im.begin(e, number)
	}
	if im.thread == nil {
		im.problem(number, &lineError{ReasonNoSession, "the session's head could not be imported"})
		return nil
	}
	if problem := im.index.wrong[number]; problem != nil {
		im.problem(number, problem)
	}
	switch {
	case e.item != nil:
		return im.item(e, number)
	case e.compacted != nil:
		return im.compacted(im.origin(e, number), e)
	case e.turn != nil:
		im.turn(e.turn.TurnID, number)
		im.thread.model = shortText(e.turn.Model, 128)
	case e.event != nil:
		return im.event(e, number)
	}
	im.report.ignore(e.kind)
	return nil
}

// begin opens a session.
func (im *codexImport) begin(e *codexEntry, number int) error {
	if im.head != nil {
		im.problem(number, &lineError{ReasonSecondSession, "another session begins here; both are imported"})
	}
	h := e.head
	if im.thread = nil; e.at.IsZero() {
		im.problem(number, &lineError{ReasonNoTime, "not imported: the session does not say when it began"})
		return nil
	}
	im.head, im.calls, im.turns = h, "", false
	im.thread, _ = im.writer.thread(threadKey{h.ID, h.ID})
	if h.subagent {
		im.thread.parentRun = h.ParentThread
		im.thread.rootRun = ""
		if valueOf(h.depth) <= 1 {
			im.thread.rootRun = h.ParentThread
		}
	}
	o := im.origin(e, number)
	h.depth = im.count(o, "depth", h.depth)
	if err := im.writer.open(o, h.scope()); err != nil || h.baseText == nil {
		return err
	}
	p := &piece{id: e.record, name: []string{"system"}, kind: "system_instruction", layer: layerSystem, itemType: itemMessage, role: "system", title: "System prompt"}
	p.setLogged(*h.baseText)
	_, err := im.piece(o, p, "")
	return err
}

func (h *codexHead) scope() scope {
	s := scope{kind: "session", depth: new(int64), program: "codex", parentThread: h.ForkedFrom, local: map[string]string{
		"cwd": h.Cwd, "originator": h.Originator, "model_provider": h.Provider, "forked_from": h.ForkedFrom,
	}}
	if h.Version != "" {
		s.program += " " + shortText(h.Version, 64)
	}
	if h.Git != nil {
		s.local["git_branch"], s.local["git_commit"] = h.Git.Branch, h.Git.Commit
	}
	if h.subagent {
		s.kind, s.depth, s.parentThread = "subagent", h.depth, h.ParentThread
	}
	return s
}

// origin is where the facts of a line come from.
func (im *codexImport) origin(e *codexEntry, number int) *origin {
	o := &origin{thread: im.thread, record: e.record, at: e.at, line: number, extra: map[string]any{"record_type": e.kind}}
	if e.replay {
		o.extra["replayed"] = true
	}
	if e.untold {
		o.extra["time_of_another_record"] = true
	}
	return o
}

func (im *codexImport) turn(id string, number int) {
	if id = im.usable(number, "turn_id", id); id != "" {
		im.thread.turn, im.turns = id, true
	}
}

// event imports what the program told its interface, as far as no response
// item says it too.
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
		im.thread.log.rollBack(valueOf(e.event.NumTurns))
	}
	im.report.ignore(e.kind)
	return nil
}

// startCall emits the model call whose first record stands in the line, if one
// begins there.
func (im *codexImport) startCall(o *origin, number int) error {
	c := im.index.calls.take(number)
	if c == nil {
		c, im.carried = im.carried, nil
	}
	if c == nil {
		return nil
	}
	call := &modelCall{id: o.record + ":call", model: im.thread.model, extra: make(map[string]any)}
	if c.count != nil {
		call.usage, call.raw = c.count.tokens.unpack().buckets(), c.count.raw()
		call.extra["usage_line"] = c.counted
		if own := c.count.own.numbers(reportedNames); len(own) > 0 {
			call.extra["reported_totals"] = own
		}
		if c.count.gap {
			im.problem(c.counted, &lineError{ReasonUsageGap, "the total grew by more than the last call: a count before this one is missing"})
		}
	}
	im.calls = call.id
	return im.call(o, call)
}

// item imports a response item.
func (im *codexImport) item(e *codexEntry, number int) error {
	class := e.item.class()
	if class == codexIgnored || number == im.index.held {
		im.report.ignore(e.kind)
		return nil
	}
	if problem := refused(nativeID{"call_id", e.item.CallID}); problem != nil {
		im.problem(number, problem)
		return nil
	}
	o, call := im.origin(e, number), ""
	if class == codexOutput && !e.replay {
		if err := im.startCall(o, number); err != nil {
			return err
		}
		call = im.calls
		im.thread.called(o, "")
	}
	pieces, problems := e.item.pieces(e.record, !im.index.untyped.has(uint64(number)), im.toolName)
	for _, p := range problems {
		im.problem(number, p)
	}
	if e.item.Type == "message" && e.item.Role == "user" && len(pieces) > 0 && pieces[0].layer == layerUser {
		if !im.turns {
			im.thread.turn = e.record
		}
		im.thread.log.prompt()
	}
	for i := range pieces {
		if _, err := im.piece(o, &pieces[i], call); err != nil {
			return err
		}
	}
	return nil
}

func (im *codexImport) toolName(call string) string { return im.thread.session.tools[call] }
