package importer

import (
	"github.com/go-json-experiment/json"
)

// syntheticModel marks answers that Claude Code wrote itself. They are counted
// as calls, since the recording tool's own statistics do, and belong to no
// lineage, since no model saw a window.
const syntheticModel = "<synthetic>"

// message emits the facts of a user or assistant record.
func (im *claudeImport) message(r *record) error {
	if r.Message == nil {
		im.problem(r.line, &lineError{ReasonNoMessage, ""})
		return nil
	}
	blocks, ok := decodeBlocks(r.Message.Content)
	if !ok {
		im.problem(r.line, &lineError{ReasonUnexpectedValue, "message.content holds blocks of another form"})
		return nil
	}
	t := r.thread
	if r.isPrompt(blocks) {
		t.turn = r.record
		t.log.rewind(r.ParentUUID)
	}
	if err := im.open(r); err != nil {
		return err
	}
	call := ""
	if r.Type == "assistant" {
		call = r.callID(t.key, r.line)
		if err := im.usage(r, call); err != nil {
			return err
		}
	}
	pieces, problems := r.contents(r.record, blocks, func(id string) string { return t.session.tools[id] })
	for _, p := range problems {
		im.problem(r.line, p)
	}
	var summary summaryText
	for i := range pieces {
		p := &pieces[i]
		p.role = r.role(p)
		if r.SourceToolUseID != "" {
			p.extra = map[string]any{"source_tool_call_id": r.SourceToolUseID}
		}
		item, err := im.piece(&r.origin, p, call)
		if err != nil {
			return err
		}
		if item != nil {
			summary.add(p, item)
		}
	}
	t.log.passed(r.record)
	if r.IsCompactSummary {
		return im.summary(&r.origin, r.record, &summary)
	}
	return nil
}

// isPrompt reports whether the record begins a turn.
func (r *claudeRecord) isPrompt(blocks []claudeBlock) bool {
	if r.Type != "user" || r.IsMeta || r.IsCompactSummary || len(blocks) == 0 {
		return false
	}
	for i := range blocks {
		if isToolResult(blocks[i].Type) {
			return false
		}
	}
	return true
}

// role is the role that the piece has in the log's terms.
func (r *claudeRecord) role(p *piece) string {
	switch {
	case r.Type == "assistant":
		return "assistant"
	case p.toolCall != "":
		return "tool"
	}
	return "user"
}

// queuedPrompt reports whether an attachment is a prompt that was typed while
// the model worked, and makes the record a user message if so. Attachments of
// other kinds are ignored: the log does not say what of them the model saw.
func (r *claudeRecord) queuedPrompt() bool {
	var a struct {
		Type   string `json:"type"`
		Prompt any    `json:"prompt"`
	}
	if r.Attachment.Kind() != '{' || json.Unmarshal(r.Attachment, &a, lenient) != nil || a.Type != "queued_command" {
		return false
	}
	text, ok := a.Prompt.(string)
	if !ok {
		return false
	}
	content, err := json.Marshal(text, lenient)
	if err != nil {
		return false
	}
	r.Message = &claudeMessage{Role: "user", Content: content}
	return true
}

// ignoredKind is the name under which the report counts an ignored record.
func (r *claudeRecord) ignoredKind() string {
	if r.Type != "attachment" {
		return r.kind()
	}
	var a struct {
		Type string `json:"type"`
	}
	if r.Attachment.Kind() == '{' && json.Unmarshal(r.Attachment, &a, lenient) == nil && a.Type != "" {
		return "attachment:" + blockName(a.Type)
	}
	return r.Type
}
