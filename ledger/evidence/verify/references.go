package verify

import (
	"slices"
	"strings"
	"sync"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// references follows the references among the documents of Agent Evidence. It
// holds 8 bytes for each id.
type references struct {
	v       *verifier
	mu      sync.Mutex
	fresh   []uint64 // ids defined since next
	ids     []uint64 // all before, sorted
	checked int64
}

// definitions and uses say which members of the elements of a list define an id,
// and which refer to one.
var (
	definitions = map[string]string{pack.ProvenanceFile + " nodes": "node_id", pack.SourceMapFile + " sources": "source_id"}
	uses        = map[string][]string{
		pack.ProvenanceFile + " edges":     {"from", "to"},
		pack.SourceMapFile + " sources":    {"source_id"},
		pack.SourceMapFile + " omissions":  {"source_id", "decision_ref"},
		pack.PackFile + " redactions":      {"target_ref"},
		pack.ReplayFile + " input_refs":    {"ref_id"},
		pack.ReplayFile + " snapshot_refs": {"ref_id"},
	}
	// paths are the members that name a file of the pack, with a place in it.
	paths = []string{"ref", "uri"}
)

// referenceBatch collects what a worker finds.
type referenceBatch struct {
	of      *references
	file    string
	define  string
	use     []string
	fresh   []uint64
	checked int64
}

func (r *references) batch(file, list string) *referenceBatch {
	key := file + " " + list
	return &referenceBatch{of: r, file: file, define: definitions[key], use: uses[key]}
}

// element follows the references of an element; text returns the text of a member.
func (b *referenceBatch) element(line int64, text func(name string) (string, bool)) {
	if b.define == "" && b.use == nil {
		return
	}
	if id, ok := text(b.define); ok {
		b.fresh = append(b.fresh, hashOf(id))
	}
	for _, name := range b.use {
		if b.of.torn() {
			break
		}
		id, ok := text(name)
		if !ok {
			continue
		}
		b.checked++
		if !b.of.defined(id) {
			b.of.v.found.fault(References, Fault{b.file, line, "/" + name, "leads to " + quote(id) + ", which is nowhere in the pack"})
		}
	}
	for _, name := range paths {
		if path, ok := text(name); ok {
			b.of.path(b.file, line, "/"+name, path)
		}
	}
}

// path checks a reference to a file of the pack: a path that a pack may have,
// and a fragment.
func (r *references) path(file string, line int64, pointer, text string) {
	path, _, fragment := strings.Cut(text, "#")
	if !fragment || pack.Role(path) == "other" {
		return // a source's own address
	}
	if r.lacks(path) {
		r.v.found.fault(References, Fault{file, line, pointer, "leads to the file " + quote(path) + ", which is not in the pack"})
	}
}

// lacks reports whether a file is nowhere. Of one that was taken away, that is
// said where the manifest lists it.
func (r *references) lacks(path string) bool { return !r.v.pack.Has(path) && !r.v.changed[path] }

func (b *referenceBatch) done() {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	b.of.fresh = append(b.of.fresh, b.fresh...)
	b.of.checked += b.checked
}

// defined reports whether an id was defined in a list before, or is the pack's.
func (r *references) defined(id string) bool {
	_, found := slices.BinarySearch(r.ids, hashOf(id))
	return found || id == r.v.header.ID
}

// next makes what was defined in one list known to the next. No batch is being
// worked on.
func (r *references) next() {
	if len(r.fresh) == 0 {
		return
	}
	r.ids = append(r.ids, r.fresh...)
	r.fresh = nil
	slices.Sort(r.ids)
	r.ids = slices.Compact(r.ids)
}

// torn reports whether ids may be missing because what defines them was altered,
// which is said elsewhere.
func (r *references) torn() bool {
	return !r.v.pack.Has(pack.ProvenanceFile) || r.v.changed[pack.ProvenanceFile] || r.v.changed[pack.SourceMapFile]
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
	if r.torn() {
		r.v.found.settle(References, NotChecked, "%s or %s is not what it was", pack.ProvenanceFile, pack.SourceMapFile)
		return
	}
	r.v.found.settle(References, Passed, "references that lead somewhere: %d", r.checked)
}

// noteCompleteness repeats what the pack itself says is not in it: what was not
// collected is not there, and is not passed.
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
			v.found.note(Completeness, "%s, says the pack: %s", status, strings.Join(names, ", "))
		}
	}
}
