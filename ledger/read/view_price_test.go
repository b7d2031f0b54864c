package read_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/schema"
)

// TestPricesOfTheVectors runs the cost cases of shared/vectors/tinyagents.json. In these cases,
// cache_read is a part of input, and reasoning is a part of output. The buckets of the contract
// share no tokens, so a runtime subtracts the parts. A case without prices has the cost 0. The view
// has NULL, because a call without a price is not free.
func TestPricesOfTheVectors(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("CTXLEDGER_SHARED")
	if shared == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("CTXLEDGER_SHARED is unset: the vectors are needed in CI")
		}
		t.Skip("CTXLEDGER_SHARED is unset: no vectors")
	}
	text, err := os.ReadFile(filepath.Join(shared, "vectors", "tinyagents.json"))
	if err != nil {
		t.Fatal(err)
	}
	type costs struct {
		Input     *float64 `json:"input_cost"`
		Output    *float64 `json:"output_cost"`
		Cache     *float64 `json:"cache_cost"`
		Reasoning *float64 `json:"reasoning_cost"`
		Total     *float64 `json:"total_cost"`
	}
	var file struct {
		Cases []struct {
			ID, Group     string
			Input, Expect json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	played := 0
	for _, c := range file.Cases {
		if c.Group != "cost" {
			continue
		}
		played++
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			var in struct {
				Pricing map[string]float64
				Usage   struct {
					Input, Output, Reasoning int64
					Read                     int64 `json:"cache_read"`
					Write                    int64 `json:"cache_creation"`
				}
			}
			var want costs
			if err := json.Unmarshal(c.Input, &in); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(c.Expect, &want); err != nil {
				t.Fatal(err)
			}
			corpus := newCorpus(t)
			corpus.in("s1", "s1", "t1", "run-root")
			u := in.Usage
			corpus.add(&schema.UsageRecorded{CallID: "call", Model: "m1", Usage: schema.ProviderUsage{
				UncachedInput: num(u.Input - u.Read), CacheRead: num(u.Read), CacheWrite: num(u.Write), Output: num(u.Output - u.Reasoning), Reasoning: num(u.Reasoning),
			}})
			l := corpus.write()
			var list []read.Price
			for name, bucket := range map[string]read.Bucket{
				"in": read.BucketInput, "out": read.BucketOutput, "cache_read": read.BucketCacheRead, "cache_creation": read.BucketCacheWrite, "reasoning": read.BucketReasoning,
			} {
				if price, priced := in.Pricing[name]; priced {
					list = append(list, read.Price{Model: "m1", Bucket: bucket, PerMillion: price * 1e6, Currency: "USD", Source: "a test"})
				}
			}
			if err := read.Models(l).ImportPrices(t.Context(), list, false); err != nil {
				t.Fatal(err)
			}
			if len(list) == 0 {
				want.Total = nil
			}
			row := rows(t, l, "SELECT input_cost, cache_read_cost + cache_write_cost, output_cost, priced_cost FROM call_costs", nil)[0]
			output := want.Output
			if output != nil {
				output = new(*want.Output + *want.Reasoning) // both are one column
			}
			for i, cost := range []*float64{want.Input, want.Cache, output, want.Total} {
				got, err := strconv.ParseFloat(row[i], 64)
				if len(list) == 0 && i == 3 && row[i] != "NULL" {
					t.Errorf("a call without prices costs %s", row[i])
				} else if cost != nil && (err != nil || math.Abs(got-*cost) > 1e-9) {
					t.Errorf("column %d is %s, want %v", i, row[i], *cost)
				}
			}
		})
	}
	if played != 3 {
		t.Errorf("%d cases were played", played)
	}
}
