package schema

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/types"
	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/schema/internal/schematest"
)

// codes returns the codes of a Validate in order.
func codes(found Violations) string {
	var list []string
	for _, v := range found {
		list = append(list, string(v.Code)+" "+v.Pointer)
	}
	return strings.Join(list, "\n")
}

func exported(data string) *Event {
	return &Event{ID: "i", Source: "urn:x", Type: TypeExported.CloudEventsType(), Time: schematest.EventTime, Data: []byte(data)}
}

const good = `"schema_version":"0.1.0","event_type":"context.exported","pack_id":"p","scope":"turn"`

func TestValidateData(t *testing.T) {
	t.Parallel()
	nested := func(open, end string, n int) string {
		return "{" + good + `,"x":` + strings.Repeat(open, n) + "1" + strings.Repeat(end, n) + "}"
	}
	for _, c := range []struct{ name, data, want string }{
		{"good", "{" + good + "}", ""},
		{"unknown members are kept", "{" + good + `,"newer":{"a":[1,2]}}`, ""},
		{"white space around", " \n{" + good + "}\t", ""},
		{"nothing", ``, "malformed /data"},
		{"null", `null`, "id_mismatch /data/event_type\nrequired /data/pack_id\nrequired /data/scope"},
		{"an array", `[]`, "type /data"},
		{"a number", `1`, "type /data"},
		{"two values", "{" + good + "}{}", "malformed /data"},
		{"cut short", "{" + good, "malformed /data"},
		{"duplicate key", "{" + good + `,"pack_id":"q"}`, "malformed /data/pack_id"},
		{"duplicate key, escaped", "{" + good + `,"pack\u005fid":"q"}`, "malformed /data/pack_id"},
		{"duplicate key in metadata", "{" + good + `,"metadata":{"a":[{"b":1,"b":2}]}}`, "malformed /data/metadata/a/0/b"},
		{"duplicate key in what is unknown", "{" + good + `,"x":{"b":1,"b":2}}`, "malformed /data/x/b"},
		{"invalid UTF-8", "{" + good + ",\"x\":\"\xff\"}", "malformed /data/x"},
		{"invalid UTF-8 in a name", "{" + good + ",\"\xc0\xa0\":1}", "malformed /data"},
		{"a lone surrogate", "{" + good + `,"x":"\ud800"}`, "malformed /data/x"},
		{"a surrogate pair", "{" + good + `,"x":"\ud83d\ude00"}`, ""},
		{"surrogates the wrong way", "{" + good + `,"x":"\ude00\ud83d"}`, "malformed /data/x"},
		{"raw NUL", "{" + good + ",\"x\":\"\x00\"}", "malformed /data/x"},
		{"escaped NUL", "{" + good + `,"x":"\u0000"}`, ""},
		{"NUL in an id", `{"event_type":"context.exported","pack_id":"a\u0000b","scope":"turn"}`, "attribute /data"},
		{"an id of 4 KB", `{"event_type":"context.exported","pack_id":"` + strings.Repeat("a", 4096) + `","scope":"turn"}`, "too_large /data"},
		{"NaN", "{" + good + `,"x":NaN}`, "malformed /data/x"},
		{"infinity", "{" + good + `,"x":-Infinity}`, "malformed /data/x"},
		{"leading zero", "{" + good + `,"x":01}`, "malformed /data"},
		{"a huge number where nobody looks", "{" + good + `,"x":1e999}`, ""},
		{"a huge number in metadata", "{" + good + `,"metadata":{"a":{"b":1e999}}}`, "type /data/metadata/a/b"},
		{"a long number", "{" + good + `,"x":` + strings.Repeat("9", 5000) + `}`, ""},
		{"comments", "{" + good + `/**/}`, "malformed /data"},
		{"64 levels", nested("[", "]", MaxDepth-1), ""},
		{"65 levels", nested("[", "]", MaxDepth), "too_deep /data"},
		{"65 levels of objects", nested(`{"a":`, "}", MaxDepth), "too_deep /data"},
		{"30000 levels", nested("[", "]", 30000), "malformed /data/x" + strings.Repeat("/0", 9999)},
		{"wrong type", strings.Replace("{"+good+"}", `"p"`, `5`, 1), "type /data/pack_id"},
		{"64 KiB", "{" + good + `,"x":"` + strings.Repeat("a", MaxEventBytes-len(good)-9) + `"}`, ""},
		{"64 KiB and one", "{" + good + `,"x":"` + strings.Repeat("a", MaxEventBytes-len(good)-8) + `"}`, "too_large /data"},
		{"another event type", strings.Replace("{"+good+"}", "context.exported", "context.other", 1), "id_mismatch /data/event_type"},
		{"names are told apart by case", `{"event_type":"context.exported","Pack_ID":"p","scope":"turn"}`, "required /data/pack_id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, found := Validate(exported(c.data))
			got := codes(found)
			if len(got) > 200 {
				got = got[:200]
			}
			if want := c.want; got != want && !(len(want) > 200 && strings.HasPrefix(got, want[:80])) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			for _, v := range found {
				if len(v.Error()) > 600 {
					t.Errorf("a violation of %d bytes", len(v.Error()))
				}
			}
		})
	}
}

