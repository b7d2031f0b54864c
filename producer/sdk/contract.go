package sdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/schema"
)

// recordMember returns the member of a fact's data that is the id of its record.
func recordMember(t schema.Type) string {
	for _, name := range slices.Sorted(maps.Keys(schemaOf(t).Properties)) {
		fact := t.New()
		if json.Unmarshal([]byte(`{"`+name+`":"x"}`), fact) == nil && fact.RecordID() == "x" {
			return name
		}
	}
	panic(fmt.Sprintf("%s has no member for its record's id", t)) // the contract is part of this program
}

// recordMembers returns an object of names: the member for each event type.
func recordMembers() string {
	var b strings.Builder
	b.WriteString("{\n")
	for _, t := range schema.Types() {
		fmt.Fprintf(&b, "  %q: %q,\n", t, recordMember(t))
	}
	return b.String() + "}"
}

// words returns a list of texts: the words of the contract.
func words() string {
	var b strings.Builder
	b.WriteString("[\n")
	for line := range strings.Lines(string(schema.Words())) {
		b.WriteString("  " + literal(strings.TrimSuffix(line, "\n")) + ",\n")
	}
	return b.String() + "]"
}

// JavaScriptContract returns the tables of the contract that the TypeScript SDK needs at run time.
func JavaScriptContract() []byte {
	return []byte("// Generated from the contract by `go generate ./producer/sdk`. Do not edit.\n\n" +
		"/** The member of a fact's data that is the id of its record. */\nexport const recordMembers = " + recordMembers() + ";\n\n" +
		"/** The words of the contract, a line each. They are not withheld. */\nexport const words = " + words() + ".join(\"\\n\");\n")
}

// PythonContract returns the tables of the contract that the Python SDK needs at run time.
func PythonContract() []byte {
	return []byte("# Generated from the contract by `go generate ./producer/sdk`. Do not edit.\n\n" +
		"# The member of a fact's data that is the id of its record.\nRECORD_MEMBERS = " + recordMembers() + "\n\n" +
		"# The words of the contract, a line each. They are not withheld.\nWORDS = \"\\n\".join(" + words() + ")\n")
}
