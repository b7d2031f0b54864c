package importer

import (
	"strconv"
	"strings"
)

// answered imports an answer of the model: its reasoning, its text and the
// tools that it called.
func (im *sweImport) answered(o *origin, m *sweMessage) error {
	call, err := im.startCall(o, m)
	if err != nil {
		return err
	}
	var pieces []piece
	if thinking := m.thinking(); thinking != "" {
		p := textPiece(thinking, "reasoning", layerReasoning, "assistant", "Reasoning")
		p.itemType, p.id, p.name = itemReasoning, o.record+":reasoning", []string{"reasoning"}
		pieces = append(pieces, p)
	}
	text := m.text()
	var calls []piece
	if len(m.ToolCalls) > 0 {
		calls = im.toolCalls(o, m)
	} else if action := strings.TrimSpace(textOf(m.Action)); action != "" {
		var written piece
		text, written = splitAction(text, action)
		written.id, written.toolCall = o.record+":call", o.record+":call"
		calls = append(calls, written)
	}
	if text != "" || len(calls) == 0 {
		p := textPiece(text, "assistant_message", layerAssistant, "assistant", "Assistant text")
		p.id, p.name = o.record, []string{"text"}
		pieces = append(pieces, p)
	}
	im.pending = nil
	for i := range calls {
		calls[i].name = []string{"call", strconv.Itoa(i)}
		im.pending = append(im.pending, calls[i].toolCall)
	}
	for i := range pieces {
		if _, err := im.piece(o, &pieces[i], call); err != nil {
			return err
		}
	}
	for i := range calls {
		if _, err := im.piece(o, &calls[i], call); err != nil {
			return err
		}
	}
	return nil
}

func (m *sweMessage) thinking() string {
	var texts []string
	for _, t := range m.Thinking {
		texts = append(texts, t.Thinking)
	}
	return strings.Join(nonEmpty(texts), "\n")
}

// toolCalls are the calls of a model that calls functions. An id that another
// answer has used is told apart by the message.
func (im *sweImport) toolCalls(o *origin, m *sweMessage) (calls []piece) {
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		id := im.usable(im.line, "the id of a tool call", c.ID)
		if id == "" || !o.thread.first(hashOf(id)) {
			id = o.record + ":call:" + strconv.Itoa(i)
		}
		name := shortText(c.Name, 256)
		p := piece{id: id, toolCall: id, kind: "tool_call", layer: layerToolCalls, itemType: itemFunctionCall, role: "assistant", function: name, title: toolTitle(name, "call"), mime: "application/json"}
		p.setText(textOf(c.Arguments))
		calls = append(calls, p)
	}
	return calls
}

// splitAction takes the action out of the text that the model wrote it into.
// Where it does not stand there as it was run, the text stays whole and the
// call adds nothing to the window.
func splitAction(text, action string) (string, piece) {
	name, _, _ := strings.Cut(action, "\n")
	name, _, _ = strings.Cut(name, " ")
	name = shortText(name, 64)
	p := piece{kind: "tool_call", layer: layerToolCalls, itemType: itemFunctionCall, role: "assistant", function: name, title: toolTitle(name, "call")}
	at := strings.LastIndex(text, action)
	if at < 0 {
		p.setText("")
		p.extra = map[string]any{"text_in_message": true}
		return text, p
	}
	p.setText(action)
	return text[:at] + text[at+len(action):], p
}

// told imports a message that the model was sent.
func (im *sweImport) told(o *origin, m *sweMessage) error {
	text := m.text()
	pending := im.pending
	im.pending = nil
	var p piece
	switch {
	case m.IsDemo || m.Kind == "demonstration":
		p = textPiece(text, "demonstration", layerInjected, shortText(m.Role, 64), "Demonstration")
	case m.Role == "system":
		p = textPiece(text, "system_instruction", layerSystem, "system", "System prompt")
	case m.Role == "tool" || m.Kind == "observation" || len(pending) > 0:
		if ids := m.answered(pending); len(ids) > 0 {
			im.pending = without(pending, ids)
			return im.result(o, ids, text, "")
		}
		p = textPiece(text, "injected_message", layerInjected, "user", "Observation")
	case m.Role == "exit": // of mini-swe-agent, which sends it to nobody
		im.report.ignore("message:exit")
		return nil
	default:
		o.thread.turn = o.record
		p = textPiece(text, "user_message", layerUser, "user", "User prompt")
	}
	p.id, p.name = o.record, []string{"text"}
	_, err := im.piece(o, &p, "")
	return err
}

// answered are the pending calls that a message brings the result of. Without
// ids it is that of all.
func (m *sweMessage) answered(pending []string) []string {
	native := m.answers()
	if len(native) == 0 {
		return pending
	}
	var ids []string
	for _, id := range pending {
		for _, n := range native {
			if id == n {
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 && len(pending) >= len(native) { // ids that were told apart
		return pending[:len(native)]
	}
	return ids
}

func without(list, gone []string) (left []string) {
	for _, id := range list {
		kept := true
		for _, g := range gone {
			kept = kept && id != g
		}
		if kept {
			left = append(left, id)
		}
	}
	return left
}

// result imports what came of tool calls. One text for several is the first
// one's, and the others have none.
func (im *sweImport) result(o *origin, ids []string, text, note string) error {
	for i, id := range ids {
		name := o.thread.session.tools[id]
		p := piece{id: resultID(id), name: []string{"result", strconv.Itoa(i)}, kind: "tool_result", layer: layerToolResults, itemType: itemFunctionOutput, role: "tool", function: name, toolCall: id, title: toolTitle(name, "result")}
		if i > 0 {
			text = ""
		}
		p.setText(text)
		p.noteTruncated("<response clipped>", "Observation truncated", "characters were elided", "output was too long")
		if note != "" {
			p.extra = map[string]any{note: true}
		}
		if _, err := im.piece(o, &p, ""); err != nil {
			return err
		}
	}
	return nil
}
