package verify

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// publicSchemas is where the published schemas are.
func publicSchemas(t testing.TB) string {
	t.Helper()
	shared := os.Getenv("CTXLEDGER_SHARED")
	if shared == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("CTXLEDGER_SHARED is unset: the standards are needed in CI")
		}
		t.Skip("CTXLEDGER_SHARED is unset: no standards")
	}
	return filepath.Join(shared, "standards")
}

// TestSchemasAreThePublished: those of Agent Context are the published ones, byte
// for byte.
func TestSchemasAreThePublished(t *testing.T) {
	t.Parallel()
	files, err := schemaFiles.ReadDir("schemas/agentcontext")
	if err != nil || len(files) != 10 {
		t.Fatal(len(files), err)
	}
	for _, f := range files {
		want, err := os.ReadFile(filepath.Join(publicSchemas(t), "agentcontext", f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := schemaFiles.ReadFile("schemas/agentcontext/" + f.Name()); !bytes.Equal(got, want) {
			t.Errorf("%s is not what is published", f.Name())
		}
	}
}

// TestOwnSchemaIsNoLooser changes documents of Agent Evidence in every place:
// what the published schema refuses, the one written here refuses too.
func TestOwnSchemaIsNoLooser(t *testing.T) {
	t.Parallel()
	dir := publicSchemas(t)
	r := leaky(t, nil)
	own, err := schemasOf()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{pack.PackFile, pack.SourceMapFile, pack.ProvenanceFile, pack.ReplayFile, pack.VerificationFile, pack.ManifestFile} {
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		id, _ := document.Schema(file)
		public, err := c.Compile(filepath.Join(dir, "agentevidence", id[strings.LastIndex(id, "/")+1:]))
		if err != nil {
			t.Fatal(err)
		}
		var value map[string]any
		r.must(json.Unmarshal(r.read(file), &value))
		for name, list := range value { // a few elements of each list are enough
			if elements, ok := list.([]any); ok {
				value[name] = elements[:min(len(elements), 3)]
			}
		}
		if err := public.Validate(value); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if err := own[file].whole.Validate(value); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		refused := 0
		each(value, func(what string) {
			if public.Validate(value) == nil {
				return
			}
			refused++
			if own[file].whole.Validate(value) == nil {
				t.Errorf("%s: %s is refused by the published schema alone", file, what)
			}
		})
		if refused < 5 {
			t.Errorf("%s: only %d changes are refused", file, refused)
		}
	}
}

// each calls do for every change of a member or element within value: away, or
// of another kind. The change is undone afterwards.
func each(value any, do func(what string)) {
	others := []any{nil, 7.5, "?!", []any{1.0}, map[string]any{"?": 1.0}}
	switch value := value.(type) {
	case map[string]any:
		for name, before := range value {
			each(before, func(what string) { do(name + "/" + what) })
			delete(value, name)
			do(name + " away")
			for _, other := range others {
				value[name] = other
				do(name + " replaced")
			}
			value[name] = before
		}
	case []any:
		for i, before := range value {
			each(before, func(what string) { do("element/" + what) })
			for _, other := range others {
				value[i] = other
				do("element replaced")
			}
			value[i] = before
		}
	}
}

// TestQuickSchemaIsNoLooser: what the quick check accepts, the validator does, and
// it sees the same members.
func TestQuickSchemaIsNoLooser(t *testing.T) {
	t.Parallel()
	r := leaky(t, nil)
	own, err := schemasOf()
	if err != nil {
		t.Fatal(err)
	}
	var read quickText
	for file, s := range own {
		for list, quick := range s.quick {
			elements, accepted := 0, 0
			for line := range bytes.Lines(r.read(file)) {
				line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte(","))
				var value map[string]any
				if json.Unmarshal(line, &value) != nil {
					continue
				}
				if elements++; elements > 40 {
					break
				}
				try := func(what string) {
					text, err := json.Marshal(value, json.Deterministic(true))
					r.must(err)
					if !read.accepts(quick, text) {
						return
					}
					accepted++
					if err := s.elements[list].Validate(value); err != nil {
						t.Errorf("%s %s: %s: %s: %v", file, list, what, text, err)
					}
					for name, want := range value {
						got, isText := memberOf(read.members, name)
						if want, ok := want.(string); ok != isText || string(got) != want {
							t.Errorf("%s %s: %s: %s is %q", file, list, text, name, got)
						}
					}
				}
				try("as it is")
				each(value, try)
			}
			if elements > 0 && accepted == 0 {
				t.Errorf("%s %s: none is accepted", file, list)
			}
		}
	}
}

// TestQuickTextIsJSON: what is no JSON is not accepted, whatever the schema allows.
func TestQuickTextIsJSON(t *testing.T) {
	t.Parallel()
	var read quickText
	for _, text := range []string{
		``, `{`, `{"a"}`, `{"a":"b"`, `{"a":"b"}x`, `{"a":"b",}`, "{\"a\":\"\x01\"}", "{\"a\":\"\xff\"}", `{"a":"\x"}`, `{"a":"\`, `{"a":1,"a":2}`, `{"b":1,"a":2,"b":3}`,
		`{"a":{"b":1,"b":2}}`, `{"a":01}`, `{"a":-}`, `{"a":1.}`, `{"a":.5}`, `{"a":1e}`, `{"a":tru}`, `{"a":nul}`, `{"a":[1,]}`, `{"a":[1}`, `{"a":[1]]}`, `{,}`, `{"a":1 "b":2}`,
	} {
		var value any
		if json.Unmarshal([]byte(text), &value) == nil {
			t.Errorf("%s is JSON", text)
		}
		if read.accepts(nil, []byte(text)) {
			t.Errorf("%s is accepted", text)
		}
	}
	for _, text := range []string{
		`{}`, `{"a":"b"}`, `{"a":"\"\\\n","b":"ä","c":0,"d":-1.25,"e":[],"f":[{},[null,true,false]],"aa":{"a":{"a":1}}}`,
	} {
		if !read.accepts(nil, []byte(text)) {
			t.Errorf("%s is not accepted", text)
		}
	}
}

// TestQuickTimes: the quick check takes no time that the validator refuses.
func TestQuickTimes(t *testing.T) {
	t.Parallel()
	own, err := schemasOf()
	if err != nil {
		t.Fatal(err)
	}
	s := own[pack.SourceMapFile]
	accepted := 0
	var read quickText
	for _, at := range []string{
		"2026-03-02T09:00:00Z", "2026-03-31T09:00:00.25Z", "2026-03-02T09:00:00.Z", "2026-03-02T09:00:00", "2026-13-02T09:00:00Z", "2026-00-02T09:00:00Z", "2026-03-00T09:00:00Z",
		"2026-02-31T09:00:00Z", "2026-04-31T09:00:00Z", "2026-03-02T24:00:00Z", "2026-03-02T09:60:00Z", "2026-03-02T09:00:61Z", "2026-03-02 09:00:00Z", "2026-03-02T9:00:00Z", "2026-03-02T09:00:00,5Z",
		"2026-03-02T09:00:00.5xZ", "20260302T090000Z", "2026-03-02T09:00:00.ZZ", "2026-03-02", "", "Z",
	} {
		value := map[string]any{"source_id": "a", "reason": "b", "observed_at": at}
		text, err := json.Marshal(value, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		if read.accepts(s.quick["omissions"], text) {
			accepted++
			if err := s.elements["omissions"].Validate(value); err != nil {
				t.Errorf("%q: %v", at, err)
			}
		}
	}
	if accepted != 2 {
		t.Errorf("%d times accepted", accepted)
	}
}
