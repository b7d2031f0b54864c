package producer

import (
	"context"

	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// arrival is content on its way into a run's context: counted, digested and
// masked, and not recorded yet.
type arrival struct {
	item  window.Item
	facts []schema.Fact       // all but the entry in the item log
	entry *schema.LogAppended // without its position; nil where it is not logged
}

func (r *RunContext) arrive(model string, c Content) (arrival, error) {
	itemType, err := r.client.itemType(c)
	if err == nil {
		err = c.Status.check()
	}
	if err != nil {
		return arrival{}, r.client.withheld.hideError(err)
	}
	text, hits := r.client.withheld.guard().Mask(c.Text)
	a := arrival{facts: r.redact(&c, hits)}
	count := r.client.config.Counter.Count(model, text)
	item := r.client.item(c, text, count)
	a.item = c.planned(count, item.ContentDigest)
	a.facts = append(a.facts, &schema.ItemAdded{Common: schema.Common{PolicyRefs: schema.Refs(c.PolicyRefs...)}, Item: item})
	if itemType != "" {
		a.entry = &schema.LogAppended{
			LogItemID: c.ID, LogID: r.IDs.ThreadID, ItemType: string(itemType), Role: c.Role, Name: c.ToolName,
			ToolCallID: c.ToolCallID, CallID: c.CallID, Status: string(c.Status), ItemRef: schema.Ref(c.ID),
			Tokens: item.TokenEstimate, ByteSize: item.ByteSize, ContentDigest: item.ContentDigest,
		}
	}
	return a, nil
}

// fact is the item as it is recorded.
func (a arrival) fact() *schema.ItemAdded { return a.facts[len(a.facts)-1].(*schema.ItemAdded) }

// enter hands record what an arrival is to record. Where it is logged, it takes
// the next position of the log, which is used up if record succeeds.
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

// enter records facts that belong together, all or none: the arrivals, of which
// the first alone may be logged, and what is said of them. Ids that the turn has
// added are an [*InvalidError].
func (t *Turn) enter(ctx context.Context, arrivals []arrival, about ...schema.Fact) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sealed {
		return ErrSealed
	}
	var rest []schema.Fact
	for i, a := range arrivals {
		if t.added[a.item.ID] || i > 0 && arrivals[0].item.ID == a.item.ID {
			return invalid("content id", "is that of another item of the turn")
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
