package document

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/schema"
)

// maxBases is how many of the newest assemblies are kept as bases of later ones.
const maxBases = 512

// bases holds the newest assemblies, whole. An assembly may build on each of them.
type bases struct {
	kept  map[assemblyKey]*assembly
	order []assemblyKey // oldest first
	parts bool          // a base in several parts has the blocks of all
}

// assemblyKey is an assembly of an attempt in a session.
type assemblyKey struct{ session, attempt, assembly string }

// assembly is an assembly with all blocks of its window.
type assembly struct {
	blocks  []*block
	own     []*block // the last ones, which the fact itself has
	based   bool     // it builds on another assembly
	lacking bool     // the pack lacks blocks of the base
	// document is the document of the fact, until its blocks are needed one by one.
	document []byte
}

// block is a block of a window, in the forms that documents need.
type block struct {
	line  blockLine
	items []schema.Ref
	text  jsontext.Value // in the document of its assembly
}

// see returns an assembly with all blocks of its window. own are the blocks of the fact.
func (b *bases) see(of assemblyKey, f *schema.AssemblyCreated, own []*block) *assembly {
	a := &assembly{blocks: own, own: own}
	part, _ := f.Metadata["part"].(float64)
	before := b.kept[of]
	switch {
	case b.parts && part > 1 && before != nil:
		a.blocks, a.lacking = slices.Concat(before.blocks, own), before.lacking
	case f.BaseAssemblyID != "" && f.Keep != nil:
		a.based = true
		base := of
		base.assembly = f.BaseAssemblyID
		var kept []*block
		if known := b.kept[base]; known != nil {
			kept = known.whole()[:min(int64(len(known.blocks)), *f.Keep)]
		}
		a.lacking = int64(len(kept)) < *f.Keep
		a.blocks = slices.Concat(kept, own)
	}
	if a.lacking { // what builds on it lacks blocks too
		delete(b.kept, of)
		return a
	}
	if b.kept == nil {
		b.kept = make(map[assemblyKey]*assembly)
	}
	if b.kept[of] == nil {
		b.order = append(b.order, of)
	}
	b.kept[of] = a
	if len(b.order) > maxBases {
		delete(b.kept, b.order[0])
		b.order = b.order[1:]
	}
	return a
}

// whole returns all blocks, the own ones with their texts.
func (a *assembly) whole() []*block {
	if a.document == nil {
		return a.blocks
	}
	var members struct {
		Blocks []jsontext.Value `json:"ordered_blocks"`
	}
	if err := json.Unmarshal(a.document, &members); err == nil && len(members.Blocks) == len(a.own) {
		for i, text := range members.Blocks {
			a.own[i].text = text
		}
	}
	a.document = nil
	return a.blocks
}

// expand returns the document of an assembly with all blocks of its window. The record has the base
// and the number of its blocks. A document that lacks blocks keeps both members, and is partial.
func (a *assembly) expand(document []byte) ([]byte, error) {
	a.document = document
	if !a.based {
		return document, nil
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(document, &members); err != nil {
		return nil, err
	}
	texts := make([]jsontext.Value, 0, len(a.blocks))
	for _, b := range a.whole() {
		texts = append(texts, b.text)
	}
	if a.lacking || slices.ContainsFunc(texts, func(t jsontext.Value) bool { return t == nil }) {
		members["coverage"] = jsontext.Value(`"` + string(schema.CoveragePartial) + `"`)
		var reasons []string
		if given := members["coverage_reasons"]; given != nil {
			if err := json.Unmarshal(given, &reasons); err != nil {
				return nil, err
			}
		}
		text, err := json.Marshal(append(reasons, string(schema.PartialBase)))
		if err != nil {
			return nil, err
		}
		members["coverage_reasons"] = text
		return json.Marshal(members, json.Deterministic(true))
	}
	text, err := json.Marshal(texts)
	if err != nil {
		return nil, err
	}
	members["ordered_blocks"] = text
	delete(members, "base_assembly_id")
	delete(members, "keep")
	return json.Marshal(members, json.Deterministic(true))
}
