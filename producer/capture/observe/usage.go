package observe

import (
	"maps"
	"slices"
	"strconv"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
	"github.com/ctxledger/ctxledger/schema"
)

// layerSum is the size of a layer.
type layerSum struct {
	items, tokens int64
	unknown       bool
	sums          uint64
}

func layersOf(blocks []block) map[dialect.Layer]layerSum {
	out := make(map[dialect.Layer]layerSum)
	for i := range blocks {
		b := &blocks[i]
		l := out[b.Layer]
		l.items++
		l.tokens += max(b.Tokens, 0)
		l.unknown = l.unknown || b.Tokens < 0
		l.sums += b.Sum
		out[b.Layer] = l
	}
	return out
}

// usage records the call: the size of its layers, and what the provider billed.
func (o *observation) usage(complete bool) {
	a := &o.x.Answer
	fact := &schema.UsageRecorded{
		CallID: o.call, Model: o.x.Request.Model, Usage: a.Usage, ProviderUsage: a.Raw, StopReason: a.Stop,
		LineageID: o.t.ID, AssemblyID: assemblyOf(o.call), ProviderMessageID: a.MessageID,
	}
	if len(o.now) == 0 {
		fact.AssemblyID = "" // nothing is known of the window
	}
	if a.Model != o.x.Request.Model {
		fact.AnsweredModel = a.Model
	}
	fact.Fidelity, fact.Coverage, fact.CoverageReasons = o.c.knowledge(complete)
	if fact.Model == "" {
		fact.Model = a.Model
	}
	before, now := layersOf(o.t.Blocks), layersOf(blocksOf(o.now))
	names := make([]dialect.Layer, 0, len(now))
	for layer := range now {
		names = append(names, layer)
	}
	slices.Sort(names)
	history, known := int64(0), true
	for _, layer := range names {
		l := now[layer]
		u := schema.LayerUsage{Layer: string(layer), Items: &l.items}
		if !l.unknown {
			u.Tokens = &l.tokens
		}
		if o.t.Calls > 0 {
			changed := before[layer] != l
			u.Changed = &changed
		}
		switch layer {
		case dialect.LayerSystem:
			fact.SystemTokens = u.Tokens
		case dialect.LayerTools:
			fact.ToolsTokens = u.Tokens
		default:
			history, known = history+l.tokens, known && !l.unknown
		}
		fact.Layers = append(fact.Layers, u)
	}
	if known && o.r.Count != nil {
		fact.HistoryTokens = &history
	}
	for i := range o.now {
		if o.now[i].estimator != "" {
			fact.Estimator = o.now[i].estimator
		}
	}
	if gap := o.c.At.Sub(o.t.At).Seconds(); !o.t.At.IsZero() && gap >= 0 {
		fact.GapSeconds = &gap
	}
	fact.Metadata = o.metadata()
	o.add(fact, o.call)
}

// metadata holds what the contract has no member for.
func (o *observation) metadata() map[string]any {
	a := &o.x.Answer
	m := map[string]any{"dialect": string(o.x.Dialect)}
	if o.c.RequestID != "" {
		m["request_id"] = o.c.RequestID
	}
	if a.Status != 0 && a.Status != 200 {
		m["http_status"] = a.Status
	}
	if a.Error != "" {
		m["provider_error"] = a.Error
	}
	if a.MessageID == "" {
		m["attempt"] = true
	} else if !a.Complete {
		m["incomplete_response"] = true
	}
	if a.Problems > 0 {
		m["unread_events"] = a.Problems
	}
	if a.CacheMiss != "" {
		m["cache_miss_reason"] = a.CacheMiss
	}
	if len(a.Edits) > 0 {
		m["applied_edits"] = len(a.Edits)
		m["provider_edits"] = editsOf(a)
	}
	if o.x.Operation != dialect.Generate {
		m["operation"] = string(o.x.Operation)
	}
	if o.x.Request.WarmUp {
		m["operation"] = "warm_up"
	}
	if o.sideCall() {
		m["side_call"] = true
	}
	if o.c.Altered {
		m["client_altered"] = true
	}
	return m
}

// editsOf returns the provider's edits of the window as plain values.
func editsOf(a *dialect.Answer) (list []any) {
	for _, e := range a.Edits {
		edit := maps.Clone(e.Counts)
		edit["type"] = e.Type
		list = append(list, edit)
	}
	return list
}

// sideCall reports whether the call has no tools while another thread of the session has some,
// or asks for no answer.
func (o *observation) sideCall() bool {
	if o.x.Operation == dialect.CountTokens || o.x.Request.WarmUp {
		return true
	}
	return !slices.ContainsFunc(o.now, func(b seen) bool { return b.Layer == dialect.LayerTools }) &&
		slices.ContainsFunc(o.s.Threads, func(t *thread) bool {
			return t != o.t && slices.ContainsFunc(t.Blocks, func(b block) bool { return b.Layer == dialect.LayerTools })
		})
}

// countOnly records a call that counts the tokens of a window. No thread continues with it.
func (o *observation) countOnly() {
	last := ""
	if n := len(o.now); n > 0 {
		last = o.now[n-1].Item
	}
	o.call = name("count_", o.s.ID, last)
	n := o.s.take("call\x00" + o.call)
	o.call = name("count_", o.call, strconv.FormatUint(n, 10))
	o.ids = schema.Correlation{Agent: o.c.Agent, RuntimeID: o.c.Agent, SessionID: o.s.ID}
	fact := &schema.UsageRecorded{CallID: o.call, Model: o.x.Request.Model, ProviderUsage: o.x.Answer.Raw}
	fact.Fidelity = o.c.Fidelity
	fact.Metadata = o.metadata()
	delete(fact.Metadata, "attempt")
	o.add(fact, o.call)
}
