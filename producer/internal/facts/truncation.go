package facts

import (
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// strategies are the standard's words for the ladder's steps. The standard has no word for
// shorter tool outputs. Their records name the step.
var strategies = map[window.Step]schema.OverflowStrategy{
	window.DropRetrieved:      schema.OverflowDeferToRetrieval,
	window.TrimMessages:       schema.OverflowTruncateMiddle, // the first messages and the newest messages stay
	window.SummarizeMessages:  schema.OverflowSummarizeOldest,
	window.CompactToolOutputs: schema.OverflowCustom,
}

// strategy returns the word for the last step that changed the window, or reject if the
// request does not fit. A plan that fits without the ladder has none.
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

// Truncations returns one record for each item that the steps removed or shortened, in the
// order of the steps. An item that was shortened and then removed has only the record of
// its removal.
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
