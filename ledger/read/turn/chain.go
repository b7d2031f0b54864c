package turn

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/telling"
)

// A member is an assembly that holds blocks of a window: those at positions before until.
type member struct {
	assembly string
	until    int64
}

// chains returns the members of each assembly's window besides the assembly itself. The nearest base
// comes first. An assembly without a base has none.
func chains(made []assemblyRow, attempt string, assemblies []string) map[string][]member {
	based := make(map[string]assemblyRow)
	for _, a := range made {
		if old, has := based[a.Assembly]; a.Base != "" && a.Attempt == attempt && (!has || a.place() > old.place()) {
			based[a.Assembly] = a
		}
	}
	list := make(map[string][]member)
	for _, id := range assemblies {
		at, until := id, int64(lastPlace)
		for range schema.MaxAssemblyChain - 1 {
			a, has := based[at]
			if !has {
				break
			}
			at, until = a.Base, min(until, a.keep())
			list[id] = append(list[id], member{at, until})
		}
	}
	return list
}

// membersOf returns the assemblies and all members of their windows.
func membersOf(assemblies []string, chains map[string][]member) []string {
	all := slices.Clone(assemblies)
	for _, list := range chains {
		for _, m := range list {
			all = append(all, m.assembly)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (b based) keep() int64 {
	if b.Keep == nil {
		return 0
	}
	return *b.Keep
}

// wholeRow is an assembly, or a part of one, with the blocks that it keeps of its base in the first part.
type wholeRow struct {
	placedRow
	lacking bool // whether kept blocks are in no row
}

// expanded returns the rows of the attempt's assemblies with all blocks of their windows.
func expanded(placed []placedRow, attempt string, assemblies []string, chains map[string][]member) (list []wholeRow) {
	rows := make(map[string][]placedRow) // the latest of each part, in order
	for _, p := range placed {
		if p.Kind == "assembly" && p.Attempt == attempt {
			rows[p.Assembly] = append(rows[p.Assembly], p)
		}
	}
	for id, parts := range rows {
		slices.SortStableFunc(parts, func(a, b placedRow) int {
			return cmp.Or(cmp.Compare(readMetadata(a.Metadata).Part, readMetadata(b.Metadata).Part), cmp.Compare(b.place(), a.place()))
		})
		rows[id] = slices.CompactFunc(parts, func(a, b placedRow) bool { return readMetadata(a.Metadata).Part == readMetadata(b.Metadata).Part })
	}
	for _, id := range assemblies {
		var kept placedBlocks
		for _, m := range chains[id] {
			for _, p := range rows[m.assembly] {
				kept.take(p.placedBlocks, p.keep(), m.until)
			}
		}
		for i, p := range rows[id] {
			whole := wholeRow{placedRow: p}
			if p.Base != "" {
				whole.lacking = int64(len(kept.Blocks)) != p.keep()
				whole.placedBlocks = placedBlocks{}
				if i == 0 {
					whole.placedBlocks = kept
				}
				whole.take(p.placedBlocks, p.keep(), lastPlace)
			}
			list = append(list, whole)
		}
	}
	return list
}

// take adds the blocks of an assembly at positions before until. A block without a position follows
// the blocks that the assembly keeps.
func (p *placedBlocks) take(from placedBlocks, keep, until int64) {
	for i, name := range from.Blocks {
		place := keep + int64(i)
		if from.Positions[i] != nil {
			place = *from.Positions[i]
		}
		if place >= until {
			continue
		}
		p.Blocks, p.Items, p.Positions = append(p.Blocks, name), append(p.Items, from.Items[i]), append(p.Positions, &place)
		p.Layers, p.Roles, p.Tokens = append(p.Layers, from.Layers[i]), append(p.Roles, from.Roles[i]), append(p.Tokens, from.Tokens[i])
		p.Digests, p.Redactions = append(p.Digests, from.Digests[i]), append(p.Redactions, from.Redactions[i])
	}
}

// knownAs is how a record is known, and how much of its call it covers.
type knownAs struct {
	Source   string   `ch:"source"`
	Fidelity string   `ch:"fidelity"`
	Coverage string   `ch:"coverage"`
	Reasons  []string `ch:"coverage_reasons"`
}

// fidelity returns how the record is known. Records from before the word are reconstructed if an
// importer made them, and stated otherwise.
func (k knownAs) fidelity() string {
	switch {
	case k.Fidelity != "":
		return k.Fidelity
	case strings.HasPrefix(k.Source, telling.ImportSource):
		return string(schema.FidelityReconstructed)
	}
	return string(schema.FidelityStated)
}

// describe sets the columns of a block that say how its window is known.
func (k knownAs) describe(b *Block, lacking bool) {
	b.Fidelity, b.Coverage, b.Reasons = k.fidelity(), k.Coverage, k.Reasons
	if lacking {
		b.Coverage = string(schema.CoveragePartial)
		if !slices.Contains(b.Reasons, string(schema.PartialBase)) {
			b.Reasons = append(slices.Clip(b.Reasons), string(schema.PartialBase))
		}
	}
}

// owner is the one whose assemblies build on one another. Tellings of a log have their own.
type owner struct{ tenant, attempt, teller string }

func (s shownRow) owner() owner {
	o := owner{s.Tenant, s.Attempt, ""}
	if strings.HasPrefix(s.Source, telling.ImportSource) {
		o.teller = s.Source
	}
	return o
}

// held returns the rows of placed, with a row for each assembly that holds the item in the blocks that it
// keeps of its base. based are the assemblies that have a base.
func held(placed, based []shownRow) []shownRow {
	if len(based) == 0 {
		return placed
	}
	type holder struct {
		owner
		assembly string
	}
	holders := make(map[holder][]shownRow)
	for _, p := range placed {
		if p.Kind == "assembly" {
			of := holder{p.owner(), p.Assembly}
			holders[of] = append(holders[of], p)
		}
	}
	made, ids := make(map[owner][]assemblyRow), make(map[owner][]string)
	for _, b := range based {
		of := b.owner()
		made[of] = append(made[of], assemblyRow{sequenced: sequenced{b.Order, b.Sequence}, based: b.based, Attempt: b.Attempt, Assembly: b.Assembly})
		ids[of] = append(ids[of], b.Assembly)
	}
	all := make(map[owner]map[string][]member)
	for of, list := range made {
		slices.Sort(ids[of])
		all[of] = chains(list, of.attempt, slices.Compact(ids[of]))
	}
	list := slices.DeleteFunc(placed, func(p shownRow) bool { return p.Kind == "assembly" && p.Base != "" })
	for _, b := range based {
		var first *shownRow // of the holders, the one with the item at the first place
		look := func(rows []shownRow, until int64) {
			for i := range rows {
				if at := *rows[i].place(); at < until && (first == nil || at < *first.place()) {
					first = &rows[i]
				}
			}
		}
		for _, p := range holders[holder{b.owner(), b.Assembly}] {
			if p.Stream == b.Stream && p.Sequence == b.Sequence {
				look([]shownRow{p}, lastPlace)
			}
		}
		if readMetadata(b.Metadata).Part <= 1 {
			for _, m := range all[b.owner()][b.Assembly] {
				look(holders[holder{b.owner(), m.assembly}], m.until)
			}
		}
		if first != nil {
			b.Position, b.Tokens, b.Redaction, b.Layer = first.place(), first.Tokens, first.Redaction, first.Layer
			list = append(list, b)
		}
	}
	return list
}
