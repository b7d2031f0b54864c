package importer

import (
	"bytes"
	"encoding/base64"
	"maps"
	"strconv"
	"strings"

	"github.com/ctxledger/ctxledger/schema"
)

// piece is one piece of a message: what becomes an item and an entry of the
// item log.
type piece struct {
	id       string   // native
	name     []string // tells the piece from others of the record, in event ids
	kind     string   // context_kind
	layer    layer
	itemType string
	role     string
	title    string
	function string
	toolCall string
	mime     string
	text     *string        // nil when the log does not hold the text
	size     *int64         // bytes; of text when there is text
	withheld bool           // a scrubber's mark stands in the place of the whole text, whose size is unknown
	masked   bool           // whether the log says that it withholds content
	extra    map[string]any // of the item's metadata
}

func (p *piece) setText(text string) {
	size := int64(len(text))
	p.text, p.size = &text, &size
}

// setLogged is setText for a log that may be scrubbed: a mark in the place of
// the whole text, such as "[REDACTED_TEXT len=12 sha=…]", is not the text.
func (p *piece) setLogged(text string) {
	p.setText(text)
	p.withheld = len(text) < 128 && strings.HasPrefix(text, "[REDACTED") && strings.HasSuffix(text, "]") && strings.Count(text, "]") == 1
}

// redactionMark is what programs and scrubbers put in the place of a secret.
const redactionMark = "REDACTED"

var modelSees = []string{string(schema.VisibleModel)}

// piece emits one piece of a message as an item and as an entry of the log.
// call is the model call that produced it, or "". The item is valid until the
// next piece.
func (w *writer) piece(o *origin, p *piece, call string) (*schema.ItemAdded, error) {
	t := o.thread
	w.noteTool(t, p)
	said := o.said()
	item, entryFact := &w.item, &w.entry
	*item = schema.ItemAdded{Common: schema.Common{Metadata: said}, Item: schema.Item{
		ItemID: p.id, ContextKind: p.kind, Title: p.title, Layer: p.layer.String(), Role: p.role, MimeType: p.mime,
		ContentMode: schema.ContentRef, ContentRef: o.ref(),
		ByteSize: p.size, Visibility: modelSees,
	}}
	*entryFact = schema.LogAppended{
		Common:    schema.Common{Metadata: said},
		LogItemID: p.id, ItemType: p.itemType, Role: item.Role, Name: p.function,
		ToolCallID: p.toolCall, CallID: call, ItemRef: schema.Ref(p.id), ByteSize: p.size,
	}
	if o.parent != "" {
		entryFact.ParentRef = schema.Ref(o.parent)
	}
	if len(p.extra) > 0 {
		item.Metadata = maps.Clone(said)
		maps.Copy(item.Metadata, p.extra)
	}
	var hash uint64
	if p.text != nil {
		hash = hashOf(*p.text)
	}
	switch {
	case p.withheld:
		p.masked, item.ByteSize, entryFact.ByteSize = true, nil, nil
	case p.text != nil:
		item.TokenEstimate, item.Estimator = w.opts.count(t.model, *p.text)
		item.ContentDigest = w.opts.digest(*p.text)
		p.masked = p.masked || strings.Contains(*p.text, redactionMark)
		if item.Estimator != "" {
			t.estimator = item.Estimator
		}
	}
	if p.masked {
		item.RedactionState = schema.RedactionMasked
	}
	entryFact.Tokens, entryFact.ContentDigest = item.TokenEstimate, item.ContentDigest
	position := t.log.append(entry{item: p.id, record: o.hashed(), toolCall: hashOfID(p.toolCall), layer: p.layer, tokens: packed(item.TokenEstimate), text: hash})
	entryFact.Position = &position
	name := append([]string{o.record}, p.name...)
	if err := w.orProblem(o, w.itemFact(o, p, item, name)); err != nil {
		return nil, err
	}
	return item, w.orProblem(o, w.fact(o, entryFact, p.toolCall, name...))
}

