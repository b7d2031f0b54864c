package document

import "github.com/ctxledger/ctxledger/schema"

// maxBases is how many of the newest assemblies are kept as bases of later ones.
const maxBases = 512

// bases holds the blocks of the newest assemblies, whole. An assembly may build on each of them.
type bases struct {
	blocks map[assemblyKey][]blockLine
	order  []assemblyKey // oldest first
}

// assemblyKey is an assembly of an attempt in a session.
type assemblyKey struct{ session, attempt, assembly string }

// whole returns all blocks of an assembly's window, and whether the pack lacks blocks of the base. own
// are the blocks that the assembly has itself.
func (b *bases) whole(of assemblyKey, f *schema.AssemblyCreated, own []blockLine) (blocks []blockLine, lacking bool) {
	if f.BaseAssemblyID != "" && f.Keep != nil {
		base := of
		base.assembly = f.BaseAssemblyID
		kept := b.blocks[base]
		keep := min(int64(len(kept)), *f.Keep)
		lacking = keep < *f.Keep
		own = append(kept[:keep:keep], own...)
	}
	if lacking { // what builds on it lacks blocks too
		delete(b.blocks, of)
		return own, true
	}
	if _, known := b.blocks[of]; !known {
		b.order = append(b.order, of)
	}
	if b.blocks == nil {
		b.blocks = make(map[assemblyKey][]blockLine)
	}
	b.blocks[of] = own
	if len(b.order) > maxBases {
		delete(b.blocks, b.order[0])
		b.order = b.order[1:]
	}
	return own, false
}