// TestNumbersOutOfRange checks the range of 64-bit integers.
func TestNumbersOutOfRange(t *testing.T) {
	t.Parallel()
	checkRuleCases(t, []ruleCase{
		{"the largest", TypeItemAdded, ms{"byte_size": `9223372036854775807`}, ""},
		{"one more", TypeItemAdded, ms{"byte_size": `9223372036854775808`}, "type /data/byte_size"},
		{"with an exponent", TypeItemAdded, ms{"byte_size": `1e3`}, "type /data/byte_size"},
		{"a fraction", TypeItemAdded, ms{"byte_size": `1.5`}, "type /data/byte_size"},
		{"text", TypeItemAdded, ms{"byte_size": `"5"`}, "type /data/byte_size"},
		{"beyond a float", TypeItemAdded, ms{"priority": `1e400`}, "type /data/priority"},
		{"minus one", TypeItemAdded, ms{"byte_size": `-1`}, "range /data/byte_size"},
		{"null is unknown", TypeItemAdded, ms{"byte_size": `null`}, ""},
		{"no time", TypeSurfaceUpdated, ms{"expires_at": `"soon"`}, "type /data/expires_at"},
	})
}

// TestViolationsQuoteNoValue puts a secret into wrong places and checks that no violation quotes
// it.
func TestViolationsQuoteNoValue(t *testing.T) {
	t.Parallel()
	const secret = "sk-live-51H8"
	for _, members := range []ms{
		{"expires_at": `"` + secret + `"`}, {"visibility": `"` + secret + `"`}, {"available_item_refs": `[["` + secret + `"]]`},
		{"metadata": `"` + secret + `"`}, {"surface_id": `["` + secret + `"]`}, {"visibility": `[{"a":"` + secret + `"}]`},
	} {
		_, found := Validate(withMembers(t, TypeSurfaceUpdated, members))
		if len(found) == 0 || strings.Contains(found.Error(), secret) {
			t.Errorf("%v: %v", members, found)
		}
	}
	e := exported("{" + good + `,"x":"` + secret)
	if _, found := Validate(e); len(found) == 0 || strings.Contains(found.Error(), secret) {
		t.Errorf("%v", found)
	}
}

func TestValidateEnvelope(t *testing.T) {
	t.Parallel()
	minus := int64(-1)
	long := strings.Repeat("a", MaxIDBytes+1)
	for _, c := range []struct {
		name   string
		change func(*Event)
		want   string
	}{
		{"nothing at all", func(e *Event) { *e = Event{} }, "required /id\nrequired /source\nrequired /type\nunknown_type /type"},
		{"no time", func(e *Event) { e.Time = time.Time{} }, "required /time"},
		{"a time out of range", func(e *Event) { e.Time = time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC) }, "attribute /time"},
		{"recorded out of range", func(e *Event) { e.RecordedTime = time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC) }, "attribute /recordedtime"},
		{"a negative sequence", func(e *Event) { e.Sequence = &minus }, "attribute /sequence"},
		{"a long id and a long turn", func(e *Event) { e.ID, e.TurnID = long, long }, "too_large /id\ntoo_large /turnid"},
		{"a newline", func(e *Event) { e.DataContentType = "application/json\r\nce-tenant: other" }, "attribute /datacontenttype"},
		{"invalid UTF-8", func(e *Event) { e.Tenant = "\xff" }, "attribute /tenant"},
		{"an extension that stands for a field", func(e *Event) { e.Extensions = map[string]string{"tenant": "other"} }, "attribute /tenant"},
		{"an extension named data", func(e *Event) { e.Extensions = map[string]string{"data": "x"} }, "attribute /data"},
		{"an extension of a bad name", func(e *Event) { e.Extensions = map[string]string{"a_b": "x"} }, "attribute /a_b"},
		{"a long extension", func(e *Event) { e.Extensions = map[string]string{"foo": long} }, "too_large /foo"},
		{"a source that is none", func(e *Event) { e.Source = "1:2" }, "attribute /source"},
		{"a source with half an address", func(e *Event) { e.Source = "http://[::1" }, "attribute /source"},
		{"a path as source", func(e *Event) { e.Source = "/a/b" }, ""},
		{"a tenant that the subject cannot hold", func(e *Event) { e.Tenant = strings.Repeat("é", 43) }, "too_large /tenant"},
		{"a tenant that it just can", func(e *Event) { e.Tenant = strings.Repeat("é", 42) }, ""},
		{"a runtime that it cannot hold", func(e *Event) { e.RuntimeID = strings.Repeat("r", 257) }, "too_large /runtimeid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := exported("{" + good + "}")
			c.change(e)
			if _, found := Validate(e); codes(found) != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", codes(found), c.want)
			}
			if len(c.want) > 0 && strings.HasPrefix(c.want, "attribute") {
				if _, err := e.Structured(); err == nil {
					t.Error("the event was written all the same")
				}
			}
		})
	}
}