// aside emits a piece that the runtime has and no model is shown: an item
// without an entry of the log.
func (w *writer) aside(o *origin, p *piece) error {
	item := &schema.ItemAdded{Common: schema.Common{Metadata: o.said()}, Item: schema.Item{
		ItemID: p.id, ContextKind: p.kind, Title: p.title, Role: p.role, MimeType: p.mime,
		ContentMode: schema.ContentRef, ContentRef: o.ref(),
		ByteSize: p.size, Visibility: []string{string(schema.VisibleRuntime)}, ContentDigest: w.opts.digest(*p.text),
	}}
	if strings.Contains(*p.text, redactionMark) {
		item.RedactionState = schema.RedactionMasked
	}
	return w.orProblem(o, w.itemFact(o, p, item, append([]string{o.record}, p.name...)))
}

// maxInlineBytes is the text from which on putting it into an event is not
// even tried.
const maxInlineBytes = schema.MaxEventBytes

// itemFact emits the item with its text, when that is wanted and fits.
func (w *writer) itemFact(o *origin, p *piece, item *schema.ItemAdded, name []string) error {
	if w.opts.StoreText && p.text != nil && !p.withheld && *p.text != "" && len(*p.text) < maxInlineBytes {
		inline := *item
		inline.ContentMode, inline.Content, inline.ContentRef = schema.ContentInline, *p.text, ""
		if err := w.fact(o, &inline, p.toolCall, name...); err != errFactTooLarge {
			return err
		}
	}
	return w.fact(o, item, p.toolCall, name...)
}

// noteTool remembers tool calls and their results for names and counts.
func (w *writer) noteTool(t *thread, p *piece) {
	switch {
	case p.toolCall == "":
	case p.itemType == itemFunctionCall:
		t.session.tools[p.toolCall] = p.function
		w.report.tool(t.key.session, p.toolCall, toolUsed)
	case p.itemType == itemFunctionOutput:
		delete(t.session.tools, p.toolCall) // a call is answered once
		w.report.tool(t.key.session, p.toolCall, toolAnswered)
	}
}

// The item types of the log (seed 003); anything else is prefix:name.
const (
	itemMessage        = "message"
	itemReasoning      = "reasoning"
	itemFunctionCall   = "function_call"
	itemFunctionOutput = "function_call_output"
)

// resultID is the item id of a tool call's result.
func resultID(toolCall string) string { return toolCall + ":result" }

func toolTitle(name, what string) string {
	if name == "" {
		return "Tool " + what
	}
	return shortText(name, 64) + " " + what
}

// blockName is a block's type as it may stand in an item type.
func blockName(blockType string) string {
	for i := range len(blockType) {
		if c := blockType[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return "unknown"
		}
	}
	if blockType == "" || len(blockType) > 64 {
		return "unknown"
	}
	return blockType
}

// base64Bytes is how many bytes a base64 text stands for.
func base64Bytes(data []byte) int64 {
	return int64(base64.RawStdEncoding.DecodedLen(len(bytes.TrimRight(data, "="))))
}

// noteTruncated notes that the program shortened the piece before the model
// saw it, as one of its own marks in the text says.
func (p *piece) noteTruncated(marks ...string) {
	for _, mark := range marks {
		if p.text != nil && strings.Contains(*p.text, mark) {
			p.extra = map[string]any{"truncated": true}
			return
		}
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// imageAt makes p an image: its size, where the address holds the image itself,
// and nothing of it.
func imageAt(address span, p piece) piece {
	p.kind, p.layer, p.itemType, p.title = "image", layerMedia, "codex:image", "Media"
	text, _ := address.text()
	if head, data, ok := bytes.Cut(text, []byte(";base64,")); ok {
		size := base64Bytes(data)
		p.mime, p.size = shortText(string(bytes.TrimPrefix(head, []byte("data:"))), 128), &size
	}
	return p
}

func textPiece(text, kind string, of layer, role, title string) piece {
	p := piece{kind: kind, layer: of, itemType: itemMessage, role: role, title: title}
	p.setText(text)
	return p
}

func nonEmpty(texts []string) (list []string) {
	for _, t := range texts {
		if t != "" {
			list = append(list, t)
		}
	}
	return list
}
