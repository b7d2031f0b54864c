package importer

import (
	"strconv"

	"github.com/ctxledger/ctxledger/schema"
)

// emitPieces emits the pieces of an event. Ids are made where the log has none.
func (im *ohImport) emitPieces(o *origin, call string, pieces ...piece) error {
	for i := range pieces {
		p := &pieces[i]
		p.name = []string{strconv.Itoa(i)}
		if p.id == "" {
			p.id = o.record
			if i > 0 {
				p.id += ":" + strconv.Itoa(i)
			}
		}
		if _, err := im.piece(o, p, call); err != nil {
			return err
		}
	}
	return nil
}

// systemPieces are the system prompt and the tool definitions.
func systemPieces(prompt string, definitions span) []piece {
	pieces := []piece{textPiece(prompt, "system_instruction", layerSystem, "system", "System prompt")}
	if definitions.Kind() == '[' {
		tools := piece{kind: "tool_definition", layer: layerTools, itemType: "openhands:tool_definitions", role: "system", title: "Tool definitions", mime: "application/json"}
		tools.setText(string(definitions))
		pieces = append(pieces, tools)
	}
	return pieces
}

// action imports an action.
func (im *ohImport) action(o *origin, e *ohEvent, args *ohArgs) error {
	switch {
	case e.Action == "system":
		return im.emitPieces(o, "", systemPieces(textOf(args.Content), args.Tools)...)
	case e.Action == "condensation":
		return im.condensation(o, args)
	case e.Action == "recall":
		return im.recall(o, args)
	case ohActionNoModel[e.Action]:
		im.report.ignore(e.kind())
		return nil
	case e.byAgent():
		return im.chosen(o, e, args)
	case e.Source == "user" && e.Action == "message":
		im.main.turn = o.record
		pieces := []piece{textPiece(textOf(args.Content), "user_message", layerUser, "user", "User prompt")}
		for _, url := range args.ImageURLs {
			pieces = append(pieces, imageAt(url, piece{role: "user"}))
			pieces[len(pieces)-1].itemType = "openhands:image"
		}
		return im.emitPieces(o, "", pieces...)
	case e.Source == "user" && ohActions[e.Action]:
		p := textPiece(textOf(args.Command), "user_message", layerUser, "user", "Command of the user")
		im.actions.add(o.hash, "")
		return im.emitPieces(o, "", p)
	case ohActions[e.Action]: // the program's own, which no model sees
		im.actions.add(o.hash, "")
		im.report.ignore(e.kind())
		return nil
	}
	im.problem(im.line, &lineError{ReasonUnknownType, "action " + quoteType(string(e.Action))})
	return nil
}

// chosen imports what the model answered: its text, its reasoning and the tool
// that it called.
func (im *ohImport) chosen(o *origin, e *ohEvent, args *ohArgs) error {
	call := im.callID
	var pieces []piece
	var text string
	var written *chosenCall // as the model wrote it
	if choice := e.choice(); choice != nil {
		if im.answer != nil { // the other events of the answer repeat it
			text = textOf(choice.Content)
			pieces = reasoningPiece(o, textOf(choice.Reasoning))
		}
		for i := range choice.ToolCalls {
			if choice.ToolCalls[i].ID == e.Tool.CallID {
				written = &choice.ToolCalls[i]
			}
		}
	} else if e.Action == "message" {
		text = textOf(args.Content)
	} else if text = textOf(args.Thought); e.Action == "finish" && text == "" {
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
		arguments = textOf(written.Arguments)
	} else {
		arguments = string(e.Args)
	}
	return im.emitPieces(o, call, append(pieces, im.callPiece(o, e, function, arguments))...)
}

// reasoningPiece is what a model thought, if anything.
func reasoningPiece(o *origin, text string) []piece {
	if text == "" {
		return nil
	}
	p := textPiece(text, "reasoning", layerReasoning, "assistant", "Reasoning")
	p.itemType, p.id = itemReasoning, o.record+":reasoning"
	return []piece{p}
}

// answerPiece is what a model wrote, if anything.
func answerPiece(o *origin, text string) []piece {
	if text == "" {
		return nil
	}
	p := textPiece(text, "assistant_message", layerAssistant, "assistant", "Assistant text")
	p.id = o.record
	return []piece{p}
}

// callPiece is the tool call that an event chose.
func (im *ohImport) callPiece(o *origin, e *ohEvent, function, arguments string) piece {
	id, ok := im.toolCall(e)
	if !ok {
		id = o.record + ":call"
	}
	im.actions.add(o.hash, id)
	function = shortText(function, 256)
	p := piece{id: id, kind: "tool_call", layer: layerToolCalls, itemType: itemFunctionCall, role: "assistant", function: function, toolCall: id, title: toolTitle(function, "call"), mime: "application/json"}
	p.setText(arguments)
	return p
}