func TestValidateReportsEverything(t *testing.T) {
	t.Parallel()
	e := withMembers(t, TypeSelectionCompleted, ms{
		"surface_id": ``, "part": `-1`, "parts": `1`, "turn_id": `"other"`, "x": `{"status":"completed"}`, "omitted_item_refs": `["item-env"]`,
	})
	e.Time, e.Subject = time.Time{}, "a\x00"
	want := `attribute /subject
required /time
required /data/surface_id
range /data/part
id_mismatch /data/turn_id
runtime_status /data/x/status
omission_without_reason /data/omitted_item_refs/0/reason
range /data/part
candidates_not_conserved /data/candidate_item_refs/2`
	for range 20 {
		fact, found := Validate(e)
		if got := codes(found); got != want || fact == nil {
			t.Fatalf("got:\n%s\nwant:\n%s", got, want)
		}
	}
}

func TestUnknownTypeIsKept(t *testing.T) {
	t.Parallel()
	e := exported(`not even JSON`)
	e.Type = "dev.ctxledger.context.item.pinned.v1"
	fact, found := Validate(e)
	if fact != nil || codes(found) != "unknown_type /type" {
		t.Errorf("%v", found)
	}
	if _, err := e.Decode(); !errors.Is(err, ErrUnknownType) {
		t.Error(err)
	}
	sameAgain, err := ParseMessage(e.Binary().Header, e.Binary().Data)
	if err != nil || sameAgain.Digest() != e.Digest() || SubjectOf(e).Object != "item" || SubjectOf(e).Verb != "pinned" {
		t.Errorf("%v", err)
	}
}

