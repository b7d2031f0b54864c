package producer

import (
	"context"
	"slices"

	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// Content is a piece of text that enters a run's context. The text is counted and digested,
// and stays in the process.
type Content struct {
	// ID is unique in the session; required. Content with an id of an earlier turn is the
	// same item: it is recorded and logged again, and its newest position counts.
	ID          string
	Title       string // for people; shown, must hold no secrets
	ContextKind string // kind of the standard, such as "file_excerpt"
	Layer       string // layer that counts the item in the window
	Role        string // system, user, assistant, tool
	Kind        window.Kind
	Text        string
	SourceURI   string // origin of the content; optional
	SourceKind  string
	Wrapper     string // text around the item in a request; optional
	// Sources are further sources, or a source without a URI. Selectors name the used part
	// of each source.
	Sources    []schema.SourceRef
	ToolName   string // of a tool call
	ToolCallID string // of a tool call and its results
	CallID     string // model call that produced the content
	Priority   int    // the retrieved item with the lowest priority is dropped first
	Pinned     bool   // never dropped, trimmed or elided
	Essential  bool   // never dropped as retrieved context
	Resource   string // resource of the run whose provider returned the content; optional
	Reads      string // file or resource that a tool result shows
	Ephemeral  bool   // soon out of date, for example a status; used by elision policies
	// Parts are the content's parts in addition to Text, such as images and files (seed
	// 003), in order. Parts count in the item's size.
	Parts []Part
	// Offers are items and sources that the text proposes to the model, such as memory to
	// read. OfferedBy is the item whose offer the model accepted with this content. Both
	// are ids, or references in JSON.
	Offers    []string
	OfferedBy string
	// ItemType is the type of the entry in the item log. Defaults to the type of Kind.
	// ItemType is required for reasoning and extensions.
	ItemType ItemType
	Status   ItemStatus // status of the log entry
	// Markers describe the content of the log entry: a summary of the reasoning, encrypted
	// reasoning, a refusal.
	Markers    []schema.LogMarker
	PolicyRefs []string // policies of a redaction
	// Redaction is the withheld part of the content; empty means none. The client adds the
	// guard's redactions.
	Redaction       schema.RedactionState
	RedactionReason string
}

// Add records content as an item of the run. If the content is part of the conversation or
// has an item type, Add also records an entry of the thread's item log. Add records both,
// or with an error neither. Add returns the item for planning, with its size in tokens of
// model's tokenizer. Without a public tokenizer the size is an estimate, which the fact's
// estimator shows.
//
// Withheld text is counted, digested and sized in its masked form. Send the masked form to
// the model too: mask the text with the same guard. The error is an [*InvalidError] for an
// invalid item type or status, or an error of [Client.Record].
func (r *RunContext) Add(ctx context.Context, model string, c Content) (window.Item, error) {
	return r.add(ctx, model, c, r.IDs, nil)
}

func (r *RunContext) add(ctx context.Context, model string, c Content, ids schema.Correlation, used func(sequence int64)) (window.Item, error) {
	a, err := r.arrive(model, c)
	if err != nil {
		return window.Item{}, err
	}
	ids.ToolCallID = c.ToolCallID
	if err := r.enter(a, func(facts []schema.Fact) error { return r.record(ctx, ids, used, facts...) }); err != nil {
		return window.Item{}, err
	}
	return a.item, nil
}

// planned returns the item for plans.
func (c Content) planned(count window.Count, digest string) window.Item {
	item := window.Item{
		ID: c.ID, Layer: c.Layer, Kind: c.Kind, Role: c.Role, Tokens: count.Tokens, Priority: c.Priority,
		Pinned: c.Pinned, Essential: c.Essential, Reads: c.Reads, Ephemeral: c.Ephemeral,
		Digest: digest, Redaction: string(c.Redaction), Wrapper: c.Wrapper,
	}
	if c.ToolCallID != "" {
		item.CallIDs = []string{c.ToolCallID}
	}
	return item
}

// item returns the item of content with masked text.
func (c *Client) item(of Content, text string, count window.Count) schema.Item {
	item := schema.Item{
		ItemID: of.ID, ContextKind: of.ContextKind, Title: of.Title, ContentMode: schema.ContentOpaque,
		TokenEstimate: new(int64(count.Tokens)), Estimator: count.Estimator, ByteSize: new(int64(len(text))),
		ContentDigest: c.config.Key.Digest([]byte(text)), Visibility: []string{"model"}, Layer: of.Layer, Role: of.Role,
		RedactionState: of.Redaction, RedactionReason: of.RedactionReason, OfferedBy: schema.Ref(of.OfferedBy),
		Pinned: of.Pinned, Essential: of.Essential, Reads: of.Reads,
	}
	if of.Kind == window.KindSummary {
		item.ContentMode = schema.ContentSummary
	}
	if len(of.Offers) > 0 {
		item.Offers = schema.Refs(of.Offers...)
	}
	if of.Priority != 0 {
		item.Priority = new(float64(of.Priority))
	}
	if of.SourceURI != "" {
		item.SourceRefs = []schema.SourceRef{{SourceID: of.SourceURI, URI: of.SourceURI, SourceKind: of.SourceKind}}
	}
	item.SourceRefs = append(item.SourceRefs, of.Sources...)
	return item
}

// redact marks c with the guard's redactions and returns their facts, one for each policy.
// If the runtime itself withheld more than the guard, the runtime's state stays.
func (r *RunContext) redact(c *Content, hits []redact.Hit) (facts []schema.Fact) {
	for _, hits := range byPolicy(hits) {
		hit := hits[0]
		if c.Redaction == "" || c.Redaction == schema.RedactionNone || c.Redaction == schema.RedactionUnknown {
			c.Redaction, c.RedactionReason = schema.RedactionMasked, hit.Reason
		}
		if !slices.Contains(c.PolicyRefs, hit.PolicyRef) {
			c.PolicyRefs = append(slices.Clip(c.PolicyRefs), hit.PolicyRef)
		}
		for _, fact := range redaction(r.client.Source(), c.ID, schema.Ref(c.ID), hits, []string{"content"}) {
			fact.CallID = c.CallID
			facts = append(facts, fact)
		}
	}
	return facts
}

// itemType returns the checked type of an entry of the client's logs. itemType returns ""
// if the content is not logged.
func (c *Client) itemType(of Content) (ItemType, error) {
	if of.ItemType == "" {
		return kindType(of.Kind), nil
	}
	t, err := ParseItemType(string(of.ItemType))
	if err != nil {
		return "", err
	}
	if registered := c.config.ItemTypes; registered != nil && t.Extension() && !slices.Contains(registered, t) {
		return "", invalid("item type", "is an extension that Config.ItemTypes does not list")
	}
	return t, nil
}

// arrival is content that enters a run's context: counted, digested and masked, but not yet
// recorded.
type arrival struct {
	item  window.Item
	facts []schema.Fact       // all facts except the entry in the item log
	entry *schema.LogAppended // without its position; nil if the content is not logged
}

func (r *RunContext) arrive(model string, c Content) (arrival, error) {
	itemType, err := r.client.itemType(c)
	if err == nil {
		err = c.Status.check()
	}
	if err == nil {
		err = checkMarkers(c.Markers, itemType)
	}
	if err != nil {
		return arrival{}, r.client.withheld.hideError(err)
	}
	if _, declared := r.bindings[c.Resource]; c.Resource != "" && !declared {
		return arrival{}, invalid("content resource", "is not a resource that the run declares")
	}
	guard := r.client.withheld.guard()
	text, hits := guard.Mask(c.Text)
	p, err := sumParts(r.client.config, model, c.Parts, guard)
	if err != nil {
		return arrival{}, r.client.withheld.hideError(err)
	}
	a := arrival{facts: r.redact(&c, append(hits, p.hits...))}
	count := r.client.config.Counter.Count(model, text)
	item := r.client.item(c, text, count)
	if len(p.list) > 0 {
		p.describe(r.client.config.Key, &item)
		count.Tokens += p.tokens
	}
	if c.Resource != "" {
		item.BindingID = bindingID(r.IDs.RunID, c.Resource)
	}
	a.item = c.planned(count, item.ContentDigest)
	a.facts = append(a.facts, &schema.ItemAdded{Common: schema.Common{PolicyRefs: schema.Refs(c.PolicyRefs...)}, Item: item})
	if itemType != "" {
		a.entry = &schema.LogAppended{
			LogItemID: c.ID, LogID: r.IDs.ThreadID, ItemType: string(itemType), Role: c.Role, Name: c.ToolName,
			ToolCallID: c.ToolCallID, CallID: c.CallID, Status: string(c.Status), ItemRef: schema.Ref(c.ID),
			Tokens: item.TokenEstimate, ByteSize: item.ByteSize, ContentDigest: item.ContentDigest,
		}
		for _, marker := range c.Markers {
			a.entry.Markers = append(a.entry.Markers, string(marker))
		}
	}
	return a, nil
}

// fact returns the recorded form of the item.
func (a arrival) fact() *schema.ItemAdded { return a.facts[len(a.facts)-1].(*schema.ItemAdded) }

// enter passes the facts of an arrival to record. A logged arrival takes the next position
// of the log. The position is used if record succeeds.
func (r *RunContext) enter(a arrival, record func([]schema.Fact) error) error {
	if a.entry == nil {
		err := record(a.facts)
		if err == nil && a.item.Kind == window.KindSummary {
			r.log.keepSummary(a)
		}
		return err
	}
	return r.log.append(a.item.ID, int64(a.item.Tokens), func(position int64) error {
		a.entry.Position = &position
		return record(append(a.facts, a.entry))
	})
}

// enter records arrivals and facts about them, all or none. Only the first arrival may have
// an entry in the item log. An id that the turn has already added gives an [*InvalidError].
func (t *Turn) enter(ctx context.Context, arrivals []arrival, about ...schema.Fact) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sealed {
		return ErrSealed
	}
	var rest []schema.Fact
	for i, a := range arrivals {
		if t.added[a.item.ID] || i > 0 && arrivals[0].item.ID == a.item.ID {
			return invalid("content id", "is already the id of another item of the turn")
		}
		if i > 0 {
			rest = append(rest, a.facts...)
		}
	}
	rest = append(rest, about...)
	record := func(first []schema.Fact) error { return t.run.record(ctx, t.IDs, t.use, append(first, rest...)...) }
	var err error
	if len(arrivals) == 0 {
		err = record(nil)
	} else {
		err = t.run.enter(arrivals[0], record)
	}
	if err != nil {
		return err
	}
	for _, a := range arrivals {
		t.added[a.item.ID] = true
		t.seal.ItemRefs = append(t.seal.ItemRefs, schema.Ref(a.item.ID))
	}
	for _, fact := range about {
		t.note(fact)
	}
	return nil
}
