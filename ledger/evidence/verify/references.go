package verify

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/ctxledger/ctxledger/ledger/evidence/internal/idtable"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// references checks the references between Agent Evidence documents.
type references struct {
	v       *verifier
	mu      sync.Mutex
	fresh   []uint64      // ids defined since next, in a list that also refers to ids
	ids     idtable.Table // all earlier ids
	checked int64
	// torn means that ids can be missing because their definitions were altered. The altered lines
	// get faults.
	torn bool
}

func newReferences(v *verifier) *references {
	torn := !v.pack.Has(pack.ProvenanceFile) || v.changed[pack.ProvenanceFile] || v.changed[pack.SourceMapFile]
	return &references{v: v, torn: torn}
}

// definitions lists the members that define an id. uses lists the members that refer to an id.
var (
	definitions = map[string]string{pack.ProvenanceFile + " nodes": "node_id", pack.SourceMapFile + " sources": "source_id"}
	uses        = map[string][]string{
		pack.ProvenanceFile + " edges":         {"from", "to"},
		pack.SourceMapFile + " sources":        {"source_id"},
		pack.SourceMapFile + " omissions":      {"source_id", "decision_ref"},
		pack.SourceMapFile + " contradictions": {"claim_id", "provenance_node_id"},
		pack.PackFile + " redactions":          {"target_ref"},
		pack.ReplayFile + " input_refs":        {"ref_id"},
		pack.ReplayFile + " snapshot_refs":     {"ref_id"},
	}
	// paths are the members that name a file of the pack and a place in it.
	paths = []string{"ref", "uri"}
)

// referenceBatch collects the results of a worker.
type referenceBatch struct {
	of      *references
	file    string
	define  string
	use     []string
	fresh   []uint64
	checked int64
	last    string // the last referenced file that exists in the pack
}

func (r *references) batch(file, list string) *referenceBatch {
	key := file + " " + list
	return &referenceBatch{of: r, file: file, define: definitions[key], use: uses[key]}
}

// element checks the references of an element. text returns the text of a member.
func (b *referenceBatch) element(line int64, text func(name string) ([]byte, bool)) {
	if b.define == "" && b.use == nil {
		return
	}
	if id, ok := text(b.define); ok {
		if hash := idtable.HashBytes(id); b.use == nil || b.of.ids.Get(hash) == 0 {
			b.fresh = append(b.fresh, hash)
		}
	}
	for _, name := range b.use {
		if b.of.torn {
			break
		}
		id, ok := text(name)
		if !ok {
			continue
		}
		b.checked++
		if !b.of.defined(id) {
			b.of.v.found.fault(References, Fault{b.file, line, "/" + name, "leads to " + quote(string(id)) + ", which is not defined in the pack"})
		}
	}
	for _, name := range paths {
		if path, ok := text(name); ok {
			b.path(line, name, path)
		}
	}
}

// path checks a reference to a file of the pack: a valid path and a fragment.
func (b *referenceBatch) path(line int64, name string, text []byte) {
	path, _, fragment := bytes.Cut(text, []byte("#"))
	if !fragment || string(path) == b.last || pack.Role(string(path)) == "other" {
		return // any other form is an address of a source
	}
	if b.of.lacks(string(path)) {
		b.of.v.found.fault(References, Fault{b.file, line, "/" + name, "leads to the file " + quote(string(path)) + ", which is not in the pack"})
		return
	}
	b.last = string(path)
}

// lacks reports whether the pack never had a file. A removed file gets a fault at its entry in the
// manifest.
func (r *references) lacks(path string) bool { return !r.v.pack.Has(path) && !r.v.changed[path] }

func (b *referenceBatch) done() {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	b.of.checked += b.checked
	if b.use != nil {
		b.of.fresh = append(b.of.fresh, b.fresh...)
		return
	}
	b.of.define(b.fresh) // no reader runs at the same time
}

// defined reports whether an id was defined in an earlier list or is the pack's id.
func (r *references) defined(id []byte) bool {
	return r.ids.Get(idtable.HashBytes(id)) != 0 || string(id) == r.v.header.ID
}

func (r *references) define(ids []uint64) {
	for _, id := range ids {
		r.ids.Set(id, 1)
	}
}

// next makes the ids of one list known to the next list. No batch may be in work.
func (r *references) next() {
	r.define(r.fresh)
	r.fresh = r.fresh[:0]
}

// document checks the members of a document that name other files of the pack.
func (r *references) document(file string, value any) {
	members, ok := value.(map[string]any)
	if !ok {
		return
	}
	for _, name := range []string{"source_map_ref", "provenance_ref", "export_manifest_ref", "claim_map_ref"} {
		if path, ok := members[name].(string); ok {
			r.checked++
			if r.lacks(path) {
				r.v.found.fault(References, Fault{File: file, Pointer: "/" + name, Reason: "leads to the file " + quote(path) + ", which is not in the pack"})
			}
		}
	}
	if file == pack.PackFile {
		r.v.noteCompleteness(members["completeness"])
	}
}

func (r *references) settle() {
	if r.torn {
		r.v.found.settle(References, NotChecked, "%s or %s was altered", pack.ProvenanceFile, pack.SourceMapFile)
		return
	}
	r.v.found.settle(References, Passed, "references with an existing target: %d", r.checked)
}

// noteLacking lists the things that records name and no record describes. A reference to an
// undescribed thing leads to a place without content.
func (v *verifier) noteLacking() {
	if len(v.facts.lacking) == 0 {
		return
	}
	v.found.open(References, "things that records name but no record describes: %d", len(v.facts.lacking))
	for _, t := range v.facts.lacking {
		v.found.note(References, "no record describes the %s %s", t.Kind, quote(t.ID))
	}
}

// noteCompleteness repeats the pack's own statement about missing data. Data that was never
// collected is missing and did not pass.
func (v *verifier) noteCompleteness(value any) {
	entries, _ := value.(map[string]any)
	by := make(map[string][]string)
	for name, e := range entries {
		if entry, ok := e.(map[string]any); ok {
			status, _ := entry["status"].(string)
			by[status] = append(by[status], name)
		}
	}
	for _, status := range []string{"not_collected", "missing", "unknown", "partial"} {
		if names := by[status]; len(names) > 0 {
			slices.Sort(names)
			v.found.note(Completeness, "%s according to the pack: %s", status, strings.Join(names, ", "))
		}
	}
}
