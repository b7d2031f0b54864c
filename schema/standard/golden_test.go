package standard

import (
	"testing"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/internal/schematest"
)

type ms = map[string]string

// goldenEvent parses the golden event of a type.
func goldenEvent(t testing.TB, kind schema.Type) *schema.Event {
	t.Helper()
	e, err := schema.ParseStructured(schema.Golden(kind))
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	return e
}

// withMembers returns the golden event of a type with members set in its data.
func withMembers(t testing.TB, kind schema.Type, members ms) *schema.Event {
	t.Helper()
	e := goldenEvent(t, kind)
	e.Data = schematest.SetMembers(t, e.Data, members)
	return e
}
