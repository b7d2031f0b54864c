package producer

import (
	"context"
	"slices"

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

// Add records content as an item of the run and, where it is part of the
// conversation, as an entry of the thread's item log. It returns the item for
// planning, with its size in tokens of model's tokenizer. What the guard
// withholds from the text is counted, digested and sized as masked. With an
// error the item is not to be used; what was recorded before it stays.
func (r *RunContext) Add(ctx context.Context, model string, c Content) (window.Item, error) {
	return r.add(ctx, model, c, r.ids, nil)
}

func (r *RunContext) add(ctx context.Context, model string, c Content, ids schema.Correlation, used func(sequence int64)) (window.Item, error) {
	ids.ToolCallID = c.ToolCallID
	text, hits := r.client.config.Guard.Mask(c.Text)
	if err := r.redact(ctx, &c, hits, ids, used); err != nil {
		return window.Item{}, err
	}
	count := r.client.config.Counter.Count(model, text)
	item := r.client.item(c, text, count)
	fact := &schema.ItemAdded{Common: schema.Common{PolicyRefs: schema.Refs(c.PolicyRefs...)}, Item: item}
	if err := r.record(ctx, fact, ids, used); err != nil {
		return window.Item{}, err
	}
	if itemType := logItemType(c.Kind); itemType != "" {
		err := r.log.append(c.ID, func(position int64) error {
			return r.record(ctx, &schema.LogAppended{
				LogItemID: c.ID, LogID: r.ids.ThreadID, Position: &position, ItemType: itemType, Role: c.Role, Name: c.ToolName,
				ToolCallID: c.ToolCallID, CallID: c.CallID, ItemRef: schema.Ref(c.ID),
				Tokens: item.TokenEstimate, ByteSize: item.ByteSize, ContentDigest: item.ContentDigest,
			}, ids, used)
		})
		if err != nil {
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

// item describes content whose text is masked already.
func (c *Client) item(of Content, text string, count window.Count) schema.Item {
	item := schema.Item{
		ItemID: of.ID, ContextKind: of.ContextKind, Title: of.Title, ContentMode: schema.ContentOpaque,
		TokenEstimate: new(int64(count.Tokens)), Estimator: count.Estimator, ByteSize: new(int64(len(text))),
		ContentDigest: c.config.Key.Digest([]byte(text)), Visibility: []string{"model"}, Layer: of.Layer, Role: of.Role,
		RedactionState: of.Redaction, RedactionReason: of.RedactionReason,
	}
	if of.Priority != 0 {
		item.Priority = new(float64(of.Priority))
	}
	if of.SourceURI != "" {
		item.SourceRefs = []schema.SourceRef{{SourceID: of.SourceURI, URI: of.SourceURI, SourceKind: of.SourceKind}}
	}
	return item
}

// redact records, once a policy, what the guard withheld from c, and marks c.
// A runtime that withheld more than the guard has its own word on the state.
func (r *RunContext) redact(ctx context.Context, c *Content, hits []redact.Hit, ids schema.Correlation, used func(sequence int64)) error {
	var done []string
	for _, hit := range hits {
		if slices.Contains(done, hit.PolicyRef) {
			continue
		}
		done = append(done, hit.PolicyRef)
		if c.Redaction == "" || c.Redaction == schema.RedactionNone || c.Redaction == schema.RedactionUnknown {
			c.Redaction, c.RedactionReason = schema.RedactionMasked, hit.Reason
		}
		if !slices.Contains(c.PolicyRefs, hit.PolicyRef) {
			c.PolicyRefs = append(slices.Clip(c.PolicyRefs), hit.PolicyRef)
		}
		for _, fact := range r.client.redaction(c.ID, c.ID, hit, []string{"content"}) {
			fact.CallID = c.CallID
			if err := r.record(ctx, fact, ids, used); err != nil {
				return err
			}
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
