package facts

import (
	"strconv"

	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// Receiver is who is to see the blocks of a call: the model, or another target.
type Receiver struct {
	Call     string
	Target   string // the standard's word
	ToolCall string // the tool call that consumes them; empty for other targets
	// How the blocks' text is put together; empty is unknown.
	Wrapping, Separator schema.Ref
}

// ToModel is the model as the receiver of its call.
func ToModel(call string) Receiver { return Receiver{Call: call, Target: Target} }

// id tells the receivers of one call apart; the model has the call's own.
func (r Receiver) id() string {
	id := r.Call
	if r.Target != Target {
		id += ":" + r.Target
	}
	if r.ToolCall != "" {
		id += ":" + r.ToolCall
	}
	return id
}

// Blocks are the plan's window as the receiver is to see it, one an item.
func Blocks(to Receiver, plan window.Plan) []schema.Block {
	list := make([]schema.Block, len(plan.Window))
	for i, item := range plan.Window {
		list[i] = schema.Block{
			Block: "block:" + to.id() + ":" + strconv.Itoa(i), ItemRefs: schema.Refs(item.ID), Position: new(int64(i)),
			Layer: item.Layer, Role: item.Role, Tokens: new(int64(item.Tokens)), Visibility: []string{to.Target},
			Wrapper: item.Wrapper, Digest: item.Digest, RedactionState: schema.RedactionState(item.Redaction),
		}
	}
	return list
}

func AssemblyFact(to Receiver, blocks []schema.Block) *schema.AssemblyCreated {
	f := &schema.AssemblyCreated{
		AssemblyID: "assembly:" + to.id(), CallID: to.Call, Target: to.Target, BudgetRef: schema.Ref("budget:" + to.Call), Visibility: []string{to.Target},
		OrderedBlocks: blocks, SourceItemRefs: make([]schema.Ref, len(blocks)), WrappingPolicy: to.Wrapping, SeparatorPolicy: to.Separator,
	}
	for i, b := range blocks {
		f.SourceItemRefs[i] = b.ItemRefs[0]
	}
	return f
}

// AssemblyParts are the facts of an assembly. Positions go on from part to part.
func AssemblyParts(to Receiver, plan window.Plan) []*schema.AssemblyCreated {
	chunks := Chunk(Blocks(to, plan), MaxPartBytes, func(b schema.Block) int {
		return blockBytes + TextBytes(b.Block) + 2*RefBytes(b.ItemRefs[0]) + TextBytes(b.Layer) + TextBytes(b.Role) + TextBytes(b.Wrapper) +
			TextBytes(b.Digest) + TextBytes(string(b.RedactionState))
	})
	list := make([]*schema.AssemblyCreated, len(chunks))
	for i, part := range chunks {
		list[i] = AssemblyFact(to, part)
		list[i].Metadata = PartOf(i, len(chunks))
	}
	return list
}

// InjectionFact says that an assembly became visible. It repeats the assembly's
// items where one event holds them, and otherwise says that it does not.
func InjectionFact(to Receiver, asm *schema.AssemblyCreated, point schema.InjectionPoint) *schema.InjectionApplied {
	f := &schema.InjectionApplied{Injection: schema.Injection{
		InjectionID: "inject:" + to.id(), CallID: to.Call, AssemblyID: asm.AssemblyID, Target: asm.Target, InjectionPoint: point, InjectionKind: "window",
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
	f.RedactionState, f.Digest = asWhole(asm.OrderedBlocks)
	if len(Chunk(asm.SourceItemRefs, MaxPartBytes, RefBytes)) == 1 {
		f.ItemRefs = asm.SourceItemRefs
	} else {
		f.Metadata = map[string]any{"item_refs": "of_assembly"}
	}
	return f
}

// asWhole is the redaction state that all blocks share, and the digest where
// there is one block. States that differ, and a part that is redacted, are no state
// of the whole: the blocks have them.
func asWhole(blocks []schema.Block) (state schema.RedactionState, digest string) {
	if len(blocks) == 0 {
		return "", ""
	}
	state = blocks[0].RedactionState
	for _, b := range blocks[1:] {
		if b.RedactionState != state {
			return "", ""
		}
	}
	if len(blocks) == 1 {
		digest = blocks[0].Digest
	}
	return state, digest
}

// AsFacts are the parts of one record.
func AsFacts[F schema.Fact](parts []F) []schema.Fact {
	list := make([]schema.Fact, len(parts))
	for i, part := range parts {
		list[i] = part
	}
	return list
}
