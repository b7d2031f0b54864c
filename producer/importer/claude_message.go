package importer

import (
	"strconv"
	"strings"

	"github.com/ctxledger/ctxledger/schema"
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
	blocks, err := decodeBlocks(r.Message.Content)
	if err != nil {
		im.problem(r.line, &lineError{ReasonUnexpectedValue, "message.content holds blocks of another form"})
		return nil
	}
	t := r.thread
	if r.isPrompt(blocks) {
		t.turn = r.uuid
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
	pieces, problems := r.contents(r.uuid, blocks, func(id string) string { return t.session.tools[id] })
	for _, p := range problems {
		im.problem(r.line, p)
	}
	var summary summaryText
	for i := range pieces {
		if err := im.item(r, &pieces[i], call, &summary); err != nil {
			return err
		}
	}
	t.log.passed(r.uuid)
	if r.IsCompactSummary {
		return im.summary(r, &summary)
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

// item emits one piece of a message as an item and as an entry of the log.
func (im *claudeImport) item(r *record, c *content, call string, summary *summaryText) error {
	t := r.thread
	im.noteTool(t, c)
	item := &schema.ItemAdded{Common: schema.Common{Metadata: r.metadata()}, Item: schema.Item{
		ItemID: c.id, ContextKind: c.kind, Title: c.title, Layer: c.layer, Role: r.role(c), MimeType: c.mime,
		ContentMode: schema.ContentRef, ContentRef: schema.Ref(t.source + "#" + r.uuid),
		ByteSize: c.size, Visibility: []string{"model"},
	}}
	entryFact := &schema.LogAppended{
		Common:    schema.Common{Metadata: r.metadata()},
		LogItemID: c.id, ItemType: c.itemType, Role: item.Role, Name: c.name,
		ToolCallID: c.toolCall, CallID: call, ItemRef: schema.Ref(c.id), ByteSize: c.size,
	}
	if parent := r.ParentUUID; parent != "" {
		entryFact.ParentRef = schema.Ref(parent)
	}
	if r.SourceToolUseID != "" {
		item.Metadata["source_tool_call_id"] = r.SourceToolUseID
	}
	if c.text != nil {
		item.TokenEstimate, item.Estimator = im.opts.count(t.model, *c.text)
		item.ContentDigest = im.opts.digest(*c.text)
		if strings.Contains(*c.text, "REDACTED") {
			item.RedactionState = schema.RedactionMasked
		}
		entryFact.Tokens, entryFact.ContentDigest = item.TokenEstimate, item.ContentDigest
		if item.Estimator != "" {
			t.estimator = item.Estimator
		}
		summary.add(c, item)
	}
	position := t.log.append(entry{item: c.id, record: r.uuid, toolCall: c.toolCall, layer: c.layer, tokens: item.TokenEstimate})
	entryFact.Position = &position
	name := []string{r.uuid, strconv.Itoa(c.block), strconv.Itoa(c.part)}
	if err := im.orProblem(r, im.itemFact(r, c, item, name)); err != nil {
		return err
	}
	return im.orProblem(r, im.fact(r, entryFact, c.toolCall, name...))
}

// maxInlineBytes is the text from which on putting it into an event is not
// even tried.
const maxInlineBytes = schema.MaxEventBytes

// itemFact emits the item with its text, when that is wanted and fits.
func (im *claudeImport) itemFact(r *record, c *content, item *schema.ItemAdded, name []string) error {
	if im.opts.StoreText && c.text != nil && *c.text != "" && len(*c.text) < maxInlineBytes {
		inline := *item
		inline.ContentMode, inline.Content, inline.ContentRef = schema.ContentInline, *c.text, ""
		if err := im.fact(r, &inline, c.toolCall, name...); err != errFactTooLarge {
			return err
		}
	}
	return im.fact(r, item, c.toolCall, name...)
}

// noteTool remembers tool calls and their results for names and counts.
func (im *claudeImport) noteTool(t *thread, c *content) {
	switch {
	case c.toolCall == "":
	case c.itemType == "function_call":
		t.session.tools[c.toolCall] = c.name
	case c.itemType == "function_call_output":
		t.session.answers[c.toolCall] = true
	}
}

// role is the role that the piece has in the log's terms.
func (r *claudeRecord) role(c *content) string {
	switch {
	case r.Type == "assistant":
		return "assistant"
	case c.toolCall != "":
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

// quoteType makes a record type safe to print.
func quoteType(kind string) string { return strconv.Quote(shortText(kind, 64)) }
