package schema

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/schema/internal/schematest"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// sameAsStrict compares the result of the one-pass reader with the decoder, the walk and the
// counts.
func sameAsStrict(t interface{ Fatalf(string, ...any) }, e *Event) (fast bool) {
	fact, fast := readFact(e)
	if !fast {
		return false
	}
	want, err := contract.decode(e, Type.New)
	if err != nil {
		t.Fatalf("the decoder refuses: %v\n%s", err, e.Data)
	}
	if !reflect.DeepEqual(fact, want) {
		t.Fatalf("got  %+v\nwant %+v\n%s", fact, want, e.Data)
	}
	if found := append(checkMembers(e, want), checkCounts(want)...); len(found) > 0 {
		t.Fatalf("%v\n%s", found, e.Data)
	}
	return true
}

// TestGoldenEventsAreReadInOnePass checks that the one-pass reader accepts the golden events,
// with the result of the decoder.
func TestGoldenEventsAreReadInOnePass(t *testing.T) {
	t.Parallel()
	for _, kind := range Types() {
		e := goldenEvent(t, kind)
		if !sameAsStrict(t, e) {
			t.Errorf("%s: not fast", kind)
		}
		if err := (*jsontext.Value)(&e.Data).Compact(); err != nil || !sameAsStrict(t, e) {
			t.Errorf("%s: not fast when compact, %v", kind, err)
		}
	}
}

// TestReadFilled compares the readers on facts with every field set.
func TestReadFilled(t *testing.T) {
	t.Parallel()
	for _, kind := range Types() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			fast := 0
			rapid.Check(t, func(t *rapid.T) {
				fact := kind.New()
				f := schematest.Filler{T: t}
				f.Fill(reflect.ValueOf(fact).Elem())
				e, err := NewEvent(fact, "id", "urn:x", schematest.EventTime, Correlation{})
				if err != nil {
					t.Fatal(err)
				}
				if sameAsStrict(t, e) {
					fast++
				}
			})
			if fast == 0 && kind != TypeMissingDetected {
				t.Log("never fast")
			}
		})
	}
}

// TestReadMutated compares the readers on golden events with changed, added or removed members at
// any depth, and with changed bytes.
func TestReadMutated(t *testing.T) {
	t.Parallel()
	for _, kind := range Types() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { mutatedBytes(t, mutated(t, kind)) })
		})
	}
}

