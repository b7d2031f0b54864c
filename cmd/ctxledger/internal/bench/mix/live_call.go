package mix

import (
	"fmt"
	"time"

	"github.com/ctxledger/ctxledger/schema"
)

const model = "gpt-4o"

// step is one model call and its result: an answer for the last call of a turn, a tool call for
// any other.
func (l *live) step(last bool) {
	l.call++
	l.recordCall()
	l.pass(800*time.Millisecond, 9*time.Second)
	if last {
		id := fmt.Sprintf("item-%03d", l.position)
		l.add(schema.Item{ItemID: id, Title: "assistant message", ContextKind: "assistant_message", Layer: "assistant", Role: "assistant"}, l.between(20, 400), "")
		l.log(id, "message", "assistant", "", "")
		return
	}
	l.useTool()
}

// recordCall records the steps of a window: offer, choice, fitting into the limit, assembly,
// injection, usage.
func (l *live) recordCall() {
	call := l.callID()
	l.made.surfaces = append(l.made.surfaces, "surface:"+call)
	l.record(&schema.SurfaceCreated{Surface: schema.Surface{
		SurfaceID: "surface:" + call, Scope: "turn", SurfaceKind: "model_call", AvailableItemRefs: l.refs(), Visibility: []string{"model"},
	}})
	candidates := l.refs()
	before := l.tokens()
	omitted := press(l, before)
	l.choose(candidates, omitted)
	l.budget(before)
	l.assemble()
	l.usage()
}

func (l *live) refs() []schema.Ref {
	refs := make([]schema.Ref, len(l.window))
	for i, p := range l.window {
		refs[i] = schema.Ref(p.id)
	}
	return refs
}

func (l *live) tokens() (sum int) {
	for _, p := range l.window {
		sum += p.tokens
	}
	return sum
}

// choose records the candidates that are in the window.
func (l *live) choose(candidates []schema.Ref, omitted []piece) {
	call := l.callID()
	f := &schema.SelectionCompleted{Selection: schema.Selection{
		SelectionID: "selection:" + call, SurfaceID: "surface:" + call, CallID: call, ModelRef: model, Candidates: candidates,
	}}
	left := make(map[string]bool, len(omitted))
	for _, p := range omitted {
		left[p.id] = true
		reason := schema.OmitSupersededBySummary
		if p.layer == "memory" {
			reason = schema.OmitBudgetLimit
		}
		f.Omitted = append(f.Omitted, schema.Candidate{ItemRef: schema.Ref(p.id), Tokens: new(int64(p.tokens)), Reason: reason})
	}
	tokens := make(map[string]int, len(l.window))
	for _, p := range l.window {
		tokens[p.id] = p.tokens
	}
	for _, c := range candidates {
		if id := string(c); !left[id] {
			f.Selected = append(f.Selected, schema.Candidate{ItemRef: c, Rank: new(int64(len(f.Selected) + 1)), Tokens: new(int64(tokens[id]))})
		}
	}
	l.record(f)
	l.made.selections = append(l.made.selections, f.SelectionID)
}

// layers returns the parts of the window, in order of their first piece.
func (l *live) layers() (list []schema.Segment) {
	index := make(map[string]int)
	for _, p := range l.window {
		i, ok := index[p.layer]
		if !ok {
			i = len(list)
			index[p.layer] = i
			list = append(list, schema.Segment{Segment: p.layer, Role: p.role, Layer: p.layer, Actual: new(int64), Order: new(int64(i))})
		}
		*list[i].Actual += int64(p.tokens)
		list[i].ItemRefs = append(list[i].ItemRefs, schema.Ref(p.id))
	}
	return list
}

func (l *live) budget(before int) {
	call := l.callID()
	l.record(&schema.BudgetApplied{
		BudgetID: "budget:" + call, CallID: call, Target: "model", Model: model, MaxTokens: new(int64(windowTokens)),
		ReservedTokens: new(int64(reservedTokens)), EstimatedTokens: new(int64(before)), ActualTokens: new(int64(l.tokens())),
		ActualItems: new(int64(len(l.window))), OverflowStrategy: schema.OverflowSummarizeLowPriority, WindowSegments: l.layers(),
	})
}

