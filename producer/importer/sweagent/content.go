package sweagent

import (
	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"strconv"
	"strings"
)

// answered imports an answer of the model: its reasoning, its text and its tool calls.
func (im *sweImport) answered(o *model.Origin, m *sweMessage) error {
	call, err := im.startCall(o, m)
	if err != nil {
		return err
	}
	var pieces []model.Piece
	if thinking := m.thinking(); thinking != "" {
		p := model.TextPiece(thinking, "reasoning", model.LayerReasoning, "assistant", "Reasoning")
		p.ItemType, p.ID, p.Name = model.ItemReasoning, o.Record+":reasoning", []string{"reasoning"}
		pieces = append(pieces, p)
	}
	text := m.Text()
	var calls []model.Piece
	if len(m.ToolCalls) > 0 {
		calls = im.toolCalls(o, m)
	} else if action := strings.TrimSpace(jsonscan.TextOf(m.Action)); action != "" {
		var written model.Piece
		text, written = splitAction(text, action)
		written.ID, written.ToolCall = o.Record+":call", o.Record+":call"
		calls = append(calls, written)
	}
	if text != "" || len(calls) == 0 {
		p := model.TextPiece(text, "assistant_message", model.LayerAssistant, "assistant", "Assistant text")
		p.ID, p.Name = o.Record, []string{"text"}
		pieces = append(pieces, p)
	}
	im.pending = nil
	for i := range calls {
		calls[i].Name = []string{"call", strconv.Itoa(i)}
		im.pending = append(im.pending, calls[i].ToolCall)
	}
	for i := range pieces {
		if _, err := im.Piece(o, &pieces[i], call); err != nil {
			return err
		}
	}
	for i := range calls {
		if _, err := im.Piece(o, &calls[i], call); err != nil {
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
	return strings.Join(model.NonEmpty(texts), "\n")
}

// toolCalls returns the calls of a model with function calling. For an id that another answer has
// used, the message makes the id unique.
func (im *sweImport) toolCalls(o *model.Origin, m *sweMessage) (calls []model.Piece) {
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		id := im.Usable(im.line, "the id of a tool call", c.ID)
		if id == "" || !o.Thread.First(model.HashOf(id)) {
			id = o.Record + ":call:" + strconv.Itoa(i)
		}
		name := model.ShortText(c.Name, 256)
		p := model.Piece{ID: id, ToolCall: id, Kind: "tool_call", Layer: model.LayerToolCalls, ItemType: model.ItemFunctionCall, Role: "assistant", Function: name, Title: model.ToolTitle(name, "call"), Mime: "application/json"}
		p.SetText(jsonscan.TextOf(c.Arguments))
		calls = append(calls, p)
	}
	return calls
}

// splitAction removes the action from the text of the answer. If the text does not contain the
// exact action, the text stays whole, and the call has size 0 in the window.
func splitAction(text, action string) (string, model.Piece) {
	name, _, _ := strings.Cut(action, "\n")
	name, _, _ = strings.Cut(name, " ")
	name = model.ShortText(name, 64)
	p := model.Piece{Kind: "tool_call", Layer: model.LayerToolCalls, ItemType: model.ItemFunctionCall, Role: "assistant", Function: name, Title: model.ToolTitle(name, "call")}
	at := strings.LastIndex(text, action)
	if at < 0 {
		p.SetText("")
		p.Extra = map[string]any{"text_in_message": true}
		return text, p
	}
	p.SetText(action)
	return text[:at] + text[at+len(action):], p
}

// told imports a message to the model.
func (im *sweImport) told(o *model.Origin, m *sweMessage) error {
	text := m.Text()
	pending := im.pending
	im.pending = nil
	var p model.Piece
	switch {
	case m.IsDemo || m.Kind == "demonstration":
		p = model.TextPiece(text, "demonstration", model.LayerInjected, model.ShortText(m.Role, 64), "Demonstration")
	case m.Role == "system":
		p = model.TextPiece(text, "system_instruction", model.LayerSystem, "system", "System prompt")
	case m.Role == "tool" || m.Kind == "observation" && !im.isTask(m) || len(pending) > 0:
		if ids := m.answered(pending); len(ids) > 0 {
			im.pending = without(pending, ids)
			return im.result(o, ids, text, "")
		}
		p = model.TextPiece(text, "injected_message", model.LayerInjected, "user", "Observation")
	case m.Role == "exit": // of mini-swe-agent, which does not send it
		im.Report.Ignore("message:exit")
		return nil
	default:
		o.Thread.Turn = o.Record
		p = model.TextPiece(text, "user_message", model.LayerUser, "user", "User prompt")
	}
	p.ID, p.Name = o.Record, []string{"text"}
	_, err := im.Piece(o, &p, "")
	return err
}

// isTask reports whether a message gives the task. From 1.0 on the program logs the task as an
// observation before the first answer (revision 5).
func (im *sweImport) isTask(m *sweMessage) bool { return m.Role == "user" && im.answer == 0 }

// answered returns the pending calls that a message answers. A message without ids answers all
// pending calls.
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
	if len(ids) == 0 && len(pending) >= len(native) { // ids that were made unique
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

// result imports the result of tool calls. If several calls share one text, the first call has
// the text and the others are empty.
func (im *sweImport) result(o *model.Origin, ids []string, text, note string) error {
	for i, id := range ids {
		name := o.Thread.Session.Tools[id]
		p := model.Piece{ID: model.ResultID(id), Name: []string{"result", strconv.Itoa(i)}, Kind: "tool_result", Layer: model.LayerToolResults, ItemType: model.ItemFunctionOutput, Role: "tool", Function: name, ToolCall: id, Title: model.ToolTitle(name, "result")}
		if i > 0 {
			text = ""
		}
		p.SetText(text)
		p.NoteTruncated("<response clipped>", "Observation truncated", "characters were elided", "output was too long")
		if note != "" {
			p.Extra = map[string]any{note: true}
		}
		if _, err := im.Piece(o, &p, ""); err != nil {
			return err
		}
	}
	return nil
}
