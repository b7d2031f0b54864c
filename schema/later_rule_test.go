package schema

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/schema/internal/schematest"
	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"
)

// A doorCase is a change to a golden event, with the verdict on it.
type doorCase struct {
	name   string
	change func(document map[string]any)
	want   string // code and place; "" for a lawful event
}

// judged returns the codes and places of the violations that only the rules of the door find.
func judged(t *testing.T, document map[string]any) (recorded, all []string) {
	t.Helper()
	text, err := json.Marshal(document, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	e, err := ParseStructured(text)
	if err != nil {
		var v *Violation
		if !errors.As(err, &v) {
			t.Fatal(err)
		}
		found := []string{string(v.Code) + " " + v.Pointer}
		return found, found
	}
	list := func(found Violations) (list []string) {
		for _, v := range found {
			list = append(list, string(v.Code)+" "+v.Pointer)
			if v.Fix == "" || v.Found == "" {
				t.Errorf("%+v says too little", v)
			}
		}
		return list
	}
	_, before := ValidateRecorded(e)
	_, after := Validate(e)
	// The same event in binary mode, read by the other path.
	m := e.Binary()
	binary, fact, found, unread := ReadMessage(m.Header, m.Data)
	if !unread {
		if again := list(CheckDigests(binary, fact, CheckDoor(binary, fact, found))); !slices.Equal(again, list(after)) && !strings.Contains(fmt.Sprint(again, list(after)), "/time") {
			t.Errorf("in binary mode %q, structured %q", again, list(after))
		}
	}
	return list(before), list(after)
}

func documentOf(t *testing.T, kind Type) map[string]any {
	t.Helper()
	var document map[string]any
	if err := json.Unmarshal(Golden(kind), &document); err != nil {
		t.Fatal(err)
	}
	return document
}

func dataOf(document map[string]any) map[string]any { return document["data"].(map[string]any) }

// hiddenBlanks have nothing to read.
var hiddenBlanks = []string{" ", "\t\n", "\u00a0", "\u2003 \u3000", "\u200b\u200d", "\ufeff", "\u2060 ", "\u3164", "\u00ad", "\u202e"}

// lawfulTexts look odd and are texts.
var lawfulTexts = []string{" x", "é", "名", "-", "0", "\u200bx", "🙂"}

// doorCases are the classes of the door, over all types and members. Each is drawn from the golden
// events, so that a new type or member is covered at once.
func doorCases(t *testing.T) map[Type][]doorCase {
	t.Helper()
	cases := make(map[Type][]doorCase)
	turn := 0
	next := func(list []string) string { turn++; return list[turn%len(list)] }
	for _, kind := range Types() {
		add := func(name, want string, change func(map[string]any)) {
			cases[kind] = append(cases[kind], doorCase{name, change, want})
		}
		set := func(attribute string, value any) func(map[string]any) {
			return func(d map[string]any) { d[attribute] = value }
		}
		data := dataOf(documentOf(t, kind))
		for _, name := range slices.Sorted(maps.Keys(data)) {
			value := data[name]
			if !required(kind, name) && !speaks(name) || name == "event_type" || !known(kind, name) {
				continue
			}
			id := name == recordMember(kind)
			switch value.(type) {
			case string:
				text := next(hiddenBlanks)
				want := "required /data/" + name
				switch {
				case strings.ContainsAny(text, "\t\n") && id:
					continue // refused for its control characters
				case correlated(name):
					want = "id_mismatch /data/" + name
				}
				add("blank "+name, want, func(d map[string]any) {
					dataOf(d)[name] = text
					if id {
						d["subject"] = text
					}
				})
				if correlated(name) || id {
					continue
				}
				odd := next(lawfulTexts)
				add("odd "+name, "", func(d map[string]any) { dataOf(d)[name] = odd })
			case []any:
				list := value.([]any)
				if len(list) == 0 || reflect.TypeOf(list[0]).Kind() != reflect.String || strings.Contains(name, "candidate") || strings.Contains(name, "selected") || strings.Contains(name, "omitted") {
					continue
				}
				text := next(append([]string{""}, hiddenBlanks...))
				add("blank in "+name, fmt.Sprintf("required /data/%s/%d", name, len(list)), func(d map[string]any) {
					dataOf(d)[name] = append(slices.Clone(list), text)
				})
			}
		}
		add("another subject", "id_mismatch /subject", set("subject", "another-record"))
		add("no subject", "", func(d map[string]any) { delete(d, "subject") })
		add("another schema", "attribute /dataschema", set("dataschema", next([]string{"urn:ctxledger:schema:context.other:v1", "context", "urn:ctxledger:schema:" + string(kind) + ":v2", "https://example.com/schema", "/relative"})))
		add("no schema", "", func(d map[string]any) { delete(d, "dataschema") })
		add("a source that is no URI", "attribute /source", set("source", next([]string{"a b", "urn:é", "x|y", "<x>", "%zz", "a#b#c", "1:2", "urn:x\\y", "a\"b", "{x}", "%4", "^", "`"})))
		add("a lawful source", "", set("source", next([]string{"/relative/path", "urn:x:%C3%A9", "https://host:8080/a?b=c#d", "a/b:c", "#fragment", "?query", "mailto:x@y", "//host/path"})))
		add("a type that is not JSON", "attribute /datacontenttype", set("datacontenttype", next([]string{"application/json; charset=latin1", "application/json;charset=utf-16", "application/json; charset"})))
		add("a lawful type", "", set("datacontenttype", next([]string{"application/json; charset=UTF-8", "application/vnd.x+json", "Application/JSON", "text/json"})))
		add("a time that is none", "attribute /time", set("time", next([]string{"2026-03-02T9:00:10Z", "2026-03-02T09:00:10,5Z"})))
		add("a lawful time", "", set("time", next([]string{"2026-03-02t09:00:10z", "2026-03-02T09:00:10.123456789+23:59", "2026-03-02t09:00:10.5-00:00", "2026-03-02T09:00:10Z"})))
		add("a non-character", "attribute /"+"tracestate", set("tracestate", "a="+next([]string{"\ufffe", "\uffff", "\ufdd0", "\ufdef", "\U0001fffe", "\U0010ffff"})))
		add("other Unicode", "", set("tracestate", "a="+next([]string{"\ufffd", "\ufdcf", "\ufdf0", "é", "🙂"})))
		add("a non-character in an extension", "attribute /extra", set("extra", "x\ufffe"))
		if kind != TypeScopeOpened {
			add("a run of its own", "own_source /parentrunid", func(d map[string]any) { d["runid"], d["parentrunid"] = "r", "r" })
		}
		add("its own cause", "own_source /causationid", func(d map[string]any) { d["causationid"] = d["id"] })
	}
	return cases
}

func required(kind Type, name string) bool {
	v := reflect.TypeOf(kind.New()).Elem()
	return slices.ContainsFunc(shapeOf(v).required, func(r requirement) bool { return r.pointer == "/data/"+name })
}

func known(kind Type, name string) bool {
	return slices.ContainsFunc(reflect.VisibleFields(reflect.TypeOf(kind.New()).Elem()), func(f reflect.StructField) bool { return jsonName(f) == name })
}

func correlated(name string) bool {
	return slices.ContainsFunc(CorrelationFields, func(f CorrelationField) bool { return f.Column == name && name != "tenant" })
}

// recordMember returns the member with the id of the record.
func recordMember(kind Type) string {
	fact := kind.New()
	v := reflect.ValueOf(fact).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.Type.Kind() != reflect.String || f.Anonymous {
			continue
		}
		field := v.FieldByIndex(f.Index)
		field.SetString("the record")
		is := fact.RecordID() == "the record"
		field.SetString("")
		if is {
			return jsonName(f)
		}
	}
	return ""
}

