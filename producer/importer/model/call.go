package model

import (
	"maps"
	"slices"
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
	Window   *Window        // the window, where the program recorded it; nil to describe it by the item log
	Lacking  []string       // further coverage reasons of a window that the item log describes
	Provider string         // the provider's id of the answer, "" when unknown
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
	fact.ProviderMessageID = c.Provider
	switch {
	case c.NoWindow:
		fact.LineageID = c.Lineage
	case c.Window != nil:
		if err := w.assembly(o, c.ID, c.Window); err != nil {
			return err
		}
		fact.Known, fact.AssemblyID = c.Window.known(), c.Window.ID
		w.describeWindow(o, fact, c.Window)
	default:
		fact.Fidelity, fact.CoverageReasons = schema.FidelityReconstructed, c.Lacking
		w.describeWindow(o, fact, nil)
		fact.Coverage = schema.CoverageComplete
		if len(fact.CoverageReasons) > 0 {
			fact.Coverage = schema.CoveragePartial
		}
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
// sizes of its layers. The sizes are those of recorded, unless it is nil.
func (w *Writer) describeWindow(o *Origin, fact *schema.UsageRecorded, recorded *Window) {
	t := o.Thread
	fact.LineageID = t.Key.Thread
	next := t.Log.next
	fact.WindowNext, fact.WindowFirst = &next, t.Log.first()
	if gaps := next - t.Log.start() - int64(t.Log.Window.Len()); gaps > 0 {
		fact.Metadata["entries_not_in_window"] = gaps
	}
	partial := t.Log.Partial && recorded == nil
	if partial {
		fact.Metadata["partial_window"] = true
		lack(fact, schema.PartialEntries)
	}
	if t.Log.left > t.Log.start() && recorded == nil {
		lack(fact, schema.PartialReturn)
	}
	if t.Log.Gap && recorded == nil {
		lack(fact, schema.PartialSlice)
	}
	if gap := o.At.Sub(t.lastCallTime).Seconds(); !t.lastCallTime.IsZero() && gap >= 0 {
		fact.GapSeconds = &gap
	}
	layers := *t.Log.layers()
	if recorded != nil {
		var estimator string
		if layers, estimator = recorded.layers(); estimator != "" {
			t.estimator = estimator
		}
	}
	if recorded == nil && layers[LayerSystem].items == 0 {
		lack(fact, schema.PartialSystem)
	}
	if recorded == nil && layers[LayerTools].items == 0 {
		lack(fact, schema.PartialTools)
	}
	fact.Layers = make([]schema.LayerUsage, 0, layers.used())
	history, known := int64(0), w.Opts.Count != nil && !partial
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

func lack(fact *schema.UsageRecorded, reason schema.CoverageReason) {
	fact.CoverageReasons = append(slices.Clip(fact.CoverageReasons), string(reason))
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
