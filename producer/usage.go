package producer

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/ctxledger/ctxledger/producer/internal/facts"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// Usage records the call's window by layer and by use, next to the size of the item log,
// and the provider's bill. For calls that share a prompt cache, it also records the changed
// layers and the time since the previous call. [Call.Bill] also accepts figures other than
// tokens.
func (c *Call) Usage(ctx context.Context, plan window.Plan, billed schema.ProviderUsage) error {
	return c.Bill(ctx, plan, Billed{Usage: billed})
}

// Billed is a provider's report about a call. Figures that the provider did not report are
// empty. Unknown is not zero.
type Billed struct {
	Usage         schema.ProviderUsage
	Cost          *float64      // cost of the call, in Currency; 0 means free
	Currency      string        // ISO 4217 code; required with a cost
	PriceRef      schema.Ref    // price list of the cost
	Model         string        // model that answered, as the provider names it
	StopReason    string        // the provider's word for the end of the answer
	CacheLifetime time.Duration // lifetime of the prompt cache, in whole seconds; 0 is unknown
}

// LayerReport is a layer's own report of its size in a window.
//
// Source: seed 003, line 144.
type LayerReport struct {
	Layer     string // layer of the items, as in [Content]
	Tokens    int64
	Estimator string // the counter's name
}

// report adds the layers' own reports to the counted sizes. A layer without items is
// counted as 0 tokens. The error is an [*InvalidError].
func report(counted []schema.LayerUsage, reports []LayerReport) ([]schema.LayerUsage, error) {
	for _, r := range reports {
		switch {
		case r.Layer == "":
			return nil, invalid("reported layer", "must be named")
		case r.Tokens < 0:
			return nil, invalid("reported tokens", "must be a number of 0 or more; omit the report if the number is unknown")
		case r.Estimator == "":
			return nil, invalid("reported estimator", "must be named; token counts need the name of their counter")
		}
		at := slices.IndexFunc(counted, func(l schema.LayerUsage) bool { return l.Layer == r.Layer })
		if at < 0 {
			at = len(counted)
			counted = append(counted, schema.LayerUsage{Layer: r.Layer, Tokens: new(int64), Items: new(int64)})
		}
		if counted[at].Reported != nil {
			return nil, invalid("reported layer", "is reported twice")
		}
		counted[at].Reported, counted[at].ReportedBy = &r.Tokens, r.Estimator
	}
	return counted, nil
}

// validate returns an [*InvalidError] for values that cannot be recorded.
func (b Billed) validate() error {
	switch {
	case (b.Cost != nil) != (b.Currency != ""):
		return invalid("currency", "and cost must be given together, or not at all")
	case b.Cost != nil && (math.IsNaN(*b.Cost) || math.IsInf(*b.Cost, 0) || *b.Cost < 0):
		return invalid("cost", "must be a number of 0 or more; omit an unknown cost")
	case b.Currency != "" && !isCurrency(b.Currency):
		return invalid("currency", `must be a code of ISO 4217, three capital letters, such as "USD"`)
	case b.CacheLifetime < 0 || b.CacheLifetime%time.Second != 0:
		return invalid("cache lifetime", "must be in whole seconds; 0 means unknown")
	}
	return nil
}

// fill copies the provider's report to a call's record.
func (b Billed) fill(f *schema.UsageRecorded) {
	f.Usage, f.Cost, f.Currency, f.PriceRef = b.Usage, b.Cost, b.Currency, b.PriceRef
	f.AnsweredModel, f.StopReason = b.Model, b.StopReason
	if b.CacheLifetime > 0 {
		f.CacheLifetimeSeconds = new(int64(b.CacheLifetime / time.Second))
	}
}

func isCurrency(code string) bool {
	for i := range len(code) {
		if code[i] < 'A' || code[i] > 'Z' {
			return false
		}
	}
	return len(code) == 3
}

// Bill is Usage with the provider's complete report. The error is an [*InvalidError] for a
// cost without a currency, and for numbers out of range.
func (c *Call) Bill(ctx context.Context, plan window.Plan, billed Billed) error {
	if err := billed.validate(); err != nil {
		return err
	}
	run := c.turn.run
	f := usageOf(run, c.id, c.turn.model.Name, plan)
	var err error
	if f.Layers, err = report(f.Layers, c.Reports); err != nil {
		return c.hide(err)
	}
	billed.fill(f)
	f.AssemblyID, f.Tags = c.assembly, c.Tags
	err = run.calls.Record(f, plan.Window, run.client.config.Clock(), func() error { return c.turn.Record(ctx, f) })
	if err == nil {
		run.Account.bill(billed.Usage)
	}
	return err
}

// usageOf returns the record of a call: the sent items, by layer and by use, next to the
// size of the item log.
func usageOf(r *RunContext, call, model string, plan window.Plan) *schema.UsageRecorded {
	f := facts.UsageFact(call, model, plan)
	f.Estimator = r.client.estimator(model)
	f.LineageID = facts.LineageKey(r.depth(), r.IDs.ThreadID, r.IDs.RunID)
	held := r.log.stretch(plan.Window)
	f.WindowFirst, f.WindowNext = held.first, &held.next
	f.Metadata = map[string]any{"log_tokens": held.tokens}
	if held.first != nil {
		f.Metadata["entries_not_in_window"] = held.next - *held.first - held.sent
	}
	return f
}

// SumUsage adds the bills of several calls, bucket by bucket. A bucket that no call
// reported stays unknown. A reported zero counts as zero.
//
// Source: shared/vectors/noetic.json, track_usage.
func SumUsage(calls ...schema.ProviderUsage) (total schema.ProviderUsage) {
	buckets := func(u *schema.ProviderUsage) [7]**int64 {
		return [...]**int64{&u.UncachedInput, &u.CacheRead, &u.CacheWrite5m, &u.CacheWrite1h, &u.CacheWrite, &u.Output, &u.Reasoning}
	}
	sums := buckets(&total)
	for i := range calls {
		for j, bucket := range buckets(&calls[i]) {
			switch {
			case *bucket == nil:
			case *sums[j] == nil:
				*sums[j] = new(**bucket)
			default:
				**sums[j] += **bucket
			}
		}
	}
	return total
}