// TestDoor: every class of the door, in every type and member, has exactly its violation; the rules
// before find none. Lawful events have none.
func TestDoor(t *testing.T) {
	t.Parallel()
	hostile, lawful := 0, 0
	cases := doorCases(t)
	for _, kind := range slices.Sorted(maps.Keys(cases)) {
		for _, c := range cases[kind] {
			document := documentOf(t, kind)
			c.change(document)
			_, got := judged(t, document)
			if strings.Join(got, "\n") != c.want {
				t.Errorf("%s, %s: got %q, want %q", kind, c.name, got, c.want)
			}
			if c.want == "" {
				lawful++
			} else {
				hostile++
			}
		}
	}
	if hostile < 500 || lawful < 200 {
		t.Errorf("%d hostile and %d lawful events", hostile, lawful)
	}
	t.Logf("%d hostile and %d lawful events", hostile, lawful)
}

// TestDoorOfSingleTypes: rules that concern members of single types.
func TestDoorOfSingleTypes(t *testing.T) {
	t.Parallel()
	member := func(name string, value any) func(map[string]any) {
		return func(d map[string]any) { dataOf(d)[name] = value }
	}
	both := func(changes ...func(map[string]any)) func(map[string]any) {
		return func(d map[string]any) {
			for _, change := range changes {
				change(d)
			}
		}
	}
	own := func(name string, wrap func(id string) any, kind Type) func(map[string]any) {
		return func(d map[string]any) { dataOf(d)[name] = wrap(dataOf(d)[recordMember(kind)].(string)) }
	}
	text := func(id string) any { return id }
	list := func(id string) any { return []any{id} }
	object := func(id string) any { return map[string]any{"kind": "item", "id": id} }
	fingerprint := func(change func(map[string]any)) func(map[string]any) {
		return func(d map[string]any) {
			change(dataOf(d)["fingerprints"].([]any)[0].(map[string]any))
		}
	}
	for name, c := range map[string]struct {
		kind   Type
		change func(map[string]any)
		want   string
	}{
		"its own source item": {TypeItemAdded, func(d map[string]any) {
			dataOf(d)["source_refs"] = []any{map[string]any{"source_id": dataOf(d)["item_id"]}}
		}, "own_source /data/source_refs/0/source_id"},
		"its own offer":                {TypeItemUpdated, own("offers", list, TypeItemUpdated), "own_source /data/offers/0"},
		"offered by itself":            {TypeItemAdded, own("offered_by", object, TypeItemAdded), "own_source /data/offered_by"},
		"its own parent in the log":    {TypeLogAppended, own("parent_ref", text, TypeLogAppended), "own_source /data/parent_ref"},
		"its own replacement":          {TypeInjectionRemoved, own("replaced_by", text, TypeInjectionRemoved), "own_source /data/replaced_by"},
		"a summary of itself":          {TypeSummaryCreated, own("source_item_refs", list, TypeSummaryCreated), "own_source /data/source_item_refs/0"},
		"a summary of itself, again":   {TypeSummaryRefreshed, own("source_item_refs", list, TypeSummaryRefreshed), "own_source /data/source_item_refs/0"},
		"an assembly of itself":        {TypeAssemblyCreated, own("source_item_refs", list, TypeAssemblyCreated), "own_source /data/source_item_refs/0"},
		"a compaction of its summary":  {TypeCompactionCompleted, func(d map[string]any) { dataOf(d)["source_item_refs"] = []any{dataOf(d)["summary_ref"]} }, "own_source /data/source_item_refs/0"},
		"a run of its own":             {TypeScopeOpened, func(d map[string]any) { d["parentrunid"] = d["runid"]; dataOf(d)["parent_run_id"] = d["runid"] }, "own_source /parentrunid own_source /data/parent_run_id"},
		"a removed item with parts":    {TypeItemUpdated, both(member("redaction_state", "removed"), member("content", nil), member("parts", []any{map[string]any{"part_kind": "image", "ref": "blob:1"}})), "withheld_content /data/parts"},
		"a blocked item as a data URI": {TypeItemAdded, both(member("redaction_state", "policy_blocked"), member("content_ref", "data:text/plain,x")), "withheld_content /data/content_ref"},
		"a removal with content":       {TypeItemRemoved, member("content", "the text"), "withheld_content /data/content"},
		"a removed assembly": {TypeAssemblyCreated, func(d map[string]any) {
			dataOf(d)["redaction_state"] = "removed"
			dataOf(d)["ordered_blocks"].([]any)[0].(map[string]any)["content"] = "the text"
		}, "withheld_content /data/ordered_blocks/0/content withheld_content /data/ordered_blocks/2/content"},
		"a fingerprint in capitals":   {TypeRedactionApplied, fingerprint(func(f map[string]any) { f["hmac"] = strings.ToUpper(f["hmac"].(string)) }), "range /data/fingerprints/0"},
		"a fingerprint cut short":     {TypeRedactionApplied, fingerprint(func(f map[string]any) { f["hmac"] = f["hmac"].(string)[:62] }), "range /data/fingerprints/0"},
		"a fingerprint of 7 bytes":    {TypeRedactionApplied, fingerprint(func(f map[string]any) { f["length"] = 7 }), "range /data/fingerprints/0"},
		"a fingerprint without a key": {TypeRedactionApplied, fingerprint(func(f map[string]any) { f["key_id"] = "" }), "range /data/fingerprints/0"},
		"a fingerprint, bad prefix":   {TypeRedactionApplied, fingerprint(func(f map[string]any) { f["prefix_hash"] = "5f1d0c6e22a94b0g" }), "range /data/fingerprints/0"},
		"a source of another item":    {TypeItemAdded, func(d map[string]any) { dataOf(d)["source_refs"] = []any{map[string]any{"source_id": "another"}} }, ""},
	} {
		document := documentOf(t, c.kind)
		c.change(document)
		if _, got := judged(t, document); strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestBase64HasNoLineBreaks: RFC 4648 allows none, and no other character.
func TestBase64HasNoLineBreaks(t *testing.T) {
	t.Parallel()
	e, err := ParseStructured(Golden(TypeItemAdded))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`"eyJhIjoxfQ=="`: "", `"eyJhIjox\nfQ=="`: "/data_base64", `"eyJhIjox\r\nfQ=="`: "/data_base64",
		`"eyJhIjoxfQ"`: "error", `"eyJhIjoxfQ==="`: "error", `"eyJh Ijoxf Q=="`: "error", `"eyJhIjoxfQ-_"`: "error", `1`: "error",
	} {
		document := fmt.Appendf(nil, `{"specversion":"1.0","id":"i","source":"urn:x","type":%q,"time":"2026-01-02T03:04:05Z","data_base64":%s}`, e.Type, text)
		parsed, err := ParseStructured(document)
		got := ""
		switch {
		case err != nil:
			got = "error"
		default:
			for _, v := range CheckDoor(parsed, nil, nil) {
				got = v.Pointer
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestTimesOfBothRules: what package time reads and RFC 3339 has no form for was lawful before; lower
// case is lawful since.
func TestTimesOfBothRules(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]bool{ // before, since
		"2026-01-02T03:04:05Z": {true, true}, "2026-01-02T03:04:05.123456789+01:30": {true, true}, "2026-01-02T03:04:05-00:00": {true, true},
		"2026-01-02t03:04:05Z": {false, true}, "2026-01-02T03:04:05z": {false, true}, "2026-01-02t03:04:05.1z": {false, true},
		"2026-01-02T3:04:05Z": {true, false}, "2026-01-02T03:04:05,5Z": {true, false}, "2026-01-02t3:04:05z": {false, false},
		"2026-01-02 03:04:05Z": {}, "2026-01-02T03:04:05": {}, "2026-01-02T03:04Z": {}, "2026-13-02T03:04:05Z": {}, "2026-01-02T24:04:05Z": {}, "2026-01-02T03:04:60Z": {}, "": {true, true},
	} {
		var e Event
		err := e.Set("time", text)
		before := err == nil && e.FormerViolation() == nil
		since := err == nil && len(e.received.refused) == 0
		if before != want[0] || since != want[1] {
			t.Errorf("%q: lawful before %v, since %v, want %v; %v", text, before, since, want, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(-2e9, 9e9).Draw(t, "second"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanosecond")).UTC()
		if zone := rapid.IntRange(-23*60, 23*60).Draw(t, "zone"); zone != 0 {
			at = at.In(time.FixedZone("", zone*60))
		}
		var e Event
		if err := e.Set("time", at.Format(time.RFC3339Nano)); err != nil || !e.Time.Equal(at) || len(e.received.refused) > 0 {
			t.Fatalf("%v: %v, %v", at, err, e.received.refused)
		}
	})
}

// TestSchemasRefuseNothingLawful: the published schemas accept the data that Go accepts.
func TestSchemasRefuseNothingLawful(t *testing.T) {
	t.Parallel()
	for kind, cases := range doorCases(t) {
		compiled := compileSchema(t, kind)
		for _, c := range cases {
			document := documentOf(t, kind)
			if c.change(document); c.want != "" {
				continue
			}
			data, err := json.Marshal(dataOf(document))
			if err != nil {
				t.Fatal(err)
			}
			if err := compiled.Validate(schematest.Instance(t, data)); err != nil {
				t.Errorf("%s, %s: %v", kind, c.name, err)
			}
		}
	}
}

// TestDigestsHaveTheirForm: a text that begins like a keyed digest has the form of one, in each member
// that holds a digest. Texts of other members, and digests of other algorithms, stay lawful.
func TestDigestsHaveTheirForm(t *testing.T) {
	t.Parallel()
	good := "hmac-sha256:k4be1f07a29:" + strings.Repeat("0a", 32)
	bad := []string{"hmac-sha256:", "hmac-sha256:k1", "hmac-sha256:k1:", "hmac-sha256::" + strings.Repeat("0a", 32), good + "0", good[:len(good)-1], good + " ", "hmac-sha256:k 1:" + strings.Repeat("0a", 32), good[:24] + strings.Repeat("0A", 32), good[:24] + strings.Repeat("zz", 32)}
	lawful := []string{good, "sha256:example", "md5:1", "sha256:" + strings.Repeat("0a", 32)}
	tried := 0
	for _, kind := range Types() {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(kind.New()).Elem()) {
			if f.Anonymous || !holdsDigest(f) {
				continue
			}
			name := jsonName(f)
			at := "range /data/" + name
			if f.Type.Kind() == reflect.Slice {
				at += "/0"
			}
			try := func(text string) []string {
				document := documentOf(t, kind)
				dataOf(document)[name] = text
				if f.Type.Kind() == reflect.Slice {
					dataOf(document)[name] = []any{text}
				}
				before, after := judged(t, document)
				if len(before) > 0 {
					t.Errorf("%s %s %q: %q by the rules before", kind, name, text, before)
				}
				return after
			}
			for _, text := range bad {
				tried++
				if got := try(text); !slices.Equal(got, []string{at}) {
					t.Errorf("%s %s %q: %q, not %q", kind, name, text, got, at)
				}
			}
			for _, text := range lawful {
				if got := try(text); len(got) > 0 {
					t.Errorf("%s %s %q: %q", kind, name, text, got)
				}
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d texts were tried", tried)
	}
	document := documentOf(t, "context.assembly.created")
	block := dataOf(document)["ordered_blocks"].([]any)[0].(map[string]any)
	block["digest"] = "hmac-sha256:short"
	if _, got := judged(t, document); !slices.Equal(got, []string{"range /data/ordered_blocks/0/digest"}) {
		t.Errorf("in a block: %q", got)
	}
	document = documentOf(t, "context.item.added")
	dataOf(document)["title"] = "hmac-sha256:short"
	if _, got := judged(t, document); len(got) > 0 {
		t.Errorf("in a title: %q", got)
	}
}

// TestTimesInData: times in data have the form of RFC 3339, with letters of either case.
func TestTimesInData(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-01-02T03:04:05Z": "", "2026-01-02t03:04:05z": "", "2026-01-02t03:04:05.123456789Z": "", "2026-01-02T03:04:05z": "", "2026-01-02t03:04:05+23:59": "",
		"2026-01-02t3:04:05z": "type", "2026-01-02t03:04:05,5z": "type", "2026-01-02t03:04:05+24:00": "type", "2026-01-02 03:04:05z": "type", "2026-13-02t03:04:05z": "type", "t": "type", "z": "type",
	} {
		document := documentOf(t, "context.surface.created")
		dataOf(document)["expires_at"] = text
		got, all := judged(t, document)
		if fmt.Sprint(got) != fmt.Sprint(all) {
			t.Errorf("%s: %q and %q", text, got, all)
		}
		if want != "" {
			want += " /data/expires_at"
		}
		if fmt.Sprint(got) != "["+want+"]" {
			t.Errorf("%s: %q, not %q", text, got, want)
		}
	}
}
