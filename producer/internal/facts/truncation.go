package facts

import (
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// strategies are the standard's words for what the rungs do. The standard has no
// word for shorter tool outputs: their records name the rung.
var strategies = map[window.Step]schema.OverflowStrategy{
	window.DropRetrieved:      schema.OverflowDeferToRetrieval,
	window.TrimMessages:       schema.OverflowTruncateMiddle, // the first messages and the newest stay
	window.SummarizeMessages:  schema.OverflowSummarizeOldest,
	window.CompactToolOutputs: schema.OverflowCustom,
}

// strategy is that of the last rung that changed the window, and reject where the
// request does not fit. A plan whose request fitted at once has none.
func strategy(plan window.Plan) (last schema.OverflowStrategy) {
	if plan.TokensAfter > plan.Limit {
		return schema.OverflowReject
	}
	for _, rung := range plan.Steps {
		if len(rung.Dropped)+len(rung.Replaced) > 0 {
			last = strategies[rung.Step]
		}
	}
	return last
}

// Truncations are one record for each item that the rungs took out or shortened,
// in the order in which they did. An item that was shortened and then taken out
// has the record of the latter.
//
// Source: seed 001 (ACTX-AR-BUDGET-001).
func Truncations(plan window.Plan) (list []schema.Truncation) {
	out := make(map[string]*window.Omission, len(plan.Omitted))
	for i := range plan.Omitted {
		out[plan.Omitted[i].ID] = &plan.Omitted[i]
	}
	list, none := make([]schema.Truncation, 0, len(plan.Omitted)), new(int64)
	for _, rung := range plan.Steps {
		for _, id := range rung.Dropped {
			list = append(list, schema.Truncation{
				ItemRef: schema.Ref(id), Strategy: string(rung.Step),
				TokensBefore: new(int64(out[id].Tokens)), TokensAfter: none, Reason: string(out[id].Reason),
			})
		}
		if rung.Step != window.CompactToolOutputs {
			continue
		}
		for _, r := range rung.Replaced {
			if _, gone := out[r.Of[0]]; !gone {
				list = append(list, schema.Truncation{
					ItemRef: schema.Ref(r.Of[0]), Strategy: string(rung.Step), TokensBefore: new(int64(r.Before)), TokensAfter: new(int64(r.After)),
				})
			}
		}
	}
	return list
}