// mutatedBytes compares the readers on e, and again after each of a few changed bytes.
func mutatedBytes(t *rapid.T, e *Event) {
	sameAsStrict(t, e)
	for range rapid.IntRange(0, 3).Draw(t, "bytes") {
		at := rapid.IntRange(0, len(e.Data)-1).Draw(t, "at")
		with := []byte(rapid.SampledFrom([]string{"", `"`, `\`, "{", "}", "[", "]", ",", ":", " ", "0", "-", ".", "e", "null", "\xff", "\x00", "é", `\u0041`, `\ud800`}).Draw(t, "with"))
		e.Data = append(append(bytes.Clone(e.Data[:at]), with...), e.Data[at+rapid.IntRange(0, 1).Draw(t, "instead"):]...)
		if len(e.Data) == 0 {
			return
		}
		sameAsStrict(t, e)
	}
}

// mutations are what a member may become.
var mutations = []string{`null`, `""`, `"x"`, `"{"`, `"\u00e9\n"`, `"completed"`, `"granted"`, `"final_answer"`, `"turn-9"`, `"2026-03-02T09:00:00Z"`, `"2026-03-02T09:00:00,5Z"`,
	`0`, `-0`, `-1`, `1.0`, `1.5`, `1e3`, `1e400`, `01`, `9223372036854775807`, `9223372036854775808`, `true`, `false`,
	`[]`, `[null]`, `["x"]`, `["x",{"id":"y"}]`, `[{}]`, `[1,2]`, `[[0,1]]`, `[[0,1,2]]`, `[[5,1]]`,
	`{}`, `{"id":"x"}`, `{ "id" : "x" }`, `{"a":1,"a":2}`, `{"a":[{"b":null}]}`, `{"status":"completed"}`, `{"turn_status":"x"}`, `{"approved":true}`, `{"item_ref":"x","tokens":-1}`}

// mutationNames are names that a member may get beside its own.
var mutationNames = []string{"newer", "turn_id", "resource_id", "turn_status", "status", "approved", "answer", "granted", "metadata", "validation", "content", "content_mode", "event_type", `turn\u005fid`}

// mutated returns the golden event of a type with one or two members changed.
func mutated(t *rapid.T, kind Type) *Event {
	e, err := ParseStructured(Golden(kind))
	if err != nil {
		t.Fatal(err)
	}
	for range rapid.IntRange(1, 2).Draw(t, "changes") {
		e.Data = mutate(t, e.Data)
	}
	return e
}

// mutate changes one member of the object, or of one below it.
func mutate(t *rapid.T, object []byte) []byte {
	var members map[string]jsontext.Value
	if json.Unmarshal(object, &members) != nil || len(members) == 0 {
		return object
	}
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	name := rapid.SampledFrom(names).Draw(t, "member")
	value := []byte(members[name])
	switch rapid.IntRange(0, 4).Draw(t, "change") {
	case 0:
		return rebuilt(members, name, nil)
	case 1, 2:
		if value[0] == '{' {
			return rebuilt(members, name, mutate(t, value))
		}
		if value[0] == '[' {
			var list []jsontext.Value
			if json.Unmarshal(value, &list) == nil && len(list) > 0 {
				i := rapid.IntRange(0, len(list)-1).Draw(t, "element")
				list[i] = mutate(t, list[i])
				if text, err := json.Marshal(list); err == nil {
					return rebuilt(members, name, text)
				}
			}
		}
		return rebuilt(members, name, []byte(rapid.SampledFrom(mutations).Draw(t, "value")))
	case 3:
		return rebuilt(members, name, []byte(rapid.SampledFrom(mutations).Draw(t, "value")))
	}
	added := rapid.SampledFrom(mutationNames).Draw(t, "name")
	text := rapid.SampledFrom(mutations).Draw(t, "value")
	out := bytes.TrimRight(rebuilt(members, "", nil), "}")
	return append(out, `,"`+added+`":`+text+`}`...)
}

// rebuilt writes the members by name, one of them changed, or left out.
func rebuilt(members map[string]jsontext.Value, changed string, value []byte) []byte {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	out := []byte{'{'}
	for _, name := range names {
		text := []byte(members[name])
		if name == changed {
			if text = value; text == nil {
				continue
			}
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, name)
		out = append(append(out, ':'), text...)
	}
	return append(out, '}')
}

// TestReadTimes compares the readers on times near the edges of RFC 3339.
func TestReadTimes(t *testing.T) {
	t.Parallel()
	fast := 0
	for _, text := range []string{
		"2026-03-02T09:00:00Z", "2026-03-02T09:00:00.5Z", "2026-03-02T09:00:00.123456789Z", "2026-03-02T09:00:00.1234567891Z", "2026-03-02T09:00:00,5Z", "2026-03-02T09:00:00.Z",
		"2026-03-02T9:00:00Z", "2026-03-02T09:00Z", "2026-03-02T24:00:00Z", "2026-03-02T23:59:60Z", "2026-02-30T09:00:00Z", "2024-02-29T09:00:00Z",
		"2026-03-02t09:00:00Z", "2026-03-02T09:00:00z", "2026-03-02 09:00:00Z", "2026-03-02T09:00:00+00:00", "2026-03-02T09:00:00+24:00", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z",
		"+026-03-02T09:00:00Z", "2026-03-02T09:00:00.5.5Z", "2026-03-02T09:00:00ZZ", "", "Z",
	} {
		if sameAsStrict(t, withMembers(t, TypeSurfaceUpdated, ms{"expires_at": `"` + text + `"`})) {
			fast++
		}
	}
	if fast < 5 {
		t.Errorf("only %d times were fast", fast)
	}
}

// TestReadMessageOfEveryBeginning: data that ends anywhere is refused, and nothing else happens.
func TestReadMessageOfEveryBeginning(t *testing.T) {
	t.Parallel()
	for _, kind := range Types() {
		e := goldenEvent(t, kind)
		m := e.Binary()
		for end := range len(e.Data) {
			if _, _, found, _ := ReadMessage(m.Header, e.Data[:end]); len(found) == 0 {
				t.Fatalf("%s: %q is accepted", kind, e.Data[:end])
			}
		}
	}
}
