package schema

import (
	"reflect"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/schema/internal/schematest"
)

func TestDoc(t *testing.T) {
	t.Parallel()
	for _, kind := range Types() {
		text := Doc(kind)
		for _, f := range reflect.VisibleFields(reflect.TypeOf(kind.New()).Elem()) {
			if f.Anonymous {
				continue
			}
			mark := "  "
			if f.Tag.Get("ctx") == "required" || jsonName(f) == "event_type" {
				mark = "* "
			}
			if !strings.Contains(text, "\n    "+mark+jsonName(f)+" ") {
				t.Errorf("%s: nothing of %s, marked %q", kind, jsonName(f), mark)
			}
		}
		for _, part := range []string{kind.CloudEventsType(), kind.DataSchema(), "rule 1", "rule 6"} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: nothing of %s", kind, part)
			}
		}
		if strings.Contains(text, "map[") || strings.Contains(text, "%!") {
			t.Errorf("%s:\n%s", kind, text)
		}
	}
	if Doc("context.nothing.happened") != "" {
		t.Error("an unknown type is described")
	}
	schematest.HoldToFile(t, "testdata/doc.txt", Doc(TypeSelectionCompleted))
}
