package importer

import (
	"maps"
	"slices"
	"strconv"

	"github.com/ctxledger/ctxledger/schema"
)

// usage emits the usage of a model call at the first of its records, before
// the call's own items, so that the window is what the call saw.
func (im *claudeImport) usage(r *record, call string) error {
	t := r.thread
	synthetic := r.Message.Model == syntheticModel
	if !t.calls[call] {
		t.calls[call] = true
		if err := im.usageFact(r, call, synthetic); err != nil {
			return err
		}
	}
	if !synthetic {
		if r.Message.Model != "" {
			t.model = shortText(r.Message.Model, 128)
		}
		if r.at.After(t.lastCallTime) {
			t.lastCallTime = r.at
		}
	}
	return nil
}

func (im *claudeImport) usageFact(r *record, call string, synthetic bool) error {
	t := r.thread
	if r.Message.ID == "" {
		im.problem(r.line, &lineError{ReasonNoMessageID, ""})
	}
	best := im.index.usage[callKey{t.key.session, call}]
	if best == nil {
		best = parseUsage(r.Message, r.line)
	}
	for _, p := range best.problems {
		im.problem(best.line, p)
	}
	fact := &schema.UsageRecorded{
		Common: schema.Common{Metadata: r.metadata()},
		CallID: call, Model: shortText(r.Message.Model, 128),
		Usage: best.buckets, ProviderUsage: best.raw, StopReason: best.stop,
	}
	fact.Metadata["usage_line"] = best.line
	if r.RequestID != "" {
		fact.Metadata["request_id"] = shortText(r.RequestID, maxNativeID)
	}
	if synthetic {
		fact.Metadata["synthetic"] = true
	} else {
		im.describeWindow(r, fact)
	}
	im.report.Calls++
	im.report.Tokens.add(best.buckets)
	output := "unknown"
	if best.buckets.Output != nil {
		output = strconv.FormatInt(*best.buckets.Output, 10)
	}
	return im.orProblem(r, im.fact(r, fact, "", call, output))
}

// describeWindow says what stretch of the log the call's window was projected
// from, and how it decomposes.
func (im *claudeImport) describeWindow(r *record, fact *schema.UsageRecorded) {
	t := r.thread
	fact.LineageID = t.key.thread
	next := t.log.next
	fact.WindowNext, fact.WindowFirst = &next, t.log.first()
	if gaps := next - t.log.start() - int64(len(t.log.window)); gaps > 0 {
		fact.Metadata["entries_not_in_window"] = gaps
	}
	if t.log.partial {
		fact.Metadata["partial_window"] = true
	}
	if gap := r.at.Sub(t.lastCallTime).Seconds(); !t.lastCallTime.IsZero() && gap >= 0 {
		fact.GapSeconds = &gap
	}
	layers := t.log.layers()
	history, known := int64(0), im.opts.Count != nil && !t.log.partial
	for _, name := range slices.Sorted(maps.Keys(layers)) {
		size := layers[name]
		usage := schema.LayerUsage{Layer: name, Items: &size.items}
		if size.unknown {
			known = false
		} else {
			usage.Tokens = &size.tokens
			history += size.tokens
		}
		if t.lastLayers != nil {
			changed := t.lastLayers[name] != size
			usage.Changed = &changed
		}
		fact.Layers = append(fact.Layers, usage)
	}
	if known {
		fact.HistoryTokens = &history
	}
	fact.Estimator = t.estimator
	t.lastLayers = layers
}

func (total *TokenTotals) add(u schema.ProviderUsage) {
	for _, bucket := range []struct {
		sum *int64
		n   *int64
	}{
		{&total.UncachedInput, u.UncachedInput}, {&total.CacheRead, u.CacheRead},
		{&total.CacheWrite5m, u.CacheWrite5m}, {&total.CacheWrite1h, u.CacheWrite1h},
		{&total.CacheWrite, u.CacheWrite}, {&total.Output, u.Output},
	} {
		if bucket.n != nil {
			*bucket.sum += *bucket.n
		}
	}
}