func TestParseStructuredRefuses(t *testing.T) {
	t.Parallel()
	const head = `"specversion":"1.0","id":"i","source":"urn:x","type":"t"`
	for _, c := range []struct {
		name, document string
		code           Code
	}{
		{"nothing", ``, CodeNotJSON},
		{"white space", " \n", CodeNotJSON},
		{"text", `hello`, CodeNotJSON},
		{"an array", `[{` + head + `}]`, CodeNotCloudEvent},
		{"a string", `"x"`, CodeNotCloudEvent},
		{"two documents", `{` + head + `}{}`, CodeNotJSON},
		{"trailing text", `{` + head + `} x`, CodeNotJSON},
		{"cut short", `{` + head, CodeNotJSON},
		{"byte order mark", "\ufeff{" + head + "}", CodeNotJSON},
		{"UTF-16", "{\x00\"\x00", CodeNotJSON},
		{"duplicate attribute", `{` + head + `,"id":"j"}`, CodeNotJSON},
		{"duplicate data", `{` + head + `,"data":1,"data":2}`, CodeNotJSON},
		{"duplicate key deep in data", `{` + head + `,"data":{"a":[{"b":1,"\u0062":2}]}}`, CodeNotJSON},
		{"invalid UTF-8 in data", `{` + head + `,"data":"` + "\xff" + `"}`, CodeNotJSON},
		{"a lone surrogate in data", `{` + head + `,"data":"\udc00"}`, CodeNotJSON},
		{"20000 levels", `{` + head + `,"data":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, CodeNotJSON},
		{"no specversion", `{"id":"i","source":"urn:x","type":"t"}`, CodeNotCloudEvent},
		{"null specversion", `{"specversion":null,"id":"i","source":"urn:x","type":"t"}`, CodeAttribute},
		{"specversion as a number", `{"specversion":1.0,"id":"i","source":"urn:x","type":"t"}`, CodeAttribute},
		{"no id", `{"specversion":"1.0","source":"urn:x","type":"t"}`, CodeRequired},
		{"null id", `{"specversion":"1.0","id":null,"source":"urn:x","type":"t"}`, CodeRequired},
		{"an object as attribute", `{` + head + `,"foo":{}}`, CodeAttribute},
		{"an array as attribute", `{` + head + `,"foo":[]}`, CodeAttribute},
		{"a fraction as attribute", `{` + head + `,"foo":1.5}`, CodeAttribute},
		{"a huge number as attribute", `{` + head + `,"foo":1e999}`, CodeAttribute},
		{"camel case", `{` + head + `,"sessionId":"s"}`, CodeAttribute},
		{"an empty name", `{` + head + `,"":"s"}`, CodeAttribute},
		{"NUL in an attribute", `{` + head + `,"foo":"a\u0000"}`, CodeAttribute},
		{"data twice over", `{` + head + `,"data":1,"data_base64":"AA=="}`, CodeNotCloudEvent},
		{"no base64", `{` + head + `,"data_base64":"?"}`, CodeNotCloudEvent},
		{"base64 that is a number", `{` + head + `,"data_base64":12}`, CodeNotCloudEvent},
		{"an object of type text", `{` + head + `,"datacontenttype":"text/plain","data":{}}`, CodeNotCloudEvent},
		{"a time out of range", `{` + head + `,"time":"0001-01-01T00:00:00Z"}`, CodeAttribute},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e, err := ParseStructured([]byte(c.document))
			var v *Violation
			if !errors.As(err, &v) || v.Code != c.code {
				t.Errorf("%v, %v; want %s", e, err, c.code)
			}
		})
	}
}

func TestParseStructuredForms(t *testing.T) {
	t.Parallel()
	document := `{"data": {"b":1, "a":2} ,"foo":true,"bar":-0,"sequence":7,"unset":null,"empty":"","time":"2026-03-02T10:00:00+01:00",` +
		`"type":"t","source":"urn:x","id":"\u0069","specversion":"1.0"}`
	e, err := ParseStructured([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	if string(e.Data) != `{"b":1, "a":2}` || e.ID != "i" || *e.Sequence != 7 || e.DataContentType != "application/json" {
		t.Errorf("%+v", e)
	}
	if len(e.Extensions) != 2 || e.Extensions["foo"] != "true" || e.Extensions["bar"] != "0" {
		t.Errorf("%v", e.Extensions)
	}
	sameInBothModes(t, e)
}

// ReadMessage finds what ParseMessage and Validate find.
func TestReadMessageIsBoth(t *testing.T) {
	t.Parallel()
	read := 0
	for _, kind := range Types() {
		for _, change := range []func(e *Event, header map[string][]string){
			func(*Event, map[string][]string) {},
			func(_ *Event, h map[string][]string) { delete(h, "ce-time") },
			func(_ *Event, h map[string][]string) { h["ce-time"] = []string{"yesterday"} },
			func(_ *Event, h map[string][]string) { h["ce-source"] = []string{"%01 "} },
			func(_ *Event, h map[string][]string) { h["ce-extra"] = []string{"%07"} },
			func(_ *Event, h map[string][]string) { h["ce-turncompleted"] = []string{"yes"} },
			func(_ *Event, h map[string][]string) { h["ce-tenant"] = []string{strings.Repeat("t", MaxIDBytes+1)} },
			func(_ *Event, h map[string][]string) { h["ce-type"] = []string{"org.example.other"} },
			func(_ *Event, h map[string][]string) { delete(h, "ce-specversion") },
			func(e *Event, _ map[string][]string) { e.Data = []byte(`{"a":1,"a":2}`) },
			func(e *Event, _ map[string][]string) { e.Data = []byte(`{}`) },
		} {
			e := goldenEvent(t, kind)
			m := e.Binary()
			change(e, m.Header)
			gotEvent, gotFact, got, unread := ReadMessage(m.Header, e.Data)
			event, err := ParseMessage(m.Header, e.Data)
			if unread != (err != nil) {
				t.Fatalf("%s: unread %v, and the error is %v", kind, unread, err)
			}
			if err != nil {
				if len(got) != 1 || got[0].Error() != err.Error() || gotFact != nil {
					t.Errorf("%s: got %v and %v, want %v", kind, gotFact, got, err)
				}
				continue
			}
			read++
			if fact, want := ValidateRecorded(event); !reflect.DeepEqual(gotEvent, event) || !reflect.DeepEqual(gotFact, fact) || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %v, want %v", kind, got, want)
			}
		}
	}
	if read == 0 {
		t.Error("no message was read")
	}
}

// TestPlainSourcesAreReferences: what the quick test takes for a source, the parser takes, too.
func TestPlainSourcesAreReferences(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		source := "urn:" + rapid.StringMatching(`[a-zA-Z0-9:;=._%/?#-]{0,20}`).Draw(t, "source")
		if plainURN(source) && types.ParseURIRef(source) == nil {
			t.Fatalf("%q is no URI reference", source)
		}
	})
}
