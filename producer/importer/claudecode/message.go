package claudecode

import (
	"strings"

	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/go-json-experiment/json"
)

// syntheticModel marks answers that Claude Code wrote without a model. They count as calls, like
// in the statistics of Claude Code. They have no lineage, since no model saw a window.
const syntheticModel = "<synthetic>"

// message emits the facts of a user or assistant record.
func (im *claudeImport) message(r *record) error {
	if r.Message == nil {
		im.Problem(r.Line, model.NewLineError(model.ReasonNoMessage, ""))
		return nil
	}
	blocks, ok := decodeBlocks(r.Message.Content)
	if !ok {
		im.Problem(r.Line, model.NewLineError(model.ReasonUnexpectedValue, "message.content holds blocks of another form"))
		return nil
	}
	t := r.Thread
	unseen := r.IsAPIError || im.exits(r, blocks)
	if r.ParentUUID != "" {
		t.Log.Follows(r.ParentUUID)
	}
	if r.isPrompt(blocks) && !unseen {
		t.Turn = r.Record
		t.Log.Rewind(r.ParentUUID)
	}
	if err := im.Open(r); err != nil {
		return err
	}
	call := ""
	if r.Type == "assistant" {
		call = r.callID(t.Key, r.Line)
		if err := im.Usage(r, call); err != nil {
			return err
		}
	}
	pieces, problems := r.contents(r.Record, blocks, func(id string) string { return t.Session.Tools[id] })
	for _, p := range problems {
		im.Problem(r.Line, p)
	}
	var summary model.SummaryText
	var items []held
	if im.requests != nil {
		items = make([]held, len(pieces))
	}
	for i := range pieces {
		p := &pieces[i]
		p.Role, p.Unseen = r.role(p), unseen
		if r.SourceToolUseID != "" {
			p.Extra = map[string]any{"source_tool_call_id": r.SourceToolUseID}
		}
		item, err := im.Piece(&r.Origin, p, call)
		if err != nil {
			return err
		}
		if item != nil {
			summary.Add(p, item)
		}
		if item != nil && items != nil {
			items[i] = heldBy(item)
		}
	}
	t.Log.Passed(r.Record)
	if im.requests != nil {
		im.requests.remember(r, pieces, items)
	}
	if r.IsCompactSummary {
		return im.Summary(&r.Origin, r.Record, &summary)
	}
	return nil
}

// exits reports whether the record belongs to the command that ends the program: the command, the
// caveat before it, or its output after it. No later request has these texts.
func (im *claudeImport) exits(r *record, blocks []claudeBlock) bool {
	if r.Type != "user" || len(blocks) != 1 || blocks[0].Type != "text" {
		return false
	}
	switch text := blocks[0].Text; {
	case strings.HasPrefix(text, "<command-name>/exit<") || strings.HasPrefix(text, "<command-name>/quit<"):
		if im.caveat != "" && im.caveat == r.ParentUUID {
			r.Thread.Log.Unsee(im.caveat)
		}
		im.exit = r.Record
		return true
	case strings.HasPrefix(text, "<local-command-stdout>"):
		return im.exit != "" && im.exit == r.ParentUUID
	case r.IsMeta && (strings.HasPrefix(text, "Caveat: ") || strings.HasPrefix(text, "<local-command-caveat>")):
		im.caveat = r.Record
	}
	return false
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

// role returns the role of the piece, in the terms of the item log.
func (r *claudeRecord) role(p *model.Piece) string {
	switch {
	case r.Type == "assistant":
		return "assistant"
	case p.ToolCall != "":
		return "tool"
	}
	return "user"
}

// queuedPrompt reports whether an attachment is a prompt that was typed while the model worked.
// If so, queuedPrompt makes the record a user message. Other attachments are ignored: the log
// does not tell which parts the model saw.
func (r *claudeRecord) queuedPrompt() bool {
	var a struct {
		Type   string `json:"type"`
		Prompt any    `json:"prompt"`
	}
	if r.Attachment.Kind() != '{' || json.Unmarshal(r.Attachment, &a, jsonscan.Lenient) != nil || a.Type != "queued_command" {
		return false
	}
	text, ok := a.Prompt.(string)
	if !ok {
		return false
	}
	content, err := json.Marshal(text, jsonscan.Lenient)
	if err != nil {
		return false
	}
	r.Message = &claudeMessage{Role: "user", Content: content}
	return true
}

// ignoredKind returns the name under which the report counts an ignored record.
func (r *claudeRecord) ignoredKind() string {
	if r.Type != "attachment" {
		return r.kind()
	}
	var a struct {
		Type string `json:"type"`
	}
	if r.Attachment.Kind() == '{' && json.Unmarshal(r.Attachment, &a, jsonscan.Lenient) == nil && a.Type != "" {
		return "attachment:" + model.BlockName(a.Type)
	}
	return r.Type
}
