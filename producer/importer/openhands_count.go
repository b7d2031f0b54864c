package importer

import "math"

// ohCount is [ohTokens] without pointers, since a run may hold hundreds of
// thousands.
type ohCount struct {
	numbers  [6]int64 // in the order of [ohTokens.fields], noCount for one that is not told
	cost     float64  // NaN when it is not told
	model    string
	response string
}

const noCount = math.MinInt64

func (t *ohTokens) fields() [6]**int64 {
	return [6]**int64{&t.Prompt, &t.Completion, &t.Read, &t.Written, &t.Reasoning, &t.Window}
}

// pack shares the name of the model with the count before, which mostly is of
// the same.
func (t *ohTokens) pack(before *ohCount) ohCount {
	c := ohCount{cost: packedCost(t.cost), model: t.Model, response: t.ResponseID}
	if before != nil && before.model == c.model {
		c.model = before.model
	}
	for i, f := range t.fields() {
		if c.numbers[i] = noCount; *f != nil {
			c.numbers[i] = **f
		}
	}
	return c
}

func (c *ohCount) unpack() *ohTokens {
	t := &ohTokens{Model: c.model, ResponseID: c.response}
	for i, f := range t.fields() {
		if n := c.numbers[i]; n != noCount {
			*f = &n
		}
	}
	if cost := c.cost; !math.IsNaN(cost) {
		t.cost = &cost
	}
	return t
}

func packedCost(cost *float64) float64 {
	if cost == nil {
		return math.NaN()
	}
	return *cost
}
