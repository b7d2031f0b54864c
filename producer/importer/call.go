package importer

import (
	"maps"
	"strconv"

	"github.com/ctxledger/ctxledger/schema"
)

// modelCall is one call of a model, as a log tells it.
type modelCall struct {
	id       string
	model    string // "" when it is not told
	usage    schema.ProviderUsage
	raw      map[string]any // the numbers as the log has them
	stop     string
	cost     *float64
	extra    map[string]any // of the fact's metadata
	noWindow bool           // no model saw the thread's window
	lineage  string         // of a call without the thread's window that has a prompt cache, "" for none
	version  []string       // tells versions of the call's usage apart, besides its output
}

// call emits the usage of a model call, before the call's own items, so that
// the window is what the call saw. A call that was emitted before is left out.
func (w *writer) call(o *origin, c *modelCall) error {
	t := o.thread
	if !t.calls.add(hashOf(c.id)) {
		return nil
	}
	fact := &schema.UsageRecorded{
		Common: schema.Common{Metadata: o.metadata()},
		CallID: c.id, Model: c.model, Usage: c.usage, ProviderUsage: c.raw, StopReason: c.stop, Cost: c.cost,
	}
	if c.cost != nil {
		fact.Currency = "USD"
	}
	maps.Copy(fact.Metadata, c.extra)
	if c.noWindow {
		fact.LineageID = c.lineage
	} else {
		w.describeWindow(o, fact)
	}
	w.report.call(t.key.session, c.id, c.usage)
	output := "unknown"
	if c.usage.Output != nil {
		output = strconv.FormatInt(*c.usage.Output, 10)
	}
	return w.orProblem(o, w.fact(o, fact, "", append([]string{c.id, output}, c.version...)...))
}

// called notes a record of a model's answer, for the next call's gap and for
// the tokenizer of what follows.
func (t *thread) called(o *origin, model string) {
	if model != "" {
		t.model = model
	}
	if !t.untimed && o.at.After(t.lastCallTime) {
		t.lastCallTime = o.at
	}
}

// describeWindow says what stretch of the log the call's window was projected
// from, and how it decomposes.
func (w *writer) describeWindow(o *origin, fact *schema.UsageRecorded) {
	t := o.thread
	fact.LineageID = t.key.thread
	next := t.log.next
	fact.WindowNext, fact.WindowFirst = &next, t.log.first()
	if gaps := next - t.log.start() - int64(t.log.window.len()); gaps > 0 {
		fact.Metadata["entries_not_in_window"] = gaps
	}
	if t.log.partial {
		fact.Metadata["partial_window"] = true
	}
	if gap := o.at.Sub(t.lastCallTime).Seconds(); !t.lastCallTime.IsZero() && gap >= 0 {
		fact.GapSeconds = &gap
	}
	layers := *t.log.layers()
	fact.Layers = make([]schema.LayerUsage, 0, layers.used())
	history, known := int64(0), w.opts.Count != nil && !t.log.partial
	for of, size := range layers {
		if size.items == 0 {
			continue
		}
		usage := schema.LayerUsage{Layer: layer(of).String(), Items: &size.items}
		if !size.unknown {
			usage.Tokens = &size.tokens
		}
		switch {
		case layer(of) == layerSystem:
			fact.SystemTokens = usage.Tokens
		case layer(of) == layerTools:
			fact.ToolsTokens = usage.Tokens
		case size.unknown:
			known = false
		default:
			history += size.tokens
		}
		if t.lastLayers != nil {
			changed := t.lastLayers[of] != size
			usage.Changed = &changed
		}
		fact.Layers = append(fact.Layers, usage)
	}
	if known {
		fact.HistoryTokens = &history
		if fact.SystemTokens != nil && fact.ToolsTokens != nil {
			total := history + *fact.SystemTokens + *fact.ToolsTokens
			fact.TotalTokens = &total
		}
	}
	fact.Estimator = t.estimator
	t.lastLayers = &layers
}

// part takes what is inside out of a whole. Where only the whole is known, all
// of it stays; a part that is larger than its whole is unknown.
func part(whole, inside *int64) (rest, taken *int64) {
	if whole == nil || inside == nil {
		return whole, inside
	}
	if *inside > *whole {
		return whole, nil
	}
	n := *whole - *inside
	return &n, inside
}
