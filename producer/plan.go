package producer

import (
	"fmt"

	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// target is the standard's word for the model itself as a receiver.
const target = "model"

// planFacts says what a plan means: the surface that was chosen from, the
// decision, the rungs that were climbed, and the budget. It is pure: the same
// plan gives the same facts.
func planFacts(call, model string, candidates []window.Item, plan window.Plan) []schema.Fact {
	refs := make([]schema.Ref, len(candidates))
	tokens := make(map[string]int64, len(candidates))
	for i, c := range candidates {
		refs[i], tokens[c.ID] = schema.Ref(c.ID), int64(c.Tokens)
	}
	facts := []schema.Fact{
		&schema.SurfaceCreated{Surface: schema.Surface{
			SurfaceID: "surface:" + call, Scope: "turn", SurfaceKind: "model_call", AvailableItemRefs: refs, Visibility: []string{"model"},
		}},
		selectionFact(call, model, refs, tokens, plan),
	}
	if plan.Pressed {
		for _, rung := range plan.Steps {
			facts = append(facts, pressureFact(call, model, plan, rung))
		}
	}
	return append(facts, budgetFact(call, model, plan))
}

func selectionFact(call, model string, candidates []schema.Ref, tokens map[string]int64, plan window.Plan) *schema.SelectionCompleted {
	f := &schema.SelectionCompleted{
		Selection: schema.Selection{
			SelectionID: "selection:" + call, SurfaceID: "surface:" + call, CallID: call, Candidates: candidates, ModelRef: schema.Ref(model),
		},
		Policy: "pressure_ladder", BudgetRef: schema.Ref("budget:" + call),
	}
	for i, id := range plan.Selected() {
		f.Selected = append(f.Selected, schema.Candidate{ItemRef: schema.Ref(id), Rank: new(int64(i + 1)), Tokens: new(tokens[id])})
	}
	for _, o := range plan.Omitted {
		f.Omitted = append(f.Omitted, schema.Candidate{
			ItemRef: schema.Ref(o.ID), Tokens: new(int64(o.Tokens)), Reason: schema.OmissionReason(o.Reason), Note: o.Note,
		})
	}
	return f
}

func pressureFact(call, model string, plan window.Plan, rung window.Rung) *schema.PressureApplied {
	f := &schema.PressureApplied{
		PressureID: fmt.Sprintf("pressure:%s:%d", call, rung.Number), CallID: call, Step: new(int64(rung.Number)), Name: string(rung.Step),
		Policy: "pressure_ladder", Model: model, Outcome: schema.PressureOutcome(rung.Outcome), Reason: rung.Note,
		TokensBefore: new(int64(rung.TokensBefore)), TokensAfter: new(int64(rung.TokensAfter)), LimitTokens: new(int64(plan.Limit)),
		ItemRefs: schema.Refs(rung.Dropped...),
	}
	for _, r := range rung.Replaced {
		f.ItemRefs = append(f.ItemRefs, schema.Refs(r.Of...)...)
	}
	return f
}

func budgetFact(call, model string, plan window.Plan) *schema.BudgetApplied {
	f := &schema.BudgetApplied{
		BudgetID: "budget:" + call, CallID: call, Target: target, Model: model,
		MaxTokens: new(int64(plan.Budget.MaxTokens)), ReservedTokens: new(int64(plan.Budget.ReservedOutput)),
		EstimatedTokens: new(int64(plan.TokensBefore)), ActualTokens: new(int64(plan.TokensAfter)), ActualItems: new(int64(len(plan.Window))),
	}
	if plan.Pressed {
		f.OverflowStrategy = schema.OverflowSummarizeLowPriority
	}
	for i, s := range segments(plan) {
		s.Order = new(int64(i))
		f.WindowSegments = append(f.WindowSegments, s)
	}
	for _, rung := range plan.Steps {
		if rung.Step != window.CompactToolOutputs {
			continue
		}
		for _, r := range rung.Replaced {
			for _, id := range r.Of {
				f.TruncationRecords = append(f.TruncationRecords, schema.Truncation{
					ItemRef: schema.Ref(id), Strategy: string(rung.Step), TokensBefore: new(int64(r.Before)), TokensAfter: new(int64(r.After)),
				})
			}
		}
	}
	return f
}

// segments groups the window by layer, in the order in which layers first
// appear.
func segments(plan window.Plan) []schema.Segment {
	index := make(map[string]int)
	var list []schema.Segment
	for _, item := range plan.Window {
		i, ok := index[item.Layer]
		if !ok {
			i = len(list)
			index[item.Layer] = i
			list = append(list, schema.Segment{Segment: item.Layer, Layer: item.Layer, Role: item.Role, Actual: new(int64(0))})
		}
		*list[i].Actual += int64(item.Tokens)
		list[i].ItemRefs = append(list[i].ItemRefs, schema.Ref(item.ID))
	}
	return list
}

func assemblyFact(call string, plan window.Plan) *schema.AssemblyCreated {
	f := &schema.AssemblyCreated{
		AssemblyID: "assembly:" + call, CallID: call, Target: target, BudgetRef: schema.Ref("budget:" + call), Visibility: []string{"model"},
	}
	for i, item := range plan.Window {
		f.OrderedBlocks = append(f.OrderedBlocks, schema.Block{
			Block: fmt.Sprintf("block:%s:%d", call, i), ItemRefs: schema.Refs(item.ID), Position: new(int64(i)),
			Layer: item.Layer, Role: item.Role, Tokens: new(int64(item.Tokens)), Visibility: []string{"model"},
		})
		f.SourceItemRefs = append(f.SourceItemRefs, schema.Ref(item.ID))
	}
	return f
}

func usageFact(call, model string, plan window.Plan) *schema.UsageRecorded {
	f := &schema.UsageRecorded{CallID: call, Model: model, TotalTokens: new(int64(plan.TokensAfter))}
	for _, s := range segments(plan) {
		f.Layers = append(f.Layers, schema.LayerUsage{Layer: s.Layer, Tokens: s.Actual, Items: new(int64(len(s.ItemRefs)))})
	}
	return f
}

// elisionFact says what a pass shortened; position finds an item in the item
// log.
func elisionFact(call string, pass window.Pass, position func(id string) *int64) *schema.ElisionApplied {
	f := &schema.ElisionApplied{Elision: schema.Elision{
		PassID: "elision:" + call, CallID: call, Policy: pass.Policy, Trigger: pass.Trigger, Level: schema.ElisionLevel(pass.Level),
		FirstChangedPosition: new(int64(pass.FirstChanged)), TokensSaved: new(int64(pass.SavedPerCall)),
		TokensBefore: new(int64(0)), TokensAfter: new(int64(0)),
	}}
	for _, e := range pass.Elided {
		*f.TokensBefore += int64(e.Before)
		*f.TokensAfter += int64(e.Stub)
		f.ElidedItemRefs = append(f.ElidedItemRefs, schema.Elided{
			ItemRef: schema.Ref(e.ID), Position: position(e.ID), Level: schema.ElisionLevel(e.Level),
			TokensBefore: new(int64(e.Before)), TokensAfter: new(int64(e.Stub)), ReloadRef: schema.Ref(e.ReloadRef),
		})
	}
	return f
}
