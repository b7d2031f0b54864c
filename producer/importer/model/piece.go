package model

import (
	"bytes"
	"encoding/base64"
	"maps"
	"strconv"
	"strings"

	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/title"
	"github.com/ctxledger/ctxledger/schema"
)

// Piece is one piece of a message. Piece becomes an item and an entry of the item log.
type Piece struct {
	ID       string   // native
	Name     []string // distinguishes the piece from other pieces of the record, in event ids
	Kind     string   // context_kind
	Layer    layer
	ItemType string
	Role     string
	Title    string // what kind of piece it is, see [session.title]
	Function string
	ToolCall string
	Mime     string
	Text     *string        // nil when the log does not hold the text
	Size     *int64         // bytes; the length of Text where the log holds the text
	withheld bool           // a scrubber's mark replaces the whole text, whose size is unknown
	masked   bool           // the log marks content as withheld
	Unseen   bool           // no model sees the piece; it has an entry of the log that is in no window
	Extra    map[string]any // of the item's metadata
}

func (p *Piece) SetText(text string) {
	size := int64(len(text))
	p.Text, p.Size = &text, &size
}

// SetLogged sets the text of a piece from a log that may be scrubbed. A mark that replaces the
// whole text, such as "[REDACTED_TEXT len=12 sha=…]", does not count as text.
func (p *Piece) SetLogged(text string) {
	p.SetText(text)
	p.withheld = len(text) < 128 && strings.HasPrefix(text, "[REDACTED") && strings.HasSuffix(text, "]") && strings.Count(text, "]") == 1
}

// redactionMark is part of the marks that programs and scrubbers put in the place of a secret.
const redactionMark = "REDACTED"

var modelSees = []string{string(schema.VisibleModel)}

// Piece emits one piece of a message as an item and as an entry of the log. The model call that
// produced the piece is call, or "". The item is valid until the next piece.
func (w *Writer) Piece(o *Origin, p *Piece, call string) (*schema.ItemAdded, error) {
	t := o.Thread
	w.noteTool(t, p)
	said := o.said()
	item, entryFact := &w.item, &w.entry
	*item = schema.ItemAdded{Common: schema.Common{Metadata: said}, Item: schema.Item{
		ItemID: p.ID, ContextKind: p.Kind, Title: t.Session.title(w.Opts.Titles, p), Layer: p.Layer.String(), Role: p.Role, MimeType: p.Mime,
		ContentMode: schema.ContentRef, ContentRef: o.ref(),
		ByteSize: p.Size, Visibility: modelSees,
	}}
	*entryFact = schema.LogAppended{
		Common:    schema.Common{Metadata: said},
		LogItemID: p.ID, ItemType: p.ItemType, Role: item.Role, Name: p.Function,
		ToolCallID: p.ToolCall, CallID: call, ItemRef: schema.Ref(p.ID), ByteSize: p.Size,
	}
	if o.Parent != "" && o.Parent != p.ID {
		entryFact.ParentRef = schema.Ref(o.Parent)
	}
	if p.Unseen {
		item.Visibility = []string{string(schema.VisibleRuntime)}
	}
	if len(p.Extra) > 0 {
		item.Metadata = maps.Clone(said)
		maps.Copy(item.Metadata, p.Extra)
	}
	var hash uint64
	if p.Text != nil {
		hash = HashOf(*p.Text)
	}
	switch {
	case p.withheld:
		p.masked, item.ByteSize, entryFact.ByteSize = true, nil, nil
	case p.Text != nil:
		item.TokenEstimate, item.Estimator = w.Opts.CountTokens(t.Model, *p.Text)
		item.ContentDigest = w.Opts.Digest(*p.Text)
		p.masked = p.masked || strings.Contains(*p.Text, redactionMark)
		if item.Estimator != "" {
			t.estimator = item.Estimator
		}
	}
	if p.masked {
		item.RedactionState = schema.RedactionMasked
	}
	entryFact.Tokens, entryFact.ContentDigest = item.TokenEstimate, item.ContentDigest
	position := t.Log.append(!p.Unseen, Entry{item: p.ID, Record: o.Hashed(), toolCall: HashOfID(p.ToolCall), Layer: p.Layer, tokens: packed(item.TokenEstimate), Text: hash})
	entryFact.Position = &position
	name := append([]string{o.Record}, p.Name...)
	if err := w.orProblem(o, w.itemFact(o, p, item, name)); err != nil {
		return nil, err
	}
	return item, w.orProblem(o, w.fact(o, entryFact, p.ToolCall, name...))
}

// Part emits a piece of a request that no record of a message holds. The piece becomes an item
// without an entry of the log. The item is valid until the next piece.
func (w *Writer) Part(o *Origin, p *Piece) (*schema.ItemAdded, error) {
	item := &schema.ItemAdded{Common: schema.Common{Metadata: o.said()}, Item: schema.Item{
		ItemID: p.ID, ContextKind: p.Kind, Title: p.Title, Layer: p.Layer.String(), Role: p.Role, MimeType: p.Mime,
		ContentMode: schema.ContentRef, ContentRef: o.ref(), ByteSize: p.Size, Visibility: modelSees,
	}}
	if p.Text != nil {
		item.TokenEstimate, item.Estimator = w.Opts.CountTokens(o.Thread.Model, *p.Text)
		item.ContentDigest = w.Opts.Digest(*p.Text)
		if strings.Contains(*p.Text, redactionMark) {
			item.RedactionState = schema.RedactionMasked
		}
	}
	return item, w.orProblem(o, w.itemFact(o, p, item, append([]string{o.Record}, p.Name...)))
}

