package schema

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// sourceComments is what the package's own source says of its types.
type sourceComments struct {
	types  map[string]string   // by "Type"
	fields map[string]string   // by "Type.Field"
	words  map[string][]string // the constants of a vocabulary, by its type
}

func readComments(t testing.TB) sourceComments {
	t.Helper()
	c := sourceComments{map[string]string{}, map[string]string{}, map[string][]string{}}
	files, _ := filepath.Glob("*.go")
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range gen.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					c.types[s.Name.Name] = sentence(gen.Doc)
					if st, ok := s.Type.(*ast.StructType); ok {
						for _, f := range st.Fields.List {
							for _, name := range f.Names {
								c.fields[s.Name.Name+"."+name.Name] = strings.TrimSpace(sentence(f.Doc) + " " + sentence(f.Comment))
							}
						}
					}
				case *ast.ValueSpec:
					if kind, ok := s.Type.(*ast.Ident); ok && gen.Tok == token.CONST && len(s.Values) == 1 {
						if lit, ok := s.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
							word, _ := strconv.Unquote(lit.Value)
							c.words[kind.Name] = append(c.words[kind.Name], word)
						}
					}
				}
			}
		}
	}
	return c
}

func sentence(g *ast.CommentGroup) string {
	return strings.NewReplacer("[", "", "]", "").Replace(strings.Join(strings.Fields(g.Text()), " "))
}

type object = map[string]any

// schemaOf generates the JSON Schema of the data of one type.
func (c sourceComments) schemaOf(t testing.TB, kind Type) []byte {
	fact := reflect.TypeOf(kind.New()).Elem()
	defs := object{}
	s := c.structSchema(fact, defs)
	s["properties"].(object)["event_type"] = object{"const": string(kind), "title": "event type"}
	s["required"] = append([]string{"event_type"}, s["required"].([]string)...)
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["$id"] = kind.DataSchema()
	s["title"] = string(kind)
	s["examples"] = []any{jsontext.Value(goldenEvent(t, kind).Data)}
	if len(defs) > 0 {
		s["$defs"] = defs
	}
	text, err := json.Marshal(s, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

func (c sourceComments) structSchema(st reflect.Type, defs object) object {
	properties, required := object{}, []string{}
	var add func(st reflect.Type)
	add = func(st reflect.Type) {
		for i := range st.NumField() {
			f := st.Field(i)
			if f.Anonymous {
				add(f.Type)
				continue
			}
			p := c.typeSchema(f.Type, defs)
			p["title"] = strings.ReplaceAll(jsonName(f), "_", " ")
			if about := c.fields[st.Name()+"."+f.Name]; about != "" {
				p["description"] = about
			}
			if f.Tag.Get("ctx") == "required" {
				required = append(required, jsonName(f))
				switch p["type"] {
				case "string":
					p["minLength"] = 1
				case "array":
					p["minItems"] = 1
				}
			}
			properties[jsonName(f)] = p
		}
	}
	add(st)
	s := object{"type": "object", "properties": properties, "required": required}
	if about := c.types[st.Name()]; about != "" {
		s["description"] = about
	}
	return s
}

func (c sourceComments) typeSchema(t reflect.Type, defs object) object {
	switch t {
	case reflect.TypeFor[Ref]():
		defs["Ref"] = object{"type": []string{"string", "object"}, "description": c.types["Ref"]}
		return object{"$ref": "#/$defs/Ref"}
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return c.typeSchema(t.Elem(), defs)
	case reflect.Struct:
		if defs[t.Name()] == nil {
			defs[t.Name()] = object{} // for types that hold themselves
			s := c.structSchema(t, defs)
			if t == reflect.TypeFor[Candidate]() || t == reflect.TypeFor[SourceRef]() {
				s["type"] = []string{"object", "string"}
			}
			defs[t.Name()] = s
		}
		return object{"$ref": "#/$defs/" + t.Name()}
	case reflect.Slice:
		return object{"type": "array", "items": c.typeSchema(t.Elem(), defs)}
	case reflect.Array:
		return object{"type": "array", "items": c.typeSchema(t.Elem(), defs), "minItems": t.Len(), "maxItems": t.Len()}
	case reflect.Map:
		s := object{"type": "object"}
		if t.Elem().Kind() != reflect.Interface {
			s["additionalProperties"] = c.typeSchema(t.Elem(), defs)
		}
		return s
	case reflect.Int64:
		return object{"type": "integer", "minimum": 0, "maximum": int64(math.MaxInt64)}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Interface:
		return object{}
	case reflect.String:
		s := object{"type": "string"}
		if words := c.words[t.Name()]; len(words) > 0 {
			s["anyOf"] = []any{object{"enum": words}, object{"description": "a word that a newer producer uses"}}
		}
		return s
	}
	panic(fmt.Sprintf("no schema for a %s", t))
}

// TestJSONSchemas holds the committed schemas to the Go types, and the golden
// events to the schemas, by an independent implementation.
func TestJSONSchemas(t *testing.T) {
	t.Parallel()
	comments := readComments(t)
	for _, kind := range Types() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			holdToFile(t, "jsonschema/"+string(kind)+".json", string(comments.schemaOf(t, kind)))
			compiled := compileSchema(t, kind)
			if err := compiled.Validate(instance(t, goldenEvent(t, kind).Data)); err != nil {
				t.Error(err)
			}
			fact := kind.New()
			required := shapeOf(reflect.TypeOf(fact).Elem()).required
			for _, r := range required {
				e := withMembers(t, kind, ms{strings.TrimPrefix(r.pointer, "/data/"): ""})
				if compiled.Validate(instance(t, e.Data)) == nil {
					t.Errorf("valid without %s", r.pointer)
				}
			}
		})
	}
	if JSONSchema("context.nothing.happened") != nil || Golden("context.nothing.happened") != nil {
		t.Error("a schema of an unknown type")
	}
}

func compileSchema(t testing.TB, kind Type) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(kind.DataSchema(), instance(t, JSONSchema(kind))); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile(kind.DataSchema())
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func instance(t testing.TB, text []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
