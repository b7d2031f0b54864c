package schema

import (
	"bytes"
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

//go:embed golden/*.json
var goldenFiles embed.FS

// Golden returns a realistic event of type t in the CloudEvents JSON format, indented for
// readers. Golden returns nil if t is unknown. Together, the golden events are one turn of a
// coding agent. The caller may change the bytes.
func Golden(t Type) []byte {
	text, err := goldenFiles.ReadFile("golden/" + string(t) + ".json")
	if err != nil {
		return nil
	}
	return text
}

//go:embed jsonschema/*.json
var schemaFiles embed.FS

// JSONSchema returns the JSON Schema (2020-12) of the data of type t. JSONSchema returns nil if t
// is unknown. The schema is generated from the Go types and their comments. The schema describes
// only the structure; [Validate] checks the boundary rules. Vocabularies are open, as in the
// standard. The caller may change the bytes.
func JSONSchema(t Type) []byte {
	text, err := schemaFiles.ReadFile("jsonschema/" + string(t) + ".json")
	if err != nil {
		return nil
	}
	return text
}

//go:embed asyncapi.json
var asyncAPI []byte

// AsyncAPI returns the AsyncAPI 3 document of all ctxledger traffic on NATS. The document has one
// channel per subject. The document describes the messages in both content modes, the headers,
// the schemas and the streams. The document is generated from the Go types. The caller may change
// the bytes.
func AsyncAPI() []byte { return bytes.Clone(asyncAPI) }

// Doc describes a type in Markdown: its purpose, its members with types, units and words, and the
// rules beyond structure. The text comes from the type's JSON Schema and from the lists of the
// boundary rules. Doc returns "" if t is unknown.
func Doc(t Type) string {
	var s schemaText
	if !t.Known() || json.Unmarshal(JSONSchema(t), &s) != nil {
		return ""
	}
	var b strings.Builder
	object, verb := t.ObjectVerb()
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", t, s.Description)
	fmt.Fprintf(&b, "    type        %s\n    dataschema  %s\n    subject     ctx.v1.<tenant>.<runtime>.<bucket>.%s.%s\n\n", t.CloudEventsType(), t.DataSchema(), object, verb)
	b.WriteString("Members of data (* is required):\n\n")
	s.members(&b)
	for _, name := range slices.Sorted(maps.Keys(s.Defs)) {
		if def := s.Defs[name]; len(def.Properties) > 0 {
			fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", name, def.Description)
			def.members(&b)
		}
	}
	b.WriteString("\n## Rules\n\n")
	for _, rule := range rulesOf(t) {
		fmt.Fprintf(&b, "- %s\n", rule)
	}
	return b.String()
}

// schemaText holds the parts of a generated JSON Schema that [Doc] reads.
type schemaText struct {
	Description string                `json:"description"`
	Ref         string                `json:"$ref"`
	Type        any                   `json:"type"`
	Const       string                `json:"const"`
	Format      string                `json:"format"`
	Unit        string                `json:"unit"`
	Items       *schemaText           `json:"items"`
	Values      *schemaText           `json:"additionalProperties"`
	Required    []string              `json:"required"`
	Properties  map[string]schemaText `json:"properties"`
	Defs        map[string]schemaText `json:"$defs"`
}

// members writes one line per member, with the required members first.
func (s *schemaText) members(b *strings.Builder) {
	names := slices.SortedFunc(maps.Keys(s.Properties), func(x, y string) int {
		if a, b := slices.Contains(s.Required, x), slices.Contains(s.Required, y); a != b {
			if a {
				return -1
			}
			return 1
		}
		return strings.Compare(x, y)
	})
	width := 0
	for _, name := range names {
		width = max(width, len(name))
	}
	for _, name := range names {
		p, mark := s.Properties[name], " "
		if slices.Contains(s.Required, name) {
			mark = "*"
		}
		kind := p.kind()
		if p.Unit != "" {
			kind += " (" + p.Unit + ")"
		}
		fmt.Fprintf(b, "    %s %-*s  %-22s  %s\n", mark, width, name, kind, p.Description)
	}
}

// kind names the type of a value.
func (s *schemaText) kind() string {
	switch {
	case s.Const != "":
		return `"` + s.Const + `"`
	case s.Ref == "#/$defs/Ref":
		return "reference"
	case s.Ref != "":
		return strings.TrimPrefix(s.Ref, "#/$defs/")
	case s.Format == "date-time":
		return "time"
	case s.Items != nil:
		return "list of " + s.Items.kind()
	case s.Values != nil:
		return "object of " + s.Values.kind()
	case s.Type == nil:
		return "any"
	}
	return fmt.Sprint(s.Type)
}

// rulesOf returns the rules that [Validate] checks for a type in addition to the schema.
func rulesOf(t Type) []string {
	rules := []string{
		fmt.Sprintf("data has at most %d bytes and %d levels; attributes and ids have at most %d bytes", MaxEventBytes, MaxDepth, MaxIDBytes),
		"the event has a time, no name occurs twice, and text is valid UTF-8",
		"no member declares the status of a turn, task, run, step, tool call or approval (rule 1)",
		"a correlation id at the top level of data equals the id in the attributes (rule 6)",
		"required texts, reasons, policies, owners, references, ids and sources are not blank",
		"a digest that begins with hmac-sha256: has a key id and 64 lower-case hexadecimal digits",
		"no record is its own source, parent, cause or replacement",
		"source is a URI-reference, dataschema and subject are those of the type and the record, data is JSON in UTF-8, times have the form of RFC 3339",
	}
	fact := t.New()
	switch fact.(type) {
	case *SelectionCompleted:
		rules = append(rules, "each candidate is either selected or omitted, each omission has a reason, and part is from 1 to parts (rule 4)")
	case *RedactionRevoked:
		rules = append(rules, "policy_refs and a reason are present (rule 5)")
	case *RedactionApplied:
		rules = append(rules, "policy_refs and a reason are present (rule 5)", "a fingerprint has its exact form; one of a word of the contract is refused")
	case *InjectionApplied, *AssemblyCreated, *ItemAdded, *ItemUpdated:
		rules = append(rules, "content and parts are absent if redaction_state is removed or policy_blocked (rule 5)")
	case *MissingDetected, *MissingRequested:
		rules = append(rules, "question, requested_from, requested_action and user_summary are present")
	case *PressureApplied:
		rules = append(rules, "step is from 1 to 5")
	case *EnvelopeCreated, *FactsDropped:
		rules = append(rules, "ranges are closed, in order and without overlap")
	}
	if _, ok := fact.(interface{ known() *Known }); ok {
		rules = append(rules, "fidelity and coverage have a word of their vocabulary, and coverage_reasons say why a coverage is partial")
	}
	if _, ok := fact.(*AssemblyCreated); ok {
		rules = append(rules, "base_assembly_id and keep are present together; keep is at most the number of blocks of the base, and a chain of bases has at most 64 assemblies")
	}
	switch c := concernsOf(fact); {
	case c.missing:
		rules = append(rules, "no member grants or implies a permission (rule 2)")
	case c.compaction:
		rules = append(rules, "source_item_refs or source_window names the replaced items, and no member marks the summary as an answer (rule 3)")
	case c.summary:
		rules = append(rules, "source_item_refs or covers_through_position names the covered items, and no member marks the summary as an answer (rule 3)")
	}
	return rules
}
