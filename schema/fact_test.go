package schema

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/schema/internal/schematest"
	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"
)

func TestTypesAndFactories(t *testing.T) {
	t.Parallel()
	if n := len(Types()); n != 39 {
		t.Errorf("%d types; a new one needs a golden event and a line in events.md", n)
	}
	for _, kind := range Types() {
		fact := kind.New()
		if fact.EventType() != kind || !kind.Known() {
			t.Errorf("%s: the factory makes a %s", kind, fact.EventType())
		}
		back, err := ParseCloudEventsType(kind.CloudEventsType())
		if err != nil || back != kind {
			t.Errorf("%s: %s, %v", kind, back, err)
		}
		if object, verb := kind.ObjectVerb(); object == "" || verb == "" || strings.Contains(verb, ".") {
			t.Errorf("%s: object %q, verb %q", kind, object, verb)
		}
	}
	if Type("context.nothing.happened").New() != nil {
		t.Error("a fact of an unknown type")
	}
	for _, bad := range []string{"", "dev.ctxledger..v1", "dev.ctxledger.v1", "context.exported", "dev.ctxledger.context.exported.v2", "dev.ctxledger.context.exported"} {
		if got, err := ParseCloudEventsType(bad); err == nil {
			t.Errorf("%q parsed as %q", bad, got)
		}
	}
}

func TestEncodeDecodeEncode(t *testing.T) {
	t.Parallel()
	for _, kind := range Types() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				fact := kind.New()
				f := schematest.Filler{T: t}
				f.Fill(reflect.ValueOf(fact).Elem())
				if fact.RecordID() == "" {
					t.Fatal("a filled fact without a record id")
				}
				first, err := NewEvent(fact, "id", "urn:x", schematest.EventTime, Correlation{})
				if err != nil {
					t.Fatal(err)
				}
				back, err := first.Decode()
				if err != nil {
					t.Fatalf("%v\n%s", err, first.Data)
				}
				second, err := NewEvent(back, "id", "urn:x", schematest.EventTime, Correlation{})
				if err != nil || !bytes.Equal(first.Data, second.Data) {
					t.Fatalf("%v\n%s\n%s", err, first.Data, second.Data)
				}
				if err := json.Unmarshal(first.Data, kind.New(), json.RejectUnknownMembers(true)); err != nil {
					t.Fatal(err)
				}
				for _, v := range checkRequired(fact) {
					if v.Code == CodeRequired {
						t.Fatalf("%v on a filled fact", v)
					}
				}
			})
		})
	}
}

// TestUnknownIsNotZero checks that unknown values differ from zero, for every optional number and
// boolean of every type.
func TestUnknownIsNotZero(t *testing.T) {
	t.Parallel()
	for _, kind := range Types() {
		fact := kind.New()
		v := reflect.ValueOf(fact).Elem()
		for _, field := range reflect.VisibleFields(v.Type()) {
			if field.Type.Kind() != reflect.Pointer || field.Type.Elem().Kind() == reflect.Struct {
				continue
			}
			v.FieldByIndex(field.Index).Set(reflect.New(field.Type.Elem()))
			text, err := json.Marshal(fact)
			if err != nil {
				t.Fatal(err)
			}
			back := kind.New()
			if err := json.Unmarshal(text, back); err != nil {
				t.Fatal(err)
			}
			if reflect.ValueOf(back).Elem().FieldByIndex(field.Index).IsNil() {
				t.Errorf("%s: a zero %s came back as unknown from %s", kind, field.Name, text)
			}
		}
	}
}

func TestRequiredFields(t *testing.T) {
	t.Parallel()
	for _, kind := range Types() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			empty := kind.New()
			want := make(map[string]bool)
			for _, f := range reflect.VisibleFields(reflect.TypeOf(empty).Elem()) {
				if f.Tag.Get("ctx") == "required" {
					want["/data/"+jsonName(f)] = true
				}
			}
			if len(want) == 0 {
				t.Fatal("a type without any required field")
			}
			e := &Event{ID: "i", Source: "urn:x", Type: kind.CloudEventsType(), Time: schematest.EventTime, Data: []byte(`{"event_type":"` + kind + `"}`)}
			_, found := Validate(e)
			for _, v := range found {
				if v.Code == CodeRequired {
					delete(want, v.Pointer)
				}
			}
			if len(want) > 0 {
				t.Errorf("not reported: %v", want)
			}
			// One at a time: the golden event without that field.
			for _, f := range reflect.VisibleFields(reflect.TypeOf(empty).Elem()) {
				if f.Tag.Get("ctx") != "required" {
					continue
				}
				fact, err := goldenEvent(t, kind).Decode()
				if err != nil {
					t.Fatal(err)
				}
				reflect.ValueOf(fact).Elem().FieldByIndex(f.Index).SetZero()
				if found := checkRequired(fact); len(found) != 1 || found[0].Pointer != "/data/"+jsonName(f) {
					t.Errorf("without %s: %v", f.Name, found)
				}
			}
		})
	}
}

// TestNegativeCounts makes each number of each golden event negative.
func TestNegativeCounts(t *testing.T) {
	t.Parallel()
	total := 0
	for _, kind := range Types() {
		fact, err := goldenEvent(t, kind).Decode()
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range intFields(reflect.ValueOf(fact).Elem()) {
			total++
			old := set.Int()
			set.SetInt(-7)
			found := checkCounts(fact)
			if len(found) != 1 || found[0].Code != CodeRange || found[0].Found != "-7" {
				t.Errorf("%s: %v", kind, found)
			}
			set.SetInt(old)
		}
	}
	if total < 60 {
		t.Errorf("only %d numbers in the golden events", total)
	}
	step := int64(-1)
	fact := &UsageRecorded{CallID: "c", Layers: []LayerUsage{{Layer: "a"}, {Layer: "b", Tokens: &step}}}
	if found := checkCounts(fact); len(found) != 1 || found[0].Pointer != "/data/layers/1/tokens" {
		t.Errorf("%v", found)
	}
}

func intFields(v reflect.Value) (found []reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				found = append(found, intFields(v.Field(i))...)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			found = append(found, intFields(v.Index(i))...)
		}
	case reflect.Pointer:
		return intFields(v.Elem())
	case reflect.Int64:
		return []reflect.Value{v}
	}
	return found
}
