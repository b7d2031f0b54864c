package sdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/schema"
)

// Files returns the generated files, by path below this folder.
func Files() map[string][]byte {
	return map[string][]byte{
		"typescript/facts.d.ts": TypeScript(), "typescript/contract.js": JavaScriptContract(),
		"python/ctxledger/facts.py": Python(), "python/ctxledger/contract.py": PythonContract(),
	}
}

// TypeScript returns the types of all facts as TypeScript declarations. A definition that
// several facts share is declared once.
func TypeScript() []byte {
	var b strings.Builder
	b.WriteString("// Generated from the JSON Schemas of the contract by `go generate ./producer/sdk`. Do not edit.\n")
	shared := make(map[string]shape)
	var names []schema.Type
	for _, t := range schema.Types() {
		fact := schemaOf(t)
		maps.Copy(shared, fact.Defs)
		names = append(names, t)
		fmt.Fprintf(&b, "\n%s", declaration(typeName(string(t)), fact))
	}
	for _, name := range slices.Sorted(maps.Keys(shared)) {
		fmt.Fprintf(&b, "\n%s", declaration(name, shared[name]))
	}
	b.WriteString("\n/** The data of each event type, by the type's name. */\nexport interface Facts {\n")
	for _, t := range names {
		fmt.Fprintf(&b, "  %q: %s;\n", t, typeName(string(t)))
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

// shape is the part of a JSON Schema that types need.
type shape struct {
	Ref         string           `json:"$ref"`
	Defs        map[string]shape `json:"$defs"`
	Description string           `json:"description"`
	Type        any              `json:"type"`
	Const       any              `json:"const"`
	Enum        []any            `json:"enum"`
	Properties  map[string]shape `json:"properties"`
	Required    []string         `json:"required"`
	Items       *shape           `json:"items"`
	AnyOf       []shape          `json:"anyOf"`
	OneOf       []shape          `json:"oneOf"`
}

func schemaOf(t schema.Type) (n shape) {
	if err := json.Unmarshal(schema.JSONSchema(t), &n); err != nil {
		panic(fmt.Sprintf("the schema of %s: %v", t, err)) // the schema is part of this program
	}
	return n
}

// typeName returns the name of a fact's type: context.item.added becomes ItemAdded.
func typeName(name string) string {
	var b strings.Builder
	for _, word := range strings.Split(strings.TrimPrefix(name, "context."), ".") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

func declaration(name string, n shape) string {
	about := comment("", n.Description)
	if n.Properties == nil {
		return about + "export type " + name + " = " + typeOf(n) + ";\n"
	}
	return about + "export interface " + name + " " + members(n, "") + "\n"
}

func comment(indent, text string) string {
	if text == "" {
		return ""
	}
	return indent + "/** " + strings.ReplaceAll(text, "*/", "*\\/") + " */\n"
}

// members returns the body of an interface.
func members(n shape, indent string) string {
	var b strings.Builder
	b.WriteString("{\n")
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		p := n.Properties[name]
		optional := "?"
		if slices.Contains(n.Required, name) && name != "event_type" && name != "schema_version" {
			optional = ""
		}
		fmt.Fprintf(&b, "%s%s  %s%s: %s;\n", comment(indent+"  ", p.Description), indent, name, optional, typeOf(p))
	}
	b.WriteString(indent + "}")
	return b.String()
}

func typeOf(n shape) string {
	choices := n.AnyOf
	if choices == nil {
		choices = n.OneOf
	}
	switch {
	case n.Ref != "":
		return n.Ref[strings.LastIndexByte(n.Ref, '/')+1:]
	case n.Const != nil:
		return literal(n.Const)
	case n.Enum != nil:
		return union(n.Enum, literal)
	case choices != nil:
		return union(choices, typeOf)
	}
	switch t := n.Type.(type) {
	case []any:
		return union(t, func(one any) string { return typeOf(shape{Type: one, Items: n.Items}) })
	case string:
		switch t {
		case "integer", "number":
			return "number"
		case "string", "boolean", "null":
			return t
		case "array":
			if n.Items != nil {
				return "Array<" + typeOf(*n.Items) + ">"
			}
			return "Array<unknown>"
		case "object":
			if n.Properties != nil {
				return members(n, "  ")
			}
			return "Record<string, unknown>"
		}
	}
	return "unknown"
}

func literal(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "unknown"
	}
	return string(text)
}

// union joins the distinct types of a list.
func union[T any](list []T, one func(T) string) string {
	var all []string
	for _, value := range list {
		if text := one(value); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, " | ")
}
