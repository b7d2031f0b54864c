package facts

import (
	"strconv"

	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// Receiver is the reader of a call's blocks: the model, or another target.
type Receiver struct {
	Call     string
	Target   string // word of the standard
	ToolCall string // tool call that consumes the blocks; empty for other targets
	// Rules that build the blocks' text; empty is unknown.
	Wrapping, Separator schema.Ref
}

// ToModel returns the model as the receiver of its call.
func ToModel(call string) Receiver { return Receiver{Call: call, Target: Target} }

// id returns a different id for each receiver of one call; the model has the call's own.
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

// Blocks returns the plan's window for the receiver, one block per item.
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
		Known:      schema.Known{Fidelity: schema.FidelityStated},
		AssemblyID: "assembly:" + to.id(), CallID: to.Call, Target: to.Target, BudgetRef: schema.Ref("budget:" + to.Call), Visibility: []string{to.Target},
		OrderedBlocks: blocks, SourceItemRefs: make([]schema.Ref, len(blocks)), WrappingPolicy: to.Wrapping, SeparatorPolicy: to.Separator,
	}
	for i, b := range blocks {
		f.SourceItemRefs[i] = b.ItemRefs[0]
	}
	return f
}

// AssemblyParts returns the facts of an assembly. Positions continue from part to part.
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

// InjectionFact returns the fact of an assembly that became visible. InjectionFact repeats
// the assembly's items if one event can hold them, and otherwise marks their omission.
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

// asWhole returns the redaction state that all blocks share, and the digest of a single
// block. If the states differ, or a block is partly redacted, there is no common state: the
// blocks have their own.
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

// AsFacts returns the parts of one record.
func AsFacts[F schema.Fact](parts []F) []schema.Fact {
	list := make([]schema.Fact, len(parts))
	for i, part := range parts {
		list[i] = part
	}
	return list
}
