package producer

import (
	"context"
	"slices"
	"sync"

	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// Content is a piece of text that enters a run's context. The text itself is
// counted and digested, and stays in the process.
type Content struct {
	ID          string // unique in the session; required
	Title       string // for people; shown, so nothing secret
	ContextKind string // the standard's word, such as "file_excerpt"
	Layer       string // what it is counted under in the window
	Role        string // system, user, assistant, tool
	Kind        window.Kind
	Text        string
	SourceURI   string // where it came from; optional
	SourceKind  string
	ToolName    string   // of a tool call
	ToolCallID  string   // of a tool call and its results
	CallID      string   // the model call that produced it
	Priority    int      // among retrieved items the lowest is dropped first
	Pinned      bool     // never dropped, trimmed or elided
	Reads       string   // the file that a tool result shows
	PolicyRefs  []string // of a redaction
	// Redaction says how much of it is withheld; empty is nothing. What the
	// guard withholds is added.
	Redaction       schema.RedactionState
	RedactionReason string
}

// itemLog numbers the entries of one thread's append-only item log, from 0.
type itemLog struct {
	mu        sync.Mutex
	positions map[string]int64 // by item id
}

func (l *itemLog) append(id string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	position := int64(len(l.positions))
	if l.positions == nil {
		l.positions = make(map[string]int64)
	}
	l.positions[id] = position
	return position
}

// position returns where an item stands in the log, or nil.
func (l *itemLog) position(id string) *int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if position, ok := l.positions[id]; ok {
		return &position
	}
	return nil
}

// Add records content as an item and, where it is part of the conversation, as
// an entry of the thread's item log. It returns the item for planning, with its
// size in tokens of model's tokenizer.
func (r *RunContext) Add(ctx context.Context, model string, c Content) (window.Item, error) {
	text, hits := r.client.config.Guard.Mask(c.Text)
	if err := r.redact(ctx, &c, hits); err != nil {
		return window.Item{}, err
	}
	count := r.client.config.Counter.Count(model, text)
	item := schema.Item{
		ItemID: c.ID, ContextKind: c.ContextKind, Title: c.Title, ContentMode: schema.ContentOpaque,
		TokenEstimate: new(int64(count.Tokens)), Estimator: count.Estimator, ByteSize: new(int64(len(text))),
		Visibility: []string{"model"}, Layer: c.Layer, Role: c.Role,
		RedactionState: c.Redaction, RedactionReason: c.RedactionReason,
	}
	if c.Priority != 0 {
		item.Priority = new(float64(c.Priority))
	}
	if !r.client.config.Key.IsZero() {
		item.ContentDigest = r.client.config.Key.Digest([]byte(text))
	}
	if c.SourceURI != "" {
		item.SourceRefs = []schema.SourceRef{{SourceID: c.SourceURI, URI: c.SourceURI, SourceKind: c.SourceKind}}
	}
	ids := r.ids
	ids.ToolCallID = c.ToolCallID
	fact := &schema.ItemAdded{Common: schema.Common{PolicyRefs: schema.Refs(c.PolicyRefs...)}, Item: item}
	if err := r.record(ctx, fact, ids); err != nil {
		return window.Item{}, err
	}
	if itemType := logItemType(c.Kind); itemType != "" {
		entry := &schema.LogAppended{
			LogItemID: c.ID, LogID: r.ids.ThreadID, Position: new(r.log.append(c.ID)), ItemType: itemType, Role: c.Role, Name: c.ToolName,
			ToolCallID: c.ToolCallID, CallID: c.CallID, ItemRef: schema.Ref(c.ID),
			Tokens: item.TokenEstimate, ByteSize: item.ByteSize, ContentDigest: item.ContentDigest,
		}
		if err := r.record(ctx, entry, ids); err != nil {
			return window.Item{}, err
		}
	}
	planned := window.Item{
		ID: c.ID, Layer: c.Layer, Kind: c.Kind, Role: c.Role, Tokens: count.Tokens, Priority: c.Priority, Pinned: c.Pinned, Reads: c.Reads,
	}
	if c.ToolCallID != "" {
		planned.CallIDs = []string{c.ToolCallID}
	}
	return planned, nil
}

// redact records, once per policy, what the guard withheld from c, and marks c.
func (r *RunContext) redact(ctx context.Context, c *Content, hits []redact.Hit) error {
	for _, hit := range hits {
		if slices.Contains(c.PolicyRefs, hit.PolicyRef) {
			continue
		}
		c.Redaction, c.RedactionReason = schema.RedactionMasked, hit.Reason
		c.PolicyRefs = append(slices.Clip(c.PolicyRefs), hit.PolicyRef)
		fact := &schema.RedactionApplied{
			Common:      schema.Common{PolicyRefs: schema.Refs(hit.PolicyRef)},
			RedactionID: "redaction:" + c.ID + ":" + hit.PolicyRef, TargetRef: schema.Ref(c.ID), CallID: c.CallID,
			RedactionState: schema.RedactionMasked, Method: "mask", RedactedFields: []string{"content"}, Reason: hit.Reason,
			ActorRef: schema.Ref(r.client.Source()),
		}
		for _, f := range r.client.fingerprints {
			if f.PolicyRef == hit.PolicyRef {
				fact.Fingerprints = append(fact.Fingerprints, schema.Fingerprint(f.Fingerprint))
			}
		}
		if err := r.Record(ctx, fact); err != nil {
			return err
		}
	}
	return nil
}

// logItemType is seed 003's name for a kind that belongs to the conversation.
func logItemType(k window.Kind) string {
	switch k {
	case window.KindMessage:
		return "message"
	case window.KindToolCall:
		return "function_call"
	case window.KindToolResult:
		return "function_call_output"
	}
	return ""
}
