package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// The schemas and Validate differ in these points:
//
//   - null is an absent member in Go. The schemas refuse null where the type is known; other
//     languages should send no null;
//   - JSON Schema compares values and not their text: 1.0 and 1e3 are integers, and a number beyond
//     64 bits is a number. It does not detect duplicate names;
//   - format date-time accepts a leap second, which a Go time cannot represent.
//
// Only Validate checks the boundary rules, the limits of bytes and depth, and the rules between
// members.

// structureOf reports whether e has a valid structure, by the parts of Validate that the schemas
// describe: types, required fields and counts.
func structureOf(e *Event) (holds, valid bool) {
	fact, found := Validate(e)
	if fact == nil {
		return false, false
	}
	bad := append(checkRequired(fact), checkCounts(fact)...)
	return len(bad) == 0 && fact.Base().Kind == fact.EventType(), len(found) == 0
}

// TestSchemasAgreeWithValidate compares the generated schemas with the Go types and checks. An
// independent engine validates golden events with changed members at any depth.
func TestSchemasAgreeWithValidate(t *testing.T) {
	t.Parallel()
	compiled := make(map[Type]*jsonschema.Schema)
	for _, kind := range Types() {
		compiled[kind] = compileSchema(t, kind)
	}
	var accepted, refused int
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(Types()).Draw(t, "type")
		e := mutated(t, kind)
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(e.Data)))
		if err != nil || strings.Contains(string(e.Data), "null") || duplicated(e) {
			return
		}
		bySchema := compiled[kind].Validate(value)
		holds, valid := structureOf(e)
		switch {
		case valid && bySchema != nil:
			t.Fatalf("valid, and the schema refuses it: %v\n%s", bySchema, e.Data)
		case holds && bySchema != nil && !onlyRules(e):
			t.Fatalf("the structure holds, and the schema refuses it: %v\n%s", bySchema, e.Data)
		case !holds && bySchema == nil && !numbersOfText(e):
			_, found := Validate(e)
			t.Fatalf("the schema takes it, and the structure does not hold: %v\n%s", found, e.Data)
		case bySchema == nil:
			accepted++
		default:
			refused++
		}
	})
	if !testing.Short() && (accepted < 20 || refused < 10) {
		t.Errorf("%d accepted and %d refused: too few to mean anything", accepted, refused)
	}
}

// duplicated reports whether the only fault is invisible in a JSON value.
func duplicated(e *Event) bool {
	_, err := contract.decode(e, Type.New)
	v, _ := err.(*Violation)
	return v != nil && v.Code == CodeMalformed
}

// numbersOfText reports whether the text has a number that is an integer or a number only by its
// value.
func numbersOfText(e *Event) bool {
	return slices.ContainsFunc([]string{"1.0", "1e3", "-0", "1e400", "9223372036854775808"}, func(n string) bool { return strings.Contains(string(e.Data), n) })
}

// onlyRules reports whether Validate refuses the ranges of a scope, which the schema describes by
// the limits of their numbers.
func onlyRules(e *Event) bool {
	_, found := Validate(e)
	return slices.ContainsFunc(found, func(v *Violation) bool { return strings.Contains(v.Pointer, "/ranges/") })
}
