package document

import (
	"cmp"
	"slices"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// The $id prefixes of the standards' schemas.
const (
	contextSchemas  = "https://limecloud.github.io/agentcontext/schemas/agentcontext-"
	evidenceSchemas = "https://limecloud.github.io/agentevidence/schemas/agentevidence-"
)

// schemas maps a file to its schema. In context/, this is the schema of each element.
var schemas = map[string]string{
	pack.PackFile:                       evidenceSchemas + "pack.schema.json",
	pack.SourceMapFile:                  evidenceSchemas + "source-map.schema.json",
	pack.ProvenanceFile:                 evidenceSchemas + "provenance.schema.json",
	pack.ReplayFile:                     evidenceSchemas + "replay.schema.json",
	pack.VerificationFile:               evidenceSchemas + "verification.schema.json",
	pack.ManifestFile:                   evidenceSchemas + "export-manifest.schema.json",
	pack.ContextFile("envelopes"):       contextSchemas + "context-envelope.schema.json",
	pack.ContextFile("surfaces"):        contextSchemas + "context-surface.schema.json",
	pack.ContextFile("items"):           contextSchemas + "context-item.schema.json",
	pack.ContextFile("source_refs"):     contextSchemas + "source-ref.schema.json",
	pack.ContextFile("selections"):      contextSchemas + "selection.schema.json",
	pack.ContextFile("budgets"):         contextSchemas + "budget.schema.json",
	pack.ContextFile("assemblies"):      contextSchemas + "assembly.schema.json",
	pack.ContextFile("compactions"):     contextSchemas + "compaction.schema.json",
	pack.ContextFile("missing_context"): contextSchemas + "missing-context.schema.json",
	pack.ContextFile("events"):          contextSchemas + "event.schema.json",
}

// Schema returns the id of the public schema of a file, or "". elements is true if the schema is
// that of each element of the file.
func Schema(file string) (id string, elements bool) { return schemas[file], pack.IsContextFile(file) }

// Manifest returns the manifest. The manifest lists neither the manifest itself nor the
// attestation. files can have any order. The list is sorted by path. Role, type and schema follow
// from the path.
func Manifest(h pack.Header, s Summary, files []pack.File) []byte {
	b := Builder{header: h}
	var o object
	b.made(o.begin().text("export_id", h.ID+".export").text("evidence_pack_id", h.ID).text("schema_version", Version)).text("status", s.status)
	o.raw("scope", s.scope)
	o.key("files")
	o.b = append(o.b, '[')
	files = slices.SortedFunc(slices.Values(files), func(x, y pack.File) int { return cmp.Compare(x.Path, y.Path) })
	for i, f := range files {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		var one object
		one.begin().text("path", f.Path).text("role", pack.Role(f.Path)).text("media_type", pack.MediaType(f.Path)).count("size", uint64(f.Size)).
			text("hash", f.Hash).text("schema_ref", schemas[f.Path])
		o.b = append(append(o.b, '\n'), one.end()...)
	}
	o.b = append(o.b, '\n', ']')
	o.key("schemas")
	o.b = append(o.b, '[')
	for i, name := range []string{"agentcontext", "agentevidence"} {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		var one object
		o.b = append(o.b, one.begin().text("ref_id", name).text("kind", "schema").text("uri", "https://limecloud.github.io/"+name+"/schemas/").end()...)
	}
	o.b = append(o.b, ']')
	o.raw("completeness", s.completeness).raw("redaction_refs", []byte(`["pack.json#/redactions"]`)).raw("replay_refs", []byte(`["replay.json"]`)).
		raw("review_refs", []byte(`["verification.json#/reviews"]`)).raw("signatures", []byte(`[{"ref":"attestation.dsse.json"}]`))
	return append(o.end(), '\n')
}
