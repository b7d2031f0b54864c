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

// Usage records the call's window by layer and by use, beside what the item log
// holds, and what the provider billed where it said so. Calls that share a
// prompt cache also say which layers changed since the one before, and how long
// ago that was. [Call.Bill] also takes what the provider said beyond tokens.
func (c *Call) Usage(ctx context.Context, plan window.Plan, billed schema.ProviderUsage) error {
	return c.Bill(ctx, plan, Billed{Usage: billed})
}

// Billed is what a provider said of a call. What it did not say is left empty:
// unknown is not zero.
type Billed struct {
	Usage         schema.ProviderUsage
	Cost          *float64      // of the call, in Currency; 0 is free
	Currency      string        // ISO 4217 code; required with a cost
	PriceRef      schema.Ref    // the price list that the cost is by
	Model         string        // the model that answered, by the provider's name of it
	StopReason    string        // the provider's word for why it stopped
	CacheLifetime time.Duration // how long the prompt cache lives, in whole seconds; 0 is unknown
}

// LayerReport is what a layer of the runtime says of its own size in a window.
//
// Source: seed 003, line 144.
type LayerReport struct {
	Layer     string // the layer of the items, as in [Content]
	Tokens    int64
	Estimator string // what counted them
}

// report adds what layers say of their size to what is counted. A layer without items is
// counted as 0 tokens. The error is an [*InvalidError].
func report(counted []schema.LayerUsage, reports []LayerReport) ([]schema.LayerUsage, error) {
	for _, r := range reports {
		switch {
		case r.Layer == "":
			return nil, invalid("reported layer", "must be named")
		case r.Tokens < 0:
			return nil, invalid("reported tokens", "must be a number from 0; leave the report out where it is unknown")
		case r.Estimator == "":
			return nil, invalid("reported estimator", "must be named: token counts mean nothing without it")
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

// validate reports what cannot be recorded. The error is an [*InvalidError].
func (b Billed) validate() error {
	switch {
	case (b.Cost != nil) != (b.Currency != ""):
		return invalid("currency", "and cost must be given together, or neither")
	case b.Cost != nil && (math.IsNaN(*b.Cost) || math.IsInf(*b.Cost, 0) || *b.Cost < 0):
		return invalid("cost", "must be a number from 0; leave it out where it is unknown")
	case b.Currency != "" && !isCurrency(b.Currency):
		return invalid("currency", `must be a code of ISO 4217, three capital letters, such as "USD"`)
	case b.CacheLifetime < 0 || b.CacheLifetime%time.Second != 0:
		return invalid("cache lifetime", "must be in whole seconds from 0, where 0 is unknown")
	}
	return nil
}

// fill says in a call's record what the provider said of it.
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

// Bill is Usage with all that the provider said of the call. The error is an
// [*InvalidError] for a cost without a currency, and for numbers out of range.
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

// usageOf is the record of a call: what was really sent, by layer and by use,
// beside what the item log holds.
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

// SumUsage adds up what several calls were billed, bucket by bucket. A bucket
// that no call reported stays unknown, and a reported zero counts as one.
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