// Aside emits a piece that the runtime has but no model sees. The piece becomes an item without
// an entry of the log.
func (w *Writer) Aside(o *Origin, p *Piece) error {
	item := &schema.ItemAdded{Common: schema.Common{Metadata: o.said()}, Item: schema.Item{
		ItemID: p.ID, ContextKind: p.Kind, Title: p.Title, Role: p.Role, MimeType: p.Mime,
		ContentMode: schema.ContentRef, ContentRef: o.ref(),
		ByteSize: p.Size, Visibility: []string{string(schema.VisibleRuntime)}, ContentDigest: w.Opts.Digest(*p.Text),
	}}
	if strings.Contains(*p.Text, redactionMark) {
		item.RedactionState = schema.RedactionMasked
	}
	return w.orProblem(o, w.itemFact(o, p, item, append([]string{o.Record}, p.Name...)))
}

// maxInlineBytes is the size of a text that certainly does not fit into an event.
const maxInlineBytes = schema.MaxEventBytes

// itemFact emits the item, with its text if StoreText is set. A text that does not fit into the event
// goes to LargeText.
func (w *Writer) itemFact(o *Origin, p *Piece, item *schema.ItemAdded, name []string) error {
	if !w.Opts.StoreText || p.Text == nil || p.withheld || *p.Text == "" {
		return w.fact(o, item, p.ToolCall, name...)
	}
	if len(*p.Text) < maxInlineBytes {
		inline := *item
		inline.ContentMode, inline.Content, inline.ContentRef = schema.ContentInline, *p.Text, ""
		if err := w.fact(o, &inline, p.ToolCall, name...); err != errFactTooLarge {
			return err
		}
	}
	if !w.Opts.StoresLargeText() {
		return w.fact(o, item, p.ToolCall, name...)
	}
	outside, withText := *item, *o
	outside.ContentRef, withText.large = schema.TextRef(item.ContentDigest), *p.Text
	return w.fact(&withText, &outside, p.ToolCall, name...)
}

// noteTool records tool calls and their results for names and counts.
func (w *Writer) noteTool(t *Thread, p *Piece) {
	switch {
	case p.ToolCall == "":
	case p.ItemType == ItemFunctionCall:
		t.Session.Tools[p.ToolCall] = p.Function
		w.Report.tool(t.Key.Session, p.ToolCall, toolUsed)
	case p.ItemType == ItemFunctionOutput:
		delete(t.Session.Tools, p.ToolCall) // a call has one answer
		w.Report.tool(t.Key.Session, p.ToolCall, toolAnswered)
	}
}

// title returns the title of a piece. With a maker, this is the argument of its tool or its first words,
// and a result has the title of its call. Otherwise it is what kind of piece it is.
func (s *session) title(maker *title.Maker, p *Piece) string {
	own := ""
	switch {
	case maker == nil || p.withheld:
	case p.ItemType == ItemFunctionOutput && p.ToolCall != "":
		own = s.titles[p.ToolCall]
		delete(s.titles, p.ToolCall) // a call has one answer
	case p.Text == nil:
	case p.ItemType == ItemFunctionCall:
		if own = maker.Call(p.Function, *p.Text, s.folder); own != "" && p.ToolCall != "" {
			s.titles[p.ToolCall] = own
		}
	case p.Kind == "user_message":
		own = maker.Prompt(*p.Text)
	}
	if own != "" {
		return own
	}
	return p.Title
}

// The item types of the log (seed 003); anything else is prefix:name.
const (
	ItemMessage        = "message"
	ItemReasoning      = "reasoning"
	ItemFunctionCall   = "function_call"
	ItemFunctionOutput = "function_call_output"
)

// ResultID is the item id of a tool call's result.
func ResultID(toolCall string) string { return toolCall + ":result" }

func ToolTitle(name, what string) string {
	if name == "" {
		return "Tool " + what
	}
	return ShortText(name, 64) + " " + what
}

// BlockName returns a block's type in the form that an item type allows.
func BlockName(blockType string) string {
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

// Base64Bytes returns the number of bytes that a base64 text encodes.
func Base64Bytes(data []byte) int64 {
	return int64(base64.RawStdEncoding.DecodedLen(len(bytes.TrimRight(data, "="))))
}

// NoteTruncated notes that the program shortened the piece before the model saw it. The marks are
// the program's texts for this.
func (p *Piece) NoteTruncated(marks ...string) {
	for _, mark := range marks {
		if p.Text != nil && strings.Contains(*p.Text, mark) {
			p.Extra = map[string]any{"truncated": true}
			return
		}
	}
}

func Itoa(n int) string { return strconv.Itoa(n) }

// ImageAt returns p as an image. If the address holds the image, the piece has the image's size
// but no content.
func ImageAt(address jsonscan.Span, p Piece) Piece {
	p.Kind, p.Layer, p.ItemType, p.Title = "image", LayerMedia, "codex:image", "Media"
	text, _ := address.Text()
	if head, data, ok := bytes.Cut(text, []byte(";base64,")); ok {
		size := Base64Bytes(data)
		p.Mime, p.Size = ShortText(string(bytes.TrimPrefix(head, []byte("data:"))), 128), &size
	}
	return p
}

func TextPiece(text, kind string, of layer, role, title string) Piece {
	p := Piece{Kind: kind, Layer: of, ItemType: ItemMessage, Role: role, Title: title}
	p.SetText(text)
	return p
}

func NonEmpty(texts []string) (list []string) {
	for _, t := range texts {
		if t != "" {
			list = append(list, t)
		}
	}
	return list
}
