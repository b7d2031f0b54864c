package standard

import (
	"fmt"
	"github.com/ctxledger/ctxledger/schema"
	"slices"
)

// envelopeScopes are the scopes that the standard allows.
var envelopeScopes = []string{"turn", "task", "session", "tool_invocation", "review", "handoff", "custom"}

// documentRecord maps a fact to its record.
func documentRecord(e *schema.Event, fact schema.Fact) (Kind, record, error) {
	var kind Kind
	var finish func(record)
	switch f := fact.(type) {
	case *schema.EnvelopeCreated:
		kind, finish = Envelope, func(r record) { finishEnvelope(r, f.Scope) }
	case *schema.SurfaceCreated, *schema.SurfaceUpdated:
		kind, finish = Surface, func(r record) { r.require("scope") }
	case *schema.ItemAdded:
		kind, finish = Item, func(r record) { finishItem(r, &f.Item) }
	case *schema.ItemUpdated:
		kind, finish = Item, func(r record) { finishItem(r, &f.Item) }
	case *schema.SelectionCompleted:
		kind, finish = Selection, func(r record) { finishSelection(r, f) }
	case *schema.BudgetApplied:
		kind, finish = Budget, func(record) {}
	case *schema.AssemblyCreated:
		kind, finish = Assembly, func(record) {}
	case *schema.CompactionCompleted:
		kind, finish = Compaction, func(r record) { finishCompaction(r, &f.Compaction) }
	case *schema.MissingDetected, *schema.MissingRequested, *schema.MissingResolved:
		kind, finish = Missing, func(r record) { r.require("scope", "question", "severity") }
	default:
		return "", nil, fmt.Errorf("%s: %w", fact.EventType(), ErrNoShape)
	}
	r, err := factRecord(e, fact)
	if err != nil {
		return "", nil, err
	}
	delete(r, "event_type")
	finish(r)
	r["created_at"] = schema.FormatTime(e.Time)
	r.trace(e)
	return kind, r, nil
}

func finishEnvelope(r record, scope string) {
	if !slices.Contains(envelopeScopes, scope) {
		r["scope"], r["custom_scope"] = "custom", scope
	}
}

func finishItem(r record, item *schema.Item) {
	if item.ContentMode == "" {
		switch {
		case item.Content != nil:
			r["content_mode"] = schema.ContentInline
		case item.ContentRef != "":
			r["content_mode"] = schema.ContentRef
		}
	}
	r.wrap("freshness")
	r.require("context_kind", "content_mode", "visibility")
}

// finishSelection copies the candidates' signals to the place that the standard defines: by item.
func finishSelection(r record, s *schema.SelectionCompleted) {
	signals := make(map[string]map[string]float64)
	for _, c := range slices.Concat(s.Selected, s.Omitted) {
		if len(c.Signals) > 0 {
			signals[c.ItemRef.ID()] = c.Signals
		}
	}
	if len(signals) > 0 {
		r["ranking_signals"] = signals
	}
}

// finishCompaction gives every compaction a source. If the fact names no items, the range of the
// log is the reference.
func finishCompaction(r record, c *schema.Compaction) {
	if len(c.SourceItemRefs) == 0 {
		r["source_item_refs"] = []any{map[string]any{"source_window": c.SourceWindow}}
	}
	r.wrap("validation")
	r.require("method")
}

// sourceRecords maps the sources of an item that a reference can name.
func sourceRecords(e *schema.Event, fact schema.Fact) (records []record, err error) {
	var item *schema.Item
	switch f := fact.(type) {
	case *schema.ItemAdded:
		item = &f.Item
	case *schema.ItemUpdated:
		item = &f.Item
	default:
		return nil, nil
	}
	for _, source := range item.SourceRefs {
		if source.SourceID == "" {
			source.SourceID = source.URI
		}
		if source.SourceID == "" {
			continue
		}
		r, err := newRecord(source)
		if err != nil {
			return nil, err
		}
		r["item_ref"] = item.ItemID
		r.wrap("selector", '[')
		r.require("uri", "source_kind")
		r.trace(e)
		records = append(records, r)
	}
	return records, nil
}
