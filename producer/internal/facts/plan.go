package facts

import (
	"cmp"
	"fmt"

	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// Target is the standard's word for the model as a receiver.
const Target = "model"

// pressurePolicy is the default policy name: the ladder of seed 000.
const pressurePolicy = "pressure_ladder"

// Call is the model call that a plan was made for.
type Call struct {
	ID, Model string
	Estimator string // counter of the plan's tokens
	// Text that was searched for, its purpose and the reason; empty is unknown.
	Query, Intent, Rationale string
	Actor                    schema.Ref
	Offered                  schema.Surface // in addition to the items
}

// PolicyName returns the policy's name in facts.
func PolicyName(p window.Policy) string { return cmp.Or(p.Name, pressurePolicy) }

// PressureRules returns the rules of a policy in the form of facts (seed 000).
func PressureRules(p window.Policy) *schema.PressureRules {
	steps := p.Steps
	if steps == nil {
		steps = window.Steps()
	}
	rules := &schema.PressureRules{
		Name: PolicyName(p), HighWater: new(int64(cmp.Or(p.HighWater, 100))),
		TrimKeepFirst: new(int64(p.TrimKeepFirst)), TrimKeepLast: new(int64(p.TrimKeepLast)), TrimStartOn: p.TrimStartOn,
		SummarizeKeepLast: new(int64(p.SummarizeKeepLast)), CompactKeepLast: new(int64(p.CompactKeepLast)),
	}
	for _, step := range steps {
		rules.Steps = append(rules.Steps, string(step))
	}
	if p.TriggerTokens > 0 {
		rules.TriggerTokens = new(int64(p.TriggerTokens))
	}
	if p.CompactStubTokens > 0 {
		rules.CompactStubTokens = new(int64(p.CompactStubTokens))
	}
	return rules
}

// PlanFacts returns the facts of a plan: the surface, the selection, the steps of the
// ladder, and the budget. Each fact has as many parts as its size needs. PlanFacts is pure:
// the same plan gives the same facts.
func PlanFacts(call Call, candidates []window.Item, plan window.Plan) []schema.Fact {
	var facts []schema.Fact
	chunks := Chunk(ItemRefs(candidates), MaxPartBytes, RefBytes)
	for i, refs := range chunks {
		surface := schema.Surface{Visibility: call.Offered.Visibility}
		if i == 0 {
			surface = call.Offered
		}
		if surface.Visibility == nil {
			surface.Visibility = []string{Target}
		}
		surface.SurfaceID, surface.Scope, surface.SurfaceKind, surface.AvailableItemRefs = "surface:"+call.ID, "turn", "model_call", refs
		facts = append(facts, &schema.SurfaceCreated{Common: schema.Common{Metadata: PartOf(i, len(chunks))}, Surface: surface})
	}
	facts = append(facts, selectionFacts(call, candidates, plan)...)
	if plan.Pressed {
		for _, rung := range plan.Steps {
			facts = append(facts, pressureFacts(call, plan, rung)...)
		}
	}
	return append(facts, budgetFacts(call, plan)...)
}

// selectionFacts puts the decision on each candidate into the candidate's part, so
// candidates = selected + omitted holds in every part.
func selectionFacts(call Call, candidates []window.Item, plan window.Plan) []schema.Fact {
	omitted := make(map[string]*window.Omission, len(plan.Omitted))
	for i, o := range plan.Omitted {
		omitted[o.ID] = &plan.Omitted[i]
	}
	chunks := Chunk(candidates, MaxPartBytes, func(c window.Item) int {
		size := candidateBytes + 2*TextBytes(c.ID) + numberBytes
		for name := range c.Signals {
			size += TextBytes(name) + numberBytes
		}
		if o := omitted[c.ID]; o != nil {
			size += TextBytes(o.Note)
		}
		return size
	})
	rank := int64(0)
	facts := make([]schema.Fact, len(chunks))
	for i, part := range chunks {
		f := &schema.SelectionCompleted{
			Selection: schema.Selection{SelectionID: "selection:" + call.ID, SurfaceID: "surface:" + call.ID, CallID: call.ID, ModelRef: schema.Ref(call.Model), Candidates: ItemRefs(part)},
			Policy:    schema.Ref(PolicyName(plan.Policy)), BudgetRef: schema.Ref("budget:" + call.ID), Selected: make([]schema.Candidate, 0, len(part)),
		}
		if len(chunks) > 1 {
			f.Part, f.Parts = new(int64(i+1)), new(int64(len(chunks)))
		}
		if i == 0 {
			f.Query, f.Intent, f.ActorRef, f.Rationale = call.Query, call.Intent, call.Actor, call.Rationale
		}
		for _, c := range part {
			d := schema.Candidate{ItemRef: schema.Ref(c.ID), Tokens: new(int64(c.Tokens)), Score: c.Score, Signals: c.Signals}
			if o := omitted[c.ID]; o != nil {
				d.Reason, d.Note = schema.OmissionReason(o.Reason), o.Note
				f.Omitted = append(f.Omitted, d)
			} else {
				rank++ // candidates are in the window's order
				d.Rank = new(rank)
				f.Selected = append(f.Selected, d)
			}
		}
		facts[i] = f
	}
	return facts
}

func ItemRefs(items []window.Item) []schema.Ref {
	refs := make([]schema.Ref, len(items))
	for i, item := range items {
		refs[i] = schema.Ref(item.ID)
	}
	return refs
}

func pressureFacts(call Call, plan window.Plan, rung window.Rung) []schema.Fact {
	refs := schema.Refs(rung.Dropped...)
	if len(refs) == 0 { // the sources of a summary are among the dropped items
		for _, r := range rung.Replaced {
			refs = append(refs, schema.Refs(r.Of...)...)
		}
	}
	chunks := Chunk(refs, MaxPartBytes, RefBytes)
	facts := make([]schema.Fact, len(chunks))
	for i, refs := range chunks {
		f := &schema.PressureApplied{
			Common:     schema.Common{Metadata: PartOf(i, len(chunks))},
			PressureID: fmt.Sprintf("pressure:%s:%d", call.ID, rung.Number), CallID: call.ID, Step: new(int64(rung.Number)), Name: string(rung.Step),
			Policy: PolicyName(plan.Policy), Model: call.Model, Outcome: schema.PressureOutcome(rung.Outcome), ItemRefs: refs,
		}
		if i == 0 {
			f.Reason, f.LimitTokens = rung.Note, new(int64(plan.Limit))
			if rung.Step == window.SummarizeMessages && len(rung.Replaced) == 1 {
				f.SummaryRef = schema.Ref(rung.Replaced[0].ID)
			}
			f.TokensBefore, f.TokensAfter = new(int64(rung.TokensBefore)), new(int64(rung.TokensAfter))
		}
		facts[i] = f
	}
	return facts
}

// budgetFacts lists the items of each segment of the window if one event can hold them.
// Otherwise the assembly has the items, the segments have only sizes, and the shortened
// items are in parts.
func budgetFacts(call Call, plan window.Plan) []schema.Fact {
	f := &schema.BudgetApplied{
		BudgetID: "budget:" + call.ID, CallID: call.ID, Target: Target, Model: call.Model, Estimator: call.Estimator,
		MaxTokens: new(int64(plan.Budget.MaxTokens)), ReservedTokens: new(int64(plan.Budget.ReservedOutput)),
		EstimatedTokens: new(int64(plan.TokensBefore)), ActualTokens: new(int64(plan.TokensAfter)), ActualItems: new(int64(len(plan.Window))),
	}
	f.OverflowStrategy = strategy(plan)
	if plan.Pressed {
		f.PressurePolicy = PressureRules(plan.Policy)
	}
	bytes := 0
	f.WindowSegments = segments(plan)
	for i, s := range f.WindowSegments {
		f.WindowSegments[i].Order = new(int64(i))
		bytes += segmentBytes + TextBytes(s.Layer)*2
		for _, ref := range s.ItemRefs {
			bytes += RefBytes(ref)
		}
	}
	truncated := Chunk(Truncations(plan), MaxPartBytes/2, truncationBytes)
	if bytes > MaxPartBytes/2 {
		for i := range f.WindowSegments {
			f.WindowSegments[i].ItemRefs = nil
		}
		f.Metadata = map[string]any{"segment_item_refs": "left_out"}
	}
	facts := []schema.Fact{f}
	f.TruncationRecords = truncated[0]
	for i, records := range truncated[1:] {
		facts = append(facts, &schema.BudgetApplied{
			Common: schema.Common{Metadata: PartOf(i+1, len(truncated))}, BudgetID: f.BudgetID, CallID: call.ID, Target: Target, Model: call.Model,
			TruncationRecords: records,
		})
	}
	if len(truncated) > 1 {
		f.Metadata = Joined(f.Metadata, PartOf(0, len(truncated)))
	}
	return facts
}

// segments groups the window by layer, in the order of the layers' first items. A layer
// with items of several roles has no role.
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
		if list[i].Role != item.Role {
			list[i].Role = ""
		}
		*list[i].Actual += int64(item.Tokens)
		list[i].ItemRefs = append(list[i].ItemRefs, schema.Ref(item.ID))
	}
	return list
}
