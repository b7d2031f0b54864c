package read_test

import (
	"fmt"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/schema"
)

// TestPricesOfLargeWindows: the whole call has the prices of a step once its window, by the bill, has more
// tokens. A bucket without a price above the step is unpriced there, except for those that take the price of
// another bucket. Steps of another pattern do not count.
func TestPricesOfLargeWindows(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.in("s1", "s1", "t1", "run-root")
	call := func(id, model string, usage schema.ProviderUsage) {
		usage.Output = num(1000)
		c.add(&schema.UsageRecorded{CallID: id, Model: model, Usage: usage})
	}
	call("at", "dear", schema.ProviderUsage{UncachedInput: num(100_000), CacheRead: num(60_000), CacheWrite5m: num(40_000)})
	call("above", "dear", schema.ProviderUsage{UncachedInput: num(100_000), CacheRead: num(60_001), CacheWrite5m: num(40_000)})
	call("hour", "dear", schema.ProviderUsage{UncachedInput: num(200_001), CacheWrite1h: num(1000)})
	call("twice", "dear", schema.ProviderUsage{UncachedInput: num(600_000)})
	call("reasons", "dear", schema.ProviderUsage{UncachedInput: num(300_000), Reasoning: num(1000)})
	call("plain", "dear-but-told", schema.ProviderUsage{UncachedInput: num(300_000)})
	call("unknown", "dear", schema.ProviderUsage{CacheRead: num(300_000)})
	l := c.write()
	var list []read.Price
	add := func(model string, bucket read.Bucket, price float64) {
		list = append(list, read.Price{Model: model, Bucket: bucket, PerMillion: price, Currency: "USD", Source: "test"})
	}
	add("dear*", read.BucketInput, 3)
	add("dear*", read.BucketCacheRead, 1)
	add("dear*", read.BucketCacheWrite, 4)
	add("dear*", read.BucketCacheWrite1h, 6)
	add("dear*", read.BucketOutput, 10)
	add("dear*", read.BucketInput.Above(200), 6)
	add("dear*", read.BucketCacheRead.Above(200), 2)
	add("dear*", read.BucketCacheWrite.Above(200), 8)
	add("dear*", read.BucketOutput.Above(200), 20)
	add("dear*", read.BucketInput.Above(500), 9)
	add("dear*", read.BucketOutput.Above(500), 30)
	add("dear-but-told", read.BucketInput, 1)
	add("dear-but-told", read.BucketOutput, 2)
	if err := read.Models(l).ImportPrices(t.Context(), list, false); err != nil {
		t.Fatal(err)
	}
	want := "[[at 0.53 ] [above 1.060002 ] [hour NULL price] [twice 5.43 ] [reasons 1.84 ] [plain 0.302 ] [unknown NULL count]]"
	for _, view := range []string{"call_costs", "cache_bill"} {
		if got := rows(t, l, "SELECT call_id, round(priced_cost, 9), cost_lacks FROM "+view+" ORDER BY stream_seq", nil); fmt.Sprint(got) != want {
			t.Errorf("%s:\n got %v\nwant %s", view, got, want)
		}
	}
	for bucket, valid := range map[read.Bucket]bool{
		"input_above_200k": true, "input_above_0k": false, "input_above_k": false, "input_above_200": false, "input_above_0200k": false,
		"input_above_-1k": false, "inputs_above_200k": false, "input_above_200k_above_300k": false, "input_above_2000000k": false,
	} {
		if bucket.Valid() != valid {
			t.Errorf("bucket %q is valid: %v", bucket, !valid)
		}
	}
}
