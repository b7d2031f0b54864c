package producer

import (
	"strconv"

	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// blocks are the plan's window as the model is to see it, one an item.
func blocks(call string, plan window.Plan) []schema.Block {
	list := make([]schema.Block, len(plan.Window))
	for i, item := range plan.Window {
		list[i] = schema.Block{
			Block: "block:" + call + ":" + strconv.Itoa(i), ItemRefs: schema.Refs(item.ID), Position: new(int64(i)),
			Layer: item.Layer, Role: item.Role, Tokens: new(int64(item.Tokens)), Visibility: []string{"model"},
		}
	}
	return list
}

func assemblyFact(call string, blocks []schema.Block) *schema.AssemblyCreated {
	f := &schema.AssemblyCreated{
		AssemblyID: "assembly:" + call, CallID: call, Target: target, BudgetRef: schema.Ref("budget:" + call), Visibility: []string{"model"},
		OrderedBlocks: blocks, SourceItemRefs: make([]schema.Ref, len(blocks)),
	}
	for i, b := range blocks {
		f.SourceItemRefs[i] = b.ItemRefs[0]
	}
	return f
}

// assemblyParts are the facts of an assembly. Positions go on from part to part.
func assemblyParts(call string, plan window.Plan) []*schema.AssemblyCreated {
	chunks := chunk(blocks(call, plan), maxPartBytes, func(b schema.Block) int {
		return blockBytes + textBytes(b.Block) + 2*refBytes(b.ItemRefs[0]) + textBytes(b.Layer) + textBytes(b.Role)
	})
	list := make([]*schema.AssemblyCreated, len(chunks))
	for i, part := range chunks {
		list[i] = assemblyFact(call, part)
		list[i].Metadata = partOf(i, len(chunks))
	}
	return list
}

// injectionFact says that an assembly became visible. It repeats the assembly's
// items where one event holds them, and otherwise says that it does not.
func injectionFact(call string, asm *schema.AssemblyCreated, point schema.InjectionPoint) *schema.InjectionApplied {
	f := &schema.InjectionApplied{Injection: schema.Injection{
		InjectionID: "inject:" + call, CallID: call, AssemblyID: asm.AssemblyID, Target: asm.Target, InjectionPoint: point, InjectionKind: "window",
	}}
	tokens, known := int64(0), true
	for _, b := range asm.OrderedBlocks {
		if b.Tokens == nil {
			known = false
			continue
		}
		tokens += *b.Tokens
	}
	if known {
		f.Tokens = &tokens
	}
	if len(chunk(asm.SourceItemRefs, maxPartBytes, refBytes)) == 1 {
		f.ItemRefs = asm.SourceItemRefs
	} else {
		f.Metadata = map[string]any{"item_refs": "of_assembly"}
	}
	return f
}

// asFacts are the parts of one record.
func asFacts[F schema.Fact](parts []F) []schema.Fact {
	list := make([]schema.Fact, len(parts))
	for i, part := range parts {
		list[i] = part
	}
	return list
}
