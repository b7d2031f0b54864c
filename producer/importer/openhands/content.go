package openhands

import (
	"strconv"

	"github.com/ctxledger/ctxledger/producer/importer/internal/completion"
	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
)

// emitPieces emits the pieces of an event. emitPieces makes an id for a piece without an id.
func (im *ohImport) emitPieces(o *model.Origin, call string, pieces ...model.Piece) error {
	for i := range pieces {
		p := &pieces[i]
		p.Name = []string{strconv.Itoa(i)}
		if p.ID == "" {
			p.ID = o.Record
			if i > 0 {
				p.ID += ":" + strconv.Itoa(i)
			}
		}
		if _, err := im.Piece(o, p, call); err != nil {
			return err
		}
	}
	return nil
}

// systemPieces returns the system prompt and the tool definitions.
func systemPieces(prompt string, definitions jsonscan.Span) []model.Piece {
	pieces := []model.Piece{model.TextPiece(prompt, "system_instruction", model.LayerSystem, "system", "System prompt")}
	if definitions.Kind() == '[' {
		tools := model.Piece{Kind: "tool_definition", Layer: model.LayerTools, ItemType: "openhands:tool_definitions", Role: "system", Title: "Tool definitions", Mime: "application/json"}
		tools.SetText(string(definitions))
		pieces = append(pieces, tools)
	}
	return pieces
}

// action imports an action.
func (im *ohImport) action(o *model.Origin, e *ohEvent, args *ohArgs) error {
	switch {
	case e.Action == "system":
		return im.emitPieces(o, "", systemPieces(jsonscan.TextOf(args.Content), args.Tools)...)
	case e.Action == "condensation":
		return im.condensation(o, args)
	case e.Action == "recall":
		return im.recall(o, args)
	case ohActionNoModel[e.Action]:
		im.Report.Ignore(e.kind())
		return nil
	case e.byAgent():
		return im.chosen(o, e, args)
	case e.Source == "user" && e.Action == "message":
		im.main.Turn = o.Record
		pieces := []model.Piece{model.TextPiece(jsonscan.TextOf(args.Content), "user_message", model.LayerUser, "user", "User prompt")}
		for _, url := range args.ImageURLs {
			pieces = append(pieces, model.ImageAt(url, model.Piece{Role: "user"}))
			pieces[len(pieces)-1].ItemType = "openhands:image"
		}
		return im.emitPieces(o, "", pieces...)
	case e.Source == "user" && ohActions[e.Action]:
		p := model.TextPiece(jsonscan.TextOf(args.Command), "user_message", model.LayerUser, "user", "Command of the user")
		im.actions.Add(o.Hash, "")
		return im.emitPieces(o, "", p)
	case ohActions[e.Action]: // internal to the program; no model sees it
		im.actions.Add(o.Hash, "")
		im.Report.Ignore(e.kind())
		return nil
	}
	im.Report.NoteUnknown("action " + model.Quoted(string(e.Action)))
	return nil
}

// chosen imports an answer of the model: its text, its reasoning and its tool call.
func (im *ohImport) chosen(o *model.Origin, e *ohEvent, args *ohArgs) error {
	call := im.callID
	var pieces []model.Piece
	var text string
	var written *completion.ToolCall // as the model wrote it
	if choice := e.choice(); choice != nil {
		if im.answer != nil { // the other events of the answer repeat the text
			text = jsonscan.TextOf(choice.Content)
			pieces = reasoningPiece(o, jsonscan.TextOf(choice.Reasoning))
		}
		for i := range choice.ToolCalls {
			if choice.ToolCalls[i].ID == e.Tool.CallID {
				written = &choice.ToolCalls[i]
			}
		}
	} else if e.Action == "message" {
		text = jsonscan.TextOf(args.Content)
	} else if text = jsonscan.TextOf(args.Thought); e.Action == "finish" && text == "" {
		text = args.FinalThought
	}
	pieces = append(pieces, answerPiece(o, text)...)
	if e.Tool == nil && (e.Action == "message" || e.Action == "finish") {
		return im.emitPieces(o, call, pieces...)
	}
	function, arguments := string(e.Action), ""
	if e.Tool != nil {
		function = e.Tool.Function
	}
	if written != nil {
		arguments = jsonscan.TextOf(written.Arguments)
	} else {
		arguments = string(e.Args)
	}
	return im.emitPieces(o, call, append(pieces, im.callPiece(o, e, function, arguments))...)
}

// reasoningPiece returns the reasoning of a model, if there is any.
func reasoningPiece(o *model.Origin, text string) []model.Piece {
	if text == "" {
		return nil
	}
	p := model.TextPiece(text, "reasoning", model.LayerReasoning, "assistant", "Reasoning")
	p.ItemType, p.ID = model.ItemReasoning, o.Record+":reasoning"
	return []model.Piece{p}
}

// answerPiece returns the text of a model's answer, if there is any.
func answerPiece(o *model.Origin, text string) []model.Piece {
	if text == "" {
		return nil
	}
	p := model.TextPiece(text, "assistant_message", model.LayerAssistant, "assistant", "Assistant text")
	p.ID = o.Record
	return []model.Piece{p}
}

// callPiece returns the tool call of an event.
func (im *ohImport) callPiece(o *model.Origin, e *ohEvent, function, arguments string) model.Piece {
	id, ok := im.toolCall(e)
	if !ok {
		id = o.Record + ":call"
	}
	im.actions.Add(o.Hash, id)
	function = model.ShortText(function, 256)
	p := model.Piece{ID: id, Kind: "tool_call", Layer: model.LayerToolCalls, ItemType: model.ItemFunctionCall, Role: "assistant", Function: function, ToolCall: id, Title: model.ToolTitle(function, "call"), Mime: "application/json"}
	p.SetText(arguments)
	return p
}

