package read_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
)

func TestBudgetWhatIf(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.in("s1", "s1", "t1", "run-root")
	c.choose("cut", 250,
		schema.Candidate{ItemRef: "a", Rank: num(1), Tokens: num(100)}, schema.Candidate{ItemRef: "b", Rank: num(2), Tokens: num(100)},
		schema.Candidate{ItemRef: "c", Rank: num(3), Tokens: num(150), Reason: schema.OmitBudgetLimit},
		schema.Candidate{ItemRef: "d", Rank: num(4), Tokens: num(50), Reason: schema.OmitBudgetLimit},
		schema.Candidate{ItemRef: "e", Rank: num(5), Tokens: num(1), Reason: schema.OmitStale})
	c.choose("fill", 250,
		schema.Candidate{ItemRef: "a", Score: float(9), Tokens: num(100)}, schema.Candidate{ItemRef: "b", Score: float(8), Tokens: num(300), Reason: schema.OmitBudgetLimit},
		schema.Candidate{ItemRef: "c", Score: float(7), Tokens: num(100)})
	c.choose("own", 250,
		schema.Candidate{ItemRef: "a", Rank: num(1), Tokens: num(20), Reason: schema.OmitBudgetLimit}, schema.Candidate{ItemRef: "b", Rank: num(2), Tokens: num(200)})
	l := c.write()
	for give, want := range map[string]string{
		"percent=100":    "",
		"max_tokens=250": "",
		// The reserve of 50 tokens and the omission as stale do not change.
		"max_tokens=400":  "cut c to selected cutoff, own a to selected anchored",
		"max_tokens=450":  "cut c to selected cutoff, cut d to selected cutoff, fill b to selected fill, fill c to omitted fill, own a to selected anchored",
		"max_tokens=200":  "cut b to omitted cutoff, fill c to omitted fill, own b to omitted anchored",
		"percent=4000":    "cut c to selected cutoff, cut d to selected cutoff, fill b to selected fill, own a to selected anchored",
		"max_tokens=1000": "cut c to selected cutoff, cut d to selected cutoff, fill b to selected fill, own a to selected anchored",
	} {
		name, value, _ := strings.Cut(give, "=")
		var got []string
		for _, row := range named(t, l, "budget-what-if", map[string]string{name: value}, "selection_id", "item_ref", "flip", "rule", "basis") {
			if row[4] != "projected" {
				t.Errorf("%s: a row is labelled %q", give, row[4])
			}
			got = append(got, strings.Join(row[:4], " "))
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%s\n got %s\nwant %s", give, text, want)
		}
	}
}

// choose records a selection and a budget of limit tokens, with 50 tokens for the answer.
// Candidates without a reason are selected.
func (c *corpus) choose(id string, limit int64, candidates ...schema.Candidate) {
	f := &schema.SelectionCompleted{Selection: schema.Selection{SelectionID: id, SurfaceID: "surface", CallID: "call-" + id}, Policy: "policy"}
	for _, candidate := range candidates {
		f.Candidates = append(f.Candidates, candidate.ItemRef)
		if candidate.Reason == "" {
			f.Selected = append(f.Selected, candidate)
		} else {
			f.Omitted = append(f.Omitted, candidate)
		}
	}
	c.add(f)
	c.add(&schema.BudgetApplied{BudgetID: "budget-" + id, CallID: "call-" + id, Target: "model", MaxTokens: &limit, ReservedTokens: num(50)})
}

// TestBudgetWhatIfOfAnySelection checks random selections. At the recorded budget, no decision
// changes. At any other budget, candidates = selected + omitted. A larger budget never selects
// fewer tokens.
func TestBudgetWhatIfOfAnySelection(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	c := newCorpus(t)
	c.in("s1", "s1", "t1", "run-root")
	const selections = 150
	for i := range selections {
		var candidates []schema.Candidate
		for j := range 1 + random.IntN(12) {
			candidate := schema.Candidate{ItemRef: schema.Ref(fmt.Sprint("item-", j))}
			if random.IntN(5) > 0 {
				candidate.Tokens = num(random.Int64N(200))
			}
			if random.IntN(3) > 0 {
				candidate.Rank = num(1 + random.Int64N(10))
			}
			if random.IntN(2) > 0 {
				candidate.Score = float(random.Float64())
			}
			candidate.Reason = []schema.OmissionReason{"", "", schema.OmitBudgetLimit, schema.OmitBudgetLimit, schema.OmitDuplicate}[random.IntN(5)]
			candidates = append(candidates, candidate)
		}
		c.choose(fmt.Sprint("selection-", i), 50+random.Int64N(1000), candidates...)
	}
	l := c.write()
	if got := named(t, l, "budget-what-if", nil, "selection_id", "item_ref", "flip"); len(got) > 0 {
		t.Errorf("seed %d: at the recorded budget %v", seed, got)
	}
	for _, percent := range []string{"10", "50", "90", "100", "110", "200", "1000"} {
		seen := make(map[string]int)
		chosen := make(map[string]int)
		promised := make(map[string][3]int)
		for _, row := range named(t, l, "budget-what-if", map[string]string{"percent": percent, "show": "all", "limit": "100000"}, "selection_id", "projected_outcome", "candidates", "projected_selected", "projected_omitted") {
			seen[row[0]]++
			if row[1] == "selected" {
				chosen[row[0]]++
			}
			var all [3]int
			for i := range all {
				all[i], _ = strconv.Atoi(row[2+i])
			}
			promised[row[0]] = all
		}
		if len(seen) != selections {
			t.Errorf("seed %d: %s %%: %d selections, want %d", seed, percent, len(seen), selections)
		}
		for id, p := range promised {
			if p[0] != p[1]+p[2] || p[0] != seen[id] || p[1] != chosen[id] {
				t.Errorf("seed %d: %s %%: %s has %d rows, %d selected, and says %v", seed, percent, id, seen[id], chosen[id], p)
			}
		}
	}
}