// toolCall is the id of the event's tool call. Some providers use an id again
// in another answer, which is then part of it.
func (im *ohImport) toolCall(e *ohEvent) (string, bool) {
	if e.Tool == nil || im.usable(im.line, "tool_call_id", e.Tool.CallID) == "" {
		return "", false
	}
	id, response := e.Tool.CallID, e.response()
	use, known := im.uses[hashOf(id)]
	if !known {
		im.uses[hashOf(id)] = ohUse{response: hashOf(response)}
	}
	if !known || response == "" || use.response == hashOf(response) || !validID(id+":"+response) {
		return id, true
	}
	im.renamed[hashOf(id)] = id + ":" + response
	return id + ":" + response, true
}

// recall imports the query of a recall, which the runtime sees and no model.
func (im *ohImport) recall(o *origin, args *ohArgs) error {
	p := textPiece(args.Query, "retrieval_query", layerNone, "", "Recall query")
	p.id, p.name = o.record, []string{"0"}
	return im.aside(o, &p)
}

// observation imports what came back.
func (im *ohImport) observation(o *origin, e *ohEvent) error {
	switch {
	case ohObservationNoModel[e.Observation]:
		im.report.ignore(e.kind())
		return nil
	case e.Observation == "recall":
		p := textPiece(e.recalled(), "injected_message", layerInjected, "user", "Recalled context")
		p.extra = map[string]any{"text_before_template": true}
		return im.emitPieces(o, "", p)
	case !ohObservations[e.Observation] && e.Tool == nil:
		im.problem(im.line, &lineError{ReasonUnknownType, "observation " + quoteType(string(e.Observation))})
		return nil
	}
	id, ok := im.toolCall(e)
	if !ok {
		action, known := im.actions.of(ohHash(idText(e.Cause)))
		if known && action == "" && e.Source != "user" {
			im.report.ignore(e.kind()) // of the program's own action
			return nil
		}
		id = action
	}
	if id == "" {
		return im.emitPieces(o, "", textPiece(textOf(e.Content), "injected_message", layerInjected, "user", "Observation"))
	}
	return im.emitPieces(o, "", im.resultPiece(id, textOf(e.Content)))
}

// resultPiece is what came of a tool call.
func (im *ohImport) resultPiece(id, text string) piece {
	name := im.main.session.tools[id]
	p := piece{id: resultID(id), kind: "tool_result", layer: layerToolResults, itemType: itemFunctionOutput, role: "tool", function: name, toolCall: id, title: toolTitle(name, "result")}
	p.setText(text)
	p.noteTruncated("[... Observation truncated due to length ...]", "<response clipped>", "[... Output truncated")
	use := im.uses[hashOf(id)]
	if use.results > 0 {
		p.id += ":" + strconv.Itoa(use.results)
	}
	use.results++
	im.uses[hashOf(id)] = use
	return p
}

// condensation imports that events were taken out of the window, and a summary
// put in their place where there is one.
func (im *ohImport) condensation(o *origin, args *ohArgs) error {
	forgotten := args.forgets()
	records := make(map[uint64]bool)
	for _, e := range o.thread.log.window.all() {
		if forgotten(e.record) {
			records[e.record] = true
		}
	}
	extra := map[string]any{"forgotten_events": len(records)}
	policy := "openhands"
	if c := im.run.head.Condenser; c != nil && c.Type != "" {
		policy += ":" + shortText(c.Type, 64)
	}
	if args.Summary == nil {
		return im.forget(o, forgotten, policy, extra)
	}
	if args.Offset != nil {
		extra["summary_offset"] = *args.Offset
	}
	extra["condenser"] = policy
	c := &compaction{
		id: o.record, summary: schema.Ref(o.record + ":summary"),
		method: schema.MethodAbstractiveSummary, policy: "replace_window", extra: extra,
		// The newest summary stands alone.
		retained: func(e *entry) bool { return !forgotten(e.record) && e.layer != layerSummary },
	}
	if im.answer != nil && im.answer.count >= 0 {
		c.summarizer = im.callID
	}
	if err := im.compaction(o, c); err != nil {
		return err
	}
	p := textPiece(*args.Summary, "computed_summary", layerSummary, "user", "Condensation summary")
	p.id, p.name = o.record+":summary", []string{"summary"}
	item, err := im.piece(o, &p, "")
	if err != nil || item == nil {
		return err
	}
	var text summaryText
	text.add(&p, item)
	return im.summary(o, o.record+":summary", &text)
}

// forget drops events from the window without a summary: an elision that
// leaves nothing.
func (im *ohImport) forget(o *origin, forgotten func(uint64) bool, policy string, extra map[string]any) error {
	e := &elision{id: o.record, policy: policy, level: schema.ElideTrivial, extra: extra}
	e.items, e.before = o.thread.log.drop(func(e *entry) bool { return forgotten(e.record) })
	if len(e.items) == 0 {
		im.problem(im.line, &lineError{ReasonNothingElided, "the condensation forgets no event of the window"})
		return nil
	}
	if e.saved = e.before; e.before != nil {
		e.after = new(int64)
	}
	return im.elision(o, e)
}
