package schema

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/schema/internal/schematest"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// releasedDir holds the released schemas, one folder per version. The files are evidence: nobody
// edits them.
const releasedDir = "released/v1/"

// TestReleasedSchemas refuses every change of a released schema that is not additive. A refused
// change needs a new version, see versions. RELEASE=1 adds the schemas of new types and is for
// releases only.
func TestReleasedSchemas(t *testing.T) {
	t.Parallel()
	if os.Getenv("RELEASE") != "" {
		for _, kind := range Types() {
			file, err := os.OpenFile(releasedDir+string(kind)+".json", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
			if err != nil {
				continue
			}
			if _, err := file.Write(withoutExamples(t, JSONSchema(kind))); err != nil {
				t.Fatal(err)
			}
			file.Close()
		}
	}
	files, err := filepath.Glob(releasedDir + "*.json")
	if err != nil || len(files) < 38 {
		t.Fatalf("%d released schemas, %v", len(files), err)
	}
	for _, path := range files {
		kind := Type(strings.TrimSuffix(filepath.Base(path), ".json"))
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			released, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !kind.Known() {
				t.Fatal("a released type is gone")
			}
			for _, finding := range additive(schematest.Instance(t, released), schematest.Instance(t, JSONSchema(kind))) {
				t.Error(finding)
			}
		})
	}
}