// toolCall returns the id of the event's tool call. Some providers reuse an id in another answer.
// The result then includes the answer's id.
func (im *ohImport) toolCall(e *ohEvent) (string, bool) {
	if e.Tool == nil || im.Usable(im.line, "tool_call_id", e.Tool.CallID) == "" {
		return "", false
	}
	id, response := e.Tool.CallID, e.response()
	use, known := im.uses[model.HashOf(id)]
	if !known {
		im.uses[model.HashOf(id)] = ohUse{response: model.HashOf(response)}
	}
	if !known || response == "" || use.response == model.HashOf(response) || !model.ValidID(id+":"+response) {
		return id, true
	}
	im.renamed[model.HashOf(id)] = id + ":" + response
	return id + ":" + response, true
}

// recall imports the query of a recall. The runtime sees the query, but no model does.
func (im *ohImport) recall(o *model.Origin, args *ohArgs) error {
	p := model.TextPiece(args.Query, "retrieval_query", model.LayerNone, "", "Recall query")
	p.ID, p.Name = o.Record, []string{"0"}
	return im.Aside(o, &p)
}

// observation imports an observation.
func (im *ohImport) observation(o *model.Origin, e *ohEvent) error {
	switch {
	case ohObservationNoModel[e.Observation]:
		im.Report.Ignore(e.kind())
		return nil
	case e.Observation == "recall":
		p := model.TextPiece(e.recalled(), "injected_message", model.LayerInjected, "user", "Recalled context")
		p.Extra = map[string]any{"text_before_template": true}
		return im.emitPieces(o, "", p)
	case !ohObservations[e.Observation] && e.Tool == nil:
		im.Report.NoteUnknown("observation " + model.Quoted(string(e.Observation)))
		return nil
	}
	id, ok := im.toolCall(e)
	if !ok {
		action, known := im.actions.of(ohHash(model.IDText(e.Cause)))
		if known && action == "" && e.Source != "user" {
			im.Report.Ignore(e.kind()) // observation of an action of the program
			return nil
		}
		id = action
	}
	if id == "" {
		return im.emitPieces(o, "", model.TextPiece(jsonscan.TextOf(e.Content), "injected_message", model.LayerInjected, "user", "Observation"))
	}
	return im.emitPieces(o, "", im.resultPiece(id, jsonscan.TextOf(e.Content)))
}

// resultPiece returns the result of a tool call.
func (im *ohImport) resultPiece(id, text string) model.Piece {
	name := im.main.Session.Tools[id]
	p := model.Piece{ID: model.ResultID(id), Kind: "tool_result", Layer: model.LayerToolResults, ItemType: model.ItemFunctionOutput, Role: "tool", Function: name, ToolCall: id, Title: model.ToolTitle(name, "result")}
	p.SetText(text)
	p.NoteTruncated("[... Observation truncated due to length ...]", "<response clipped>", "[... Output truncated")
	use := im.uses[model.HashOf(id)]
	if use.results > 0 {
		p.ID += ":" + strconv.Itoa(use.results)
	}
	use.results++
	im.uses[model.HashOf(id)] = use
	return p
}

// condensation imports the removal of events from the window, and the summary that replaces them,
// if there is one.
func (im *ohImport) condensation(o *model.Origin, args *ohArgs) error {
	forgotten := args.forgets()
	records := make(map[uint64]bool)
	for _, e := range o.Thread.Log.Window.All() {
		if forgotten(e.Record) {
			records[e.Record] = true
		}
	}
	extra := map[string]any{"forgotten_events": len(records)}
	policy := "openhands"
	if c := im.run.head.Condenser; c != nil && c.Type != "" {
		policy += ":" + model.ShortText(c.Type, 64)
	}
	if args.Summary == nil {
		return im.Forget(o, forgotten, policy, extra)
	}
	if args.Offset != nil {
		extra["summary_offset"] = *args.Offset
	}
	extra["condenser"] = policy
	c := &model.Compaction{
		ID: o.Record, Summary: schema.Ref(o.Record + ":summary"),
		Method: schema.MethodAbstractiveSummary, Policy: "replace_window", Extra: extra,
		// Older summaries leave the window.
		Retained: func(e *model.Entry) bool { return !forgotten(e.Record) && e.Layer != model.LayerSummary },
	}
	if im.answer != nil && im.run.called(im.answer) {
		c.Summarizer = im.callID
	}
	log := &o.Thread.Log
	partial, gap := log.Partial, log.Gap
	err := im.Compaction(o, c)
	if log.Partial, log.Gap = partial, gap; err != nil { // the events that stay can be in another slice
		return err
	}
	p := model.TextPiece(*args.Summary, "computed_summary", model.LayerSummary, "user", "Condensation summary")
	p.ID, p.Name = o.Record+":summary", []string{"summary"}
	item, err := im.Piece(o, &p, "")
	if err != nil || item == nil {
		return err
	}
	var text model.SummaryText
	text.Add(&p, item)
	return im.Summary(o, o.Record+":summary", &text)
}

// Forget removes events from the window without a summary. The fact is an elision without stubs.
func (im *ohImport) Forget(o *model.Origin, forgotten func(uint64) bool, policy string, extra map[string]any) error {
	e := &model.Elision{ID: o.Record, Policy: policy, Level: schema.ElideTrivial, Extra: extra}
	e.Items, e.Before = o.Thread.Log.Drop(func(e *model.Entry) bool { return forgotten(e.Record) })
	if len(e.Items) == 0 {
		im.Problem(im.line, model.NewLineError(model.ReasonNothingElided, "the condensation forgets no event of the window"))
		return nil
	}
	if e.Saved = e.Before; e.Before != nil {
		e.After = new(int64)
	}
	return im.Elision(o, e)
}
