package row

import "github.com/ctxledger/ctxledger/schema"

// Placement is a row of the table placements: an assembly, an injection or
// a removal. The block arrays run over an assembly's blocks.
type Placement struct {
	Head
	RecordKind      string     `ch:"record_kind"`
	RecordID        string     `ch:"record_id"`
	CallID          string     `ch:"call_id"`
	AssemblyID      string     `ch:"assembly_id"`
	Target          string     `ch:"target"`
	InjectionPoint  string     `ch:"injection_point"`
	InjectionKind   string     `ch:"injection_kind"`
	AttachedTo      string     `ch:"attached_to"`
	Ephemeral       bool       `ch:"ephemeral"`
	PersonaFrom     string     `ch:"persona_from"`
	PersonaTo       string     `ch:"persona_to"`
	CueItemRef      string     `ch:"cue_item_ref"`
	ReplacedBy      string     `ch:"replaced_by"`
	RemovedByPass   string     `ch:"removed_by_pass"`
	ItemRefs        []string   `ch:"item_refs"`
	Tokens          *int64     `ch:"tokens"`
	Digest          string     `ch:"digest"`
	RedactionState  string     `ch:"redaction_state"`
	BudgetRef       string     `ch:"budget_ref"`
	Blocks          []string   `ch:"blocks"`
	BlockItems      [][]string `ch:"block_items"`
	BlockPositions  []*int64   `ch:"block_positions"`
	BlockLayers     []string   `ch:"block_layers"`
	BlockRoles      []string   `ch:"block_roles"`
	BlockWrappers   []string   `ch:"block_wrappers"`
	BlockTokens     []*int64   `ch:"block_tokens"`
	BlockDigests    []string   `ch:"block_digests"`
	BlockRedactions []string   `ch:"block_redactions"`
	Metadata        string     `ch:"metadata"`
	Extra           string     `ch:"extra"` // JSON of rare values
	BaseAssemblyID  string     `ch:"base_assembly_id"`
	Keep            *int64     `ch:"keep"`
	BlockEqualities []string   `ch:"block_equalities"` // empty if no block has one
	Fidelity        string     `ch:"fidelity"`
	Coverage        string     `ch:"coverage"`
	CoverageReasons []string   `ch:"coverage_reasons"`
}

func Assembly(h Head, f *schema.AssemblyCreated) Placement {
	row := Placement{
		Head: h, RecordKind: "assembly", RecordID: f.AssemblyID, CallID: f.CallID, AssemblyID: f.AssemblyID, Target: f.Target,
		ItemRefs: schema.RefIDs(f.SourceItemRefs), RedactionState: string(f.RedactionState), BudgetRef: f.BudgetRef.ID(),
		Extra:    assemblyExtra(f),
		Metadata: JSONText(f.Metadata), BaseAssemblyID: f.BaseAssemblyID, Keep: f.Keep,
		Fidelity: string(f.Fidelity), Coverage: string(f.Coverage), CoverageReasons: f.CoverageReasons,
	}
	row.BlockEqualities = said(f.OrderedBlocks, func(b *schema.Block) string { return b.EqualityDigest })
	row.Blocks = each(f.OrderedBlocks, func(b *schema.Block) string { return b.Block })
	row.BlockItems = each(f.OrderedBlocks, func(b *schema.Block) []string { return schema.RefIDs(b.ItemRefs) })
	row.BlockPositions = each(f.OrderedBlocks, func(b *schema.Block) *int64 { return b.Position })
	row.BlockLayers = each(f.OrderedBlocks, func(b *schema.Block) string { return b.Layer })
	row.BlockRoles = each(f.OrderedBlocks, func(b *schema.Block) string { return b.Role })
	row.BlockWrappers = each(f.OrderedBlocks, func(b *schema.Block) string { return b.Wrapper })
	row.BlockTokens = each(f.OrderedBlocks, func(b *schema.Block) *int64 { return b.Tokens })
	row.BlockDigests = each(f.OrderedBlocks, func(b *schema.Block) string { return b.Digest })
	row.BlockRedactions = each(f.OrderedBlocks, func(b *schema.Block) string { return string(b.RedactionState) })
	return row
}

func assemblyExtra(f *schema.AssemblyCreated) string {
	var e extra
	e.text("wrapping_policy", f.WrappingPolicy.ID())
	e.text("separator_policy", f.SeparatorPolicy.ID())
	return e.json()
}

func injectionExtra(i *schema.Injection) string {
	var e extra
	e.text("binding_id", i.BindingID)
	return e.json()
}

func Injection(h Head, kind string, c *schema.Common, i *schema.Injection) Placement {
	return Placement{
		Head: h, RecordKind: kind, RecordID: i.InjectionID, CallID: i.CallID, AssemblyID: i.AssemblyID, Target: i.Target,
		InjectionPoint: string(i.InjectionPoint), InjectionKind: i.InjectionKind, AttachedTo: i.AttachedTo.ID(), Ephemeral: i.Ephemeral,
		PersonaFrom: i.PersonaFrom, PersonaTo: i.PersonaTo, CueItemRef: i.CueItemRef.ID(), ItemRefs: schema.RefIDs(i.ItemRefs),
		Tokens: i.Tokens, Digest: i.Digest, RedactionState: string(i.RedactionState), Extra: injectionExtra(i), Metadata: JSONText(c.Metadata),
	}
}

func Removal(h Head, f *schema.InjectionRemoved) Placement {
	row := Injection(h, "removal", &f.Common, &f.Injection)
	row.ReplacedBy, row.RemovedByPass = f.ReplacedBy.ID(), f.RemovedByPass
	return row
}
