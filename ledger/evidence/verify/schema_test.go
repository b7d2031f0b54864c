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

// publicSchemas returns the folder of the published schemas.
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

// TestSchemasAreThePublished: the schemas of Agent Context equal the published ones, byte for byte.
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

// TestOwnSchemaIsNoLooser changes documents of Agent Evidence in every place. Our schema refuses
// every change that the published schema refuses.
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

// each calls do for every removed or changed member or element within value. The change is undone
// afterwards.
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
