package schema

import "embed"

//go:embed jsonschema/*.json
var schemaFiles embed.FS

// JSONSchema returns the JSON Schema (2020-12) of the data of type t, or nil
// when t is not known. It is generated from the Go types and their comments,
// and holds structure alone: the boundary rules are [Validate]'s. Vocabularies
// are open, as the standard's are. The caller may change the bytes.
func JSONSchema(t Type) []byte {
	text, err := schemaFiles.ReadFile("jsonschema/" + string(t) + ".json")
	if err != nil {
		return nil
	}
	return text
}