// assemble records the window as blocks, and the injection of the window.
func (l *live) assemble() {
	call := l.callID()
	f := &schema.AssemblyCreated{AssemblyID: "assembly:" + call, CallID: call, Target: "model", BudgetRef: schema.Ref("budget:" + call)}
	for i, p := range l.window {
		f.OrderedBlocks = append(f.OrderedBlocks, schema.Block{
			Block: fmt.Sprintf("block:%s:%d", call, i), ItemRefs: schema.Refs(p.id), Position: new(int64(i)), Layer: p.layer, Role: p.role,
			Visibility: []string{"model"}, Tokens: new(int64(p.tokens)),
		})
	}
	l.record(f)
	l.made.assemblies = append(l.made.assemblies, f.AssemblyID)
	l.record(&schema.InjectionApplied{Injection: schema.Injection{
		InjectionID: "inject:" + call, CallID: call, AssemblyID: f.AssemblyID, Target: "model", InjectionPoint: schema.InjectMessageHistory,
		InjectionKind: "window", ItemRefs: l.refs(), Tokens: new(int64(l.tokens())),
	}})
	l.made.injections = append(l.made.injections, "inject:"+call)
}

func (l *live) usage() {
	call := l.callID()
	f := &schema.UsageRecorded{
		CallID: call, Model: model, TotalTokens: new(int64(l.tokens())), LineageID: l.ids.ThreadID, AssemblyID: "assembly:" + call,
	}
	for _, s := range l.layers() {
		f.Layers = append(f.Layers, schema.LayerUsage{Layer: s.Layer, Tokens: s.Actual, Items: new(int64(len(s.ItemRefs)))})
	}
	if l.corpus != nil {
		f.Usage = l.billed()
	}
	l.record(f)
}

// useTool records a tool call, its access and its result.
func (l *live) useTool() {
	call, path := fmt.Sprintf("read-%02d", l.call), l.path()
	l.add(schema.Item{ItemID: call, Title: "read " + path, ContextKind: "tool_call", Layer: "tool_calls", Role: "assistant"}, l.between(9, 40), call)
	l.log(call, "function_call", "assistant", "Read", call)
	l.record(&schema.ResourceAccessed{
		Resource:  schema.Resource{BindingID: "repo", Name: "repo", ResourceKind: "files", DeclaredMode: "read", EffectiveMode: "read", Tools: []string{"Read"}},
		Operation: "read", Path: path, MatchedGrant: "app/repo", Allowed: true,
	}, toolCall(call))
	result, uri := call+":result", schema.Ref("repo:///"+path)
	l.add(schema.Item{
		ItemID: result, Title: "contents of " + path, ContextKind: "tool_result", Layer: "tool_results", Role: "tool",
		SourceRefs: []schema.SourceRef{{SourceID: string(uri), URI: string(uri), SourceKind: "file"}},
	}, l.between(90, 2400), call)
	l.log(result, "function_call_output", "tool", "Read", call)
	l.steps = append(l.steps, step{call, path})
	if l.chance(115) {
		l.redact(result)
	}
}

func (l *live) redact(item string) {
	const policy = "policy:no-credentials"
	l.record(&schema.RedactionApplied{
		Common: schema.Common{PolicyRefs: schema.Refs(policy)}, RedactionID: "redaction:" + item + ":" + policy, TargetRef: schema.Ref(item),
		CallID: l.callID(), RedactionState: schema.RedactionMasked, Method: "mask", RedactedFields: []string{"content"}, Reason: "secret",
		ActorRef:     schema.Ref(l.source),
		Fingerprints: []schema.Fingerprint{pick(l.session, l.tenant.withheld)},
	})
}
