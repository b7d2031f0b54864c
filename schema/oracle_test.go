package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// Where the schemas and Validate differ, and why:
//
//   - null stands for an absent member in Go and is refused by the schemas
//     where the type is known, which is what other languages should send;
//   - JSON Schema knows values and not their text: a whole number written as
//     1.0 or 1e3 is an integer there, a number beyond 64 bits is a number, and
//     duplicate names are not seen at all;
//   - format date-time takes a leap second, which Go has no time for.
//
// The boundary rules, the limits of bytes and depth, and rules between members
// are Validate's alone.

// structureOf says whether the structure of e holds, by the part of Validate
// that the schemas describe: types, required fields and counts.
func structureOf(e *Event) (holds, valid bool) {
	fact, found := Validate(e)
	if fact == nil {
		return false, false
	}
	bad := append(checkRequired(fact), checkCounts(fact)...)
	return len(bad) == 0 && fact.Base().Kind == fact.EventType(), len(found) == 0
}

// TestSchemasAgreeWithValidate holds the generated schemas, by an independent
// engine, to what the Go types and checks accept and refuse, over golden
// events with members changed at any depth.
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

// duplicated reports whether the only thing wrong is what a JSON value does
// not show.
func duplicated(e *Event) bool {
	_, err := contract.decode(e, Type.New)
	v, _ := err.(*Violation)
	return v != nil && v.Code == CodeMalformed
}

// numbersOfText reports whether the text has one of the numbers that are an
// integer or a number only by their value.
func numbersOfText(e *Event) bool {
	return slices.ContainsFunc([]string{"1.0", "1e3", "-0", "1e400", "9223372036854775808"}, func(n string) bool { return strings.Contains(string(e.Data), n) })
}

// onlyRules reports whether Validate has something against the ranges of a
// scope, which the schema says as the limits of their numbers.
func onlyRules(e *Event) bool {
	_, found := Validate(e)
	return slices.ContainsFunc(found, func(v *Violation) bool { return strings.Contains(v.Pointer, "/ranges/") })
}
