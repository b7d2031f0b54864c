package model

import (
	"maps"
	"strconv"

	"github.com/ctxledger/ctxledger/schema"
)

// ModelCall is one call of a model, with the values of the log.
type ModelCall struct {
	ID       string
	Model    string // "" when unknown
	Usage    schema.ProviderUsage
	Raw      map[string]any // the numbers of the log, unchanged
	Stop     string
	Cost     *float64
	Extra    map[string]any // of the fact's metadata
	NoWindow bool           // no model saw the thread's window
	Lineage  string         // lineage of a call that has a prompt cache but not the thread's window; "" for none
	Version  []string       // distinguishes versions of the call's usage, in addition to the output count
}

// Call emits the usage of a model call before the call's items, so the window is the input of the
// call. A call that was already emitted is skipped.
func (w *Writer) Call(o *Origin, c *ModelCall) error {
	t := o.Thread
	if !t.Calls.Add(HashOf(c.ID)) {
		return nil
	}
	fact := &schema.UsageRecorded{
		Common: schema.Common{Metadata: o.metadata()},
		CallID: c.ID, Model: c.Model, Usage: c.Usage, ProviderUsage: c.Raw, StopReason: c.Stop, Cost: c.Cost,
	}
	if c.Cost != nil {
		fact.Currency = "USD"
	}
	maps.Copy(fact.Metadata, c.Extra)
	if c.NoWindow {
		fact.LineageID = c.Lineage
	} else {
		w.describeWindow(o, fact)
	}
	w.Report.Call(t.Key.Session, c.ID, c.Usage)
	output := "unknown"
	if c.Usage.Output != nil {
		output = strconv.FormatInt(*c.Usage.Output, 10)
	}
	return w.orProblem(o, w.fact(o, fact, "", append([]string{c.ID, output}, c.Version...)...))
}

// Called notes a record of a model's answer. The next call needs its time for the gap, and the
// following texts need its model for the tokenizer.
func (t *Thread) Called(o *Origin, model string) {
	if model != "" {
		t.Model = model
	}
	if !t.Untimed && o.At.After(t.lastCallTime) {
		t.lastCallTime = o.At
	}
}

// describeWindow sets the stretch of the log that the call's window was projected from, and the
// sizes of its layers.
func (w *Writer) describeWindow(o *Origin, fact *schema.UsageRecorded) {
	t := o.Thread
	fact.LineageID = t.Key.Thread
	next := t.Log.next
	fact.WindowNext, fact.WindowFirst = &next, t.Log.first()
	if gaps := next - t.Log.start() - int64(t.Log.Window.Len()); gaps > 0 {
		fact.Metadata["entries_not_in_window"] = gaps
	}
	if t.Log.Partial {
		fact.Metadata["partial_window"] = true
	}
	if gap := o.At.Sub(t.lastCallTime).Seconds(); !t.lastCallTime.IsZero() && gap >= 0 {
		fact.GapSeconds = &gap
	}
	layers := *t.Log.layers()
	fact.Layers = make([]schema.LayerUsage, 0, layers.used())
	history, known := int64(0), w.Opts.Count != nil && !t.Log.Partial
	for of, size := range layers {
		if size.items == 0 {
			continue
		}
		usage := schema.LayerUsage{Layer: layer(of).String(), Items: &size.items}
		if !size.unknown {
			usage.Tokens = &size.tokens
		}
		switch {
		case layer(of) == LayerSystem:
			fact.SystemTokens = usage.Tokens
		case layer(of) == LayerTools:
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

// Part subtracts inside from whole. If inside is unknown, rest is whole. If inside is larger than
// whole, taken is unknown.
func Part(whole, inside *int64) (rest, taken *int64) {
	if whole == nil || inside == nil {
		return whole, inside
	}
	if *inside > *whole {
		return whole, nil
	}
	n := *whole - *inside
	return &n, inside
}
