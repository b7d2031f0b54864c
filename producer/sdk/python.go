package sdk

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/schema"
)

// Python returns the types of all facts as typed dictionaries. A definition that several facts
// share is declared once. Required members are in a base class, as Python 3.10 needs it.
func Python() []byte {
	var b, all, names strings.Builder
	b.WriteString("# Generated from the JSON Schemas of the contract by `go generate ./producer/sdk`. Do not edit.\n")
	b.WriteString("from __future__ import annotations\n\nfrom typing import Any, List, Literal, Mapping, TypedDict, Union\n")
	shared := make(map[string]shape)
	for _, t := range schema.Types() {
		fact := schemaOf(t)
		maps.Copy(shared, fact.Defs)
		b.WriteString(pythonType(typeName(string(t)), fact))
		fmt.Fprintf(&all, "    %q,\n", t)
		fmt.Fprintf(&names, "    %s,\n", typeName(string(t)))
	}
	for _, name := range slices.Sorted(maps.Keys(shared)) {
		b.WriteString(pythonType(name, shared[name]))
	}
	b.WriteString("\n\n# The names of the event types.\nEventType = Literal[\n" + all.String() + "]\n")
	b.WriteString("\n# The data of an event type.\nFact = Union[\n" + names.String() + "]\n")
	return []byte(b.String())
}

func pythonType(name string, n shape) string {
	if n.Properties == nil {
		return "\n\n" + pythonComment("", n.Description) + name + " = " + pythonOf(n) + "\n"
	}
	var required, optional strings.Builder
	for _, member := range slices.Sorted(maps.Keys(n.Properties)) {
		p, to := n.Properties[member], &optional
		if slices.Contains(n.Required, member) && member != "event_type" && member != "schema_version" {
			to = &required
		}
		to.WriteString(pythonComment("    ", p.Description) + "    " + member + ": " + pythonOf(p) + "\n")
	}
	about := "    " + fmt.Sprintf("%q", n.Description) + "\n\n"
	if n.Description == "" {
		about = ""
	}
	if required.Len() == 0 {
		return "\n\nclass " + name + "(TypedDict, total=False):\n" + about + optional.String()
	}
	return "\n\nclass _" + name + "(TypedDict):\n" + required.String() + "\n\nclass " + name + "(_" + name + ", total=False):\n" + about + optional.String()
}

func pythonComment(indent, text string) string {
	if text == "" {
		return ""
	}
	return indent + "# " + strings.ReplaceAll(text, "\n", " ") + "\n"
}

func pythonOf(n shape) string {
	choices := n.AnyOf
	if choices == nil {
		choices = n.OneOf
	}
	switch {
	case n.Ref != "":
		return fmt.Sprintf("%q", n.Ref[strings.LastIndexByte(n.Ref, '/')+1:])
	case n.Const != nil:
		return "Literal[" + pythonLiteral(n.Const) + "]"
	case n.Enum != nil:
		return "Literal[" + strings.ReplaceAll(union(n.Enum, pythonLiteral), " | ", ", ") + "]"
	case choices != nil:
		return pythonUnion(union(choices, pythonOf))
	}
	switch t := n.Type.(type) {
	case []any:
		return pythonUnion(union(t, func(one any) string { return pythonOf(shape{Type: one, Items: n.Items}) }))
	case string:
		switch t {
		case "integer":
			return "int"
		case "number":
			return "float"
		case "string":
			return "str"
		case "boolean":
			return "bool"
		case "null":
			return "None"
		case "array":
			if n.Items != nil {
				return "List[" + pythonOf(*n.Items) + "]"
			}
			return "List[Any]"
		case "object":
			return "Mapping[str, Any]"
		}
	}
	return "Any"
}

func pythonLiteral(value any) string {
	switch value {
	case true:
		return "True"
	case false:
		return "False"
	}
	return literal(value)
}

// pythonUnion writes the types of a list that union has joined.
func pythonUnion(joined string) string {
	if !strings.Contains(joined, " | ") {
		return joined
	}
	return "Union[" + strings.ReplaceAll(joined, " | ", ", ") + "]"
}