// withoutExamples removes the examples, which assert nothing and change often.
func withoutExamples(t testing.TB, text []byte) []byte {
	t.Helper()
	var s object
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	delete(s, "examples")
	text, err := json.Marshal(s, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

func TestAdditive(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, old, new, want string }{
		{"the same", `{"type":"object","properties":{"a":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, ""},
		{"a new property", `{"properties":{"a":{}}}`, `{"properties":{"a":{},"b":{"type":"string"}}}`, ""},
		{"a property gone", `{"properties":{"a":{},"b":{}}}`, `{"properties":{"a":{}}}`, "property b is gone"},
		{"all properties gone", `{"properties":{"a":{}}}`, `{}`, "property a is gone"},
		{"newly required", `{"required":["a"]}`, `{"required":["a","b"]}`, "b is required"},
		{"required for the first time", `{}`, `{"required":["b"]}`, "b is required"},
		{"no longer required", `{"required":["a"]}`, `{"required":[]}`, ""},
		{"a type more", `{"type":"string"}`, `{"type":["string","object"]}`, ""},
		{"a type less", `{"type":["string","object"]}`, `{"type":"string"}`, "type object"},
		{"another type", `{"type":"string"}`, `{"type":"integer"}`, "type string"},
		{"integers become numbers", `{"type":"integer"}`, `{"type":"number"}`, ""},
		{"numbers become integers", `{"type":"number"}`, `{"type":"integer"}`, "type number"},
		{"a type where there was none", `{}`, `{"type":"string"}`, "type object"},
		{"a type let go", `{"type":"string"}`, `{}`, ""},
		{"an enum value more", `{"enum":["a"]}`, `{"enum":["a","b"]}`, ""},
		{"an enum value less", `{"enum":["a","b"]}`, `{"enum":["a"]}`, "enum no longer has b"},
		{"an enum where it was open", `{"type":"string"}`, `{"type":"string","enum":["a"]}`, "enum closes"},
		{"an enum opened", `{"enum":["a"]}`, `{}`, ""},
		{"another const", `{"const":"a"}`, `{"const":"b"}`, "const changed"},
		{"a pattern", `{}`, `{"pattern":"^a$"}`, "pattern changed"},
		{"a pattern let go", `{"pattern":"^a$"}`, `{}`, ""},
		{"a format", `{}`, `{"format":"date-time"}`, "format changed"},
		{"a higher minimum", `{"minimum":0}`, `{"minimum":1}`, "minimum narrowed"},
		{"a lower minimum", `{"minimum":1}`, `{"minimum":0}`, ""},
		{"a first minimum", `{}`, `{"minimum":0}`, "minimum narrowed"},
		{"a lower maximum", `{"maximum":10}`, `{"maximum":9}`, "maximum narrowed"},
		{"a higher maximum", `{"maximum":10}`, `{"maximum":11}`, ""},
		{"a maximum let go", `{"maximum":10}`, `{}`, ""},
		{"longer at least", `{"minLength":1}`, `{"minLength":2}`, "minLength narrowed"},
		{"shorter at most", `{"maxLength":9}`, `{"maxLength":8}`, "maxLength narrowed"},
		{"fewer items", `{"maxItems":2}`, `{"maxItems":1}`, "maxItems narrowed"},
		{"unique items", `{}`, `{"uniqueItems":true}`, "uniqueItems changed"},
		{"items of another type", `{"items":{"type":"string"}}`, `{"items":{"type":"object"}}`, "/items: type string"},
		{"items that were free", `{"type":"array"}`, `{"type":"array","items":{"minimum":0}}`, "/items: minimum"},
		{"closed to other members", `{"properties":{}}`, `{"properties":{},"additionalProperties":false}`, "/additionalProperties: nothing"},
		{"opened to other members", `{"additionalProperties":false}`, `{}`, ""},
		{"values of a map", `{"additionalProperties":{"type":"number"}}`, `{"additionalProperties":{"type":"integer"}}`, "/additionalProperties: type number"},
		{"another title", `{"title":"tokens"}`, `{"title":"bytes"}`, "title changed"},
		{"another unit", `{"properties":{"a":{"unit":"tokens"}}}`, `{"properties":{"a":{"unit":"bytes"}}}`, "/a: unit changed"},
		{"another identity", `{"$id":"urn:a"}`, `{"$id":"urn:b"}`, "$id changed"},
		{"better words", `{"description":"a","examples":[1]}`, `{"description":"b","examples":[2]}`, ""},
		{"a keyword unheard of", `{}`, `{"dependentRequired":{"a":["b"]}}`, "dependentRequired changed"},
		{"a condition", `{}`, `{"if":{},"then":{"required":["a"]}}`, "if changed"},
		{"a branch less", `{"anyOf":[{"type":"string"},{"type":"object"}]}`, `{"anyOf":[{"type":"string"}]}`, "anyOf no longer takes branch 1"},
		{"a branch more", `{"anyOf":[{"type":"string"}]}`, `{"anyOf":[{"type":"object"},{"type":"string"}]}`, ""},
		{"branches for the first time", `{}`, `{"anyOf":[{"type":"object"}]}`, "anyOf closes"},
		{"false", `{"properties":{"a":{}}}`, `{"properties":{"a":false}}`, "/a: nothing"},
		{"below a definition", `{"$defs":{"D":{"properties":{"x":{}}}},"properties":{"a":{"items":{"$ref":"#/$defs/D"}}}}`,
			`{"$defs":{"D":{"properties":{},"required":["y"]}},"properties":{"a":{"items":{"$ref":"#/$defs/D"}}}}`, "/a/items: property x is gone"},
		{"a definition of another name", `{"$defs":{"D":{"type":"string"}},"items":{"$ref":"#/$defs/D"}}`, `{"$defs":{"E":{"type":"string"}},"items":{"$ref":"#/$defs/E"}}`, ""},
		{"a definition that became inline", `{"$defs":{"D":{"type":"string"}},"items":{"$ref":"#/$defs/D"}}`, `{"items":{"type":"integer"}}`, "/items: type string"},
		{"a definition that holds itself", `{"$defs":{"D":{"items":{"$ref":"#/$defs/D"}}},"items":{"$ref":"#/$defs/D"}}`, `{"$defs":{"D":{"items":{"$ref":"#/$defs/D"}}},"items":{"$ref":"#/$defs/D"}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found := additive(schematest.Instance(t, []byte(c.old)), schematest.Instance(t, []byte(c.new)))
			if got := fmt.Sprint(found); (c.want == "") != (len(found) == 0) || !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %q", got, c.want)
			}
		})
	}
}
