package verify

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// The schemas of Agent Context are the published schemas. Their licence is in the same folder.
// Agent Evidence has no published licence. Its schema file is written here and covers only the
// parts that packs use.
//
//go:embed schemas/agentcontext/*.json schemas/agentevidence.json
var schemaFiles embed.FS

// ownSchemas is the $id of the schema file written here.
const ownSchemas = "urn:ctxledger:schema:evidence"

// elementSchemas names the schema of the elements of a document's lists, in the file written here.
// Other lists are checked with their document.
var elementSchemas = map[string]map[string]string{
	pack.PackFile:       {"redactions": "redaction", "telemetry": "telemetry"},
	pack.SourceMapFile:  {"sources": "source", "omissions": "omission", "contradictions": "contradiction"},
	pack.ProvenanceFile: {"nodes": "node", "edges": "edge"},
	pack.ReplayFile:     {"input_refs": "ref", "snapshot_refs": "ref", "trace_refs": "telemetry"},
	pack.ManifestFile:   {"files": "file"},
}

// documentSchemas holds the schemas of one file: of the file without list elements, and of the
// elements by list. The list without name is the file itself.
type documentSchemas struct {
	whole    *jsonschema.Schema
	elements map[string]*jsonschema.Schema
}

// schemasOf returns the schemas of all files, by path.
var schemasOf = sync.OnceValues(func() (map[string]documentSchemas, error) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	names, err := schemaFiles.ReadDir("schemas/agentcontext")
	if err != nil {
		return nil, err
	}
	paths := []string{"schemas/agentevidence.json"}
	for _, n := range names {
		paths = append(paths, "schemas/agentcontext/"+n.Name())
	}
	for _, path := range paths {
		if err := addSchema(c, path); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	by := make(map[string]documentSchemas)
	compile := func(id string) (s *jsonschema.Schema) {
		if err == nil {
			s, err = c.Compile(id)
		}
		return s
	}
	for _, file := range append(document.Files(), pack.ManifestFile) {
		id, elements := document.Schema(file)
		switch {
		case id == "":
		case elements:
			by[file] = documentSchemas{elements: map[string]*jsonschema.Schema{"": compile(id)}}
		default:
			s := documentSchemas{whole: compile(ownSchemas + "#/$defs/" + file), elements: make(map[string]*jsonschema.Schema)}
			for list, name := range elementSchemas[file] {
				s.elements[list] = compile(ownSchemas + "#/$defs/" + name)
			}
			by[file] = s
		}
	}
	return by, err
})

func addSchema(c *jsonschema.Compiler, path string) error {
	text, err := schemaFiles.ReadFile(path)
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		return err
	}
	var named struct {
		ID string `json:"$id"`
	}
	if err := json.Unmarshal(text, &named); err != nil {
		return err
	}
	return c.AddResource(named.ID, doc)
}

// invalid returns the deepest reason for a schema violation and its place in the value, or "".
func invalid(s *jsonschema.Schema, value any) (pointer, reason string) {
	if s == nil {
		return "", ""
	}
	err := s.Validate(value)
	if err == nil {
		return "", ""
	}
	found, ok := err.(*jsonschema.ValidationError)
	if !ok {
		return "", err.Error()
	}
	for len(found.Causes) > 0 {
		found = found.Causes[0]
	}
	for _, token := range found.InstanceLocation {
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
	}
	return pointer, fmt.Sprint(found.ErrorKind.KeywordPath())
}
