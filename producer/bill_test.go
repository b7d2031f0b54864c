package producer_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// TestUsageSaysWhatTheProviderSaid records all figures of a provider's report. Missing
// figures stay absent: no cost is not a cost of zero.
//
// Source: seed 000 (usage and cost).
func TestUsageSaysWhatTheProviderSaid(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := turnOf(t, client, "s")
	for id, b := range map[string]producer.Billed{
		"said": {
			Usage: schema.ProviderUsage{Output: new(int64(7))}, Cost: new(0.0125), Currency: "USD", PriceRef: "prices:2026-11",
			Model: "gpt-4o-2024-08-06", StopReason: "length", CacheLifetime: 5 * time.Minute,
		},
		"free":   {Cost: new(0.0), Currency: "EUR"},
		"unsaid": {},
	} {
		if err := turn.Call(id).Bill(t.Context(), window.Plan{}, b); err != nil {
			t.Fatal(err)
		}
	}
	facts := make(map[string]*schema.UsageRecorded)
	for _, f := range producertest.Facts[*schema.UsageRecorded](rec.Events()) {
		facts[f.CallID] = f
	}
	if f := facts["said"]; *f.Usage.Output != 7 || f.Cost == nil || *f.Cost != 0.0125 || f.Currency != "USD" || f.PriceRef != "prices:2026-11" ||
		f.Model != roomy.Name || f.AnsweredModel != "gpt-4o-2024-08-06" || f.StopReason != "length" || f.CacheLifetimeSeconds == nil || *f.CacheLifetimeSeconds != 300 {
		t.Errorf("%+v", f)
	}
	if f := facts["free"]; f.Cost == nil || *f.Cost != 0 || f.Currency != "EUR" {
		t.Errorf("%+v", f)
	}
	if f := facts["unsaid"]; f.Cost != nil || f.Currency != "" || f.PriceRef != "" || f.AnsweredModel != "" || f.StopReason != "" || f.CacheLifetimeSeconds != nil {
		t.Errorf("%+v", f)
	}
	for name, b := range map[string]producer.Billed{
		"a cost without a currency": {Cost: new(1.0)}, "a currency without a cost": {Currency: "USD"},
		"a currency that is no code": {Cost: new(1.0), Currency: "dollars"}, "a negative cost": {Cost: new(-1.0), Currency: "USD"},
		"no number": {Cost: new(math.NaN()), Currency: "USD"}, "a negative lifetime": {CacheLifetime: -time.Second},
		"a part of a second": {CacheLifetime: time.Millisecond},
	} {
		if err := turn.Call("bad").Bill(t.Context(), window.Plan{}, b); !errors.Is(err, producer.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
