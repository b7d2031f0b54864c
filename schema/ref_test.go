package schema

import (
	"testing"

	"github.com/go-json-experiment/json"
)

func TestRefForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, id, out string }{
		{"string", `"item-1"`, "item-1", `"item-1"`},
		{"empty string", `""`, "", `""`},
		{"escapes", `"a\u0000\"é\ud83d\ude00"`, "a\x00\"é😀", `"a\u0000\"é😀"`},
		{"id", `{"id":"a","uri":"b"}`, "a", `{"id":"a","uri":"b"}`},
		{"item_ref", `{"item_ref":"a","ref":"b"}`, "a", `{"item_ref":"a","ref":"b"}`},
		{"uri", `{ "uri" : "b" }`, "b", `{"uri":"b"}`},
		{"no id", `{"x":1}`, `{"x":1}`, `{"x":1}`},
		{"id of another type", `{"id":1}`, `{"id":1}`, `{"id":1}`},
		{"empty object", `{}`, `{}`, `{}`},
		{"order and numbers are kept", `{"z":1.50,"a":9007199254740993,"id":"i"}`, "i", `{"z":1.50,"a":9007199254740993,"id":"i"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var r Ref
			if err := json.Unmarshal([]byte(c.in), &r); err != nil {
				t.Fatal(err)
			}
			out, err := json.Marshal(r)
			if err != nil || r.ID() != c.id || string(out) != c.out {
				t.Errorf("id %q, written %s, %v", r.ID(), out, err)
			}
		})
	}
	for _, bad := range []string{`1`, `true`, `[]`, `"{"`, `{"id":"a","id":"b"}`, "\"\xff\"", `"\ud800"`} {
		var r Ref
		if err := json.Unmarshal([]byte(bad), &r); err == nil {
			t.Errorf("%s read as %q", bad, r)
		}
	}
	var r Ref
	if err := json.Unmarshal([]byte(`null`), &r); err == nil {
		t.Errorf("null read as %q", r)
	}
}

func TestCandidateForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, out string }{
		{`"item-1"`, `{"item_ref":"item-1"}`},
		{`{"item_ref":"item-1","rank":1,"reason":"stale"}`, `{"item_ref":"item-1","rank":1,"reason":"stale"}`},
		{`{"item_ref":{"id":"item-1"},"signals":{"bm25":1.5}}`, `{"item_ref":{"id":"item-1"},"signals":{"bm25":1.5}}`},
		{`{"item_ref":"a","tokens":0}`, `{"item_ref":"a","tokens":0}`},
	} {
		var got Candidate
		if err := json.Unmarshal([]byte(c.in), &got); err != nil {
			t.Fatal(err)
		}
		if out, err := json.Marshal(got, json.Deterministic(true)); err != nil || string(out) != c.out {
			t.Errorf("%s: %s, %v", c.in, out, err)
		}
	}
	for _, bad := range []string{`5`, `["a"]`, `{"item_ref":5}`, `{"item_ref":"a","rank":"first"}`} {
		if err := json.Unmarshal([]byte(bad), new(Candidate)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

func TestSourceRefForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, out string }{
		{`"file:///a"`, `{"uri":"file:///a"}`},
		{`"src-1"`, `{"source_id":"src-1"}`},
		{`{"uri":"x","selector":[1]}`, `{"uri":"x","selector":[1]}`},
	} {
		var got SourceRef
		if err := json.Unmarshal([]byte(c.in), &got); err != nil {
			t.Fatal(err)
		}
		if out, err := json.Marshal(got); err != nil || string(out) != c.out {
			t.Errorf("%s: %s, %v", c.in, out, err)
		}
	}
}

// TestGrantKeepsNothingAskedFor checks that an empty request differs from an inherited grant.
func TestGrantKeepsNothingAskedFor(t *testing.T) {
	t.Parallel()
	empty := []string{}
	for _, c := range []struct {
		requested *[]string
		want      string
	}{{nil, `{"grant_id":"g"}`}, {&empty, `{"grant_id":"g","requested":[]}`}} {
		out, err := json.Marshal(Grant{GrantID: "g", Requested: c.requested})
		if err != nil || string(out) != c.want {
			t.Errorf("%s, %v; want %s", out, err, c.want)
		}
		var back Grant
		if err := json.Unmarshal(out, &back); err != nil || (back.Requested == nil) != (c.requested == nil) {
			t.Errorf("%+v, %v", back, err)
		}
	}
}
