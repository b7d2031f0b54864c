package schema

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/schema/internal/schematest"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// sourceComments holds the comments of the package's own types.
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
	kindSchema := s["properties"].(object)["event_type"].(object)
	delete(kindSchema, "type")
	kindSchema["const"] = string(kind)
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
			about := c.fields[st.Name()+"."+f.Name]
			p["title"] = strings.ReplaceAll(jsonName(f), "_", " ")
			vocabulary := f.Tag.Get("words")
			if f.Type.Kind() == reflect.String {
				vocabulary = or(vocabulary, f.Type.Name())
			}
			if words := c.words[vocabulary]; len(words) > 0 && vocabulary != "Type" {
				about = strings.TrimSpace(about+". Known words: "+strings.Join(words, ", ")) + ". Other words are kept."
				if f.Type.Kind() == reflect.String {
					p["examples"] = words
				} else {
					p["items"].(object)["examples"] = words
				}
			}
			p["description"] = about
			if unit := unitOf(f); unit != "" {
				p["unit"] = unit
			}
			if f.Tag.Get("ctx") == "required" {
				required = append(required, jsonName(f))
				switch f.Type.Kind() {
				case reflect.String:
					p["minLength"] = 1
				case reflect.Slice:
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
		defs["Ref"] = object{"type": []string{"string", "object"}, "pattern": noObjectText, "description": c.types["Ref"]}
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
			if t == reflect.TypeFor[Candidate]() {
				s["pattern"] = noObjectText
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
		return object{"type": "string"}
	}
	panic(fmt.Sprintf("no schema for a %s", t))
}

// noObjectText refuses a string reference that looks like the text of an object.
const noObjectText = "^([^{]|$)"

// unitOf names the unit of a number, by the end of its name.
func unitOf(f reflect.StructField) string {
	t := f.Type
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Int64 && t.Kind() != reflect.Float64 {
		return ""
	}
	name := jsonName(f)
	for _, u := range [][2]string{
		{"first_changed_position", "tokens"}, {"tokens", "tokens"}, {"tokens_before", "tokens"}, {"tokens_after", "tokens"}, {"tokens_saved", "tokens"}, {"token_estimate", "tokens"}, {"reserved", "tokens"}, {"actual", "tokens"},
		{"bytes", "bytes"}, {"byte_size", "bytes"}, {"length", "bytes"}, {"items", "items"}, {"item_count", "items"}, {"entry_count", "entries"}, {"count", "facts"}, {"keep", "blocks"},
		{"seconds", "seconds"}, {"position", "position"}, {"order", "position"}, {"sequence", "position"},
		{"rank", "rank"}, {"step", "rung"}, {"depth", "levels"}, {"part", "part"}, {"parts", "parts"},
		{"percent", "percent"}, {"score", "score"}, {"priority", "score"}, {"cost", "currency"},
	} {
		if strings.HasSuffix(name, u[0]) {
			return u[1]
		}
	}
	panic("no unit for " + name)
}

// TestEverythingIsDescribed checks that every schema has a title, every member a description, and
// every number a unit.
func TestEverythingIsDescribed(t *testing.T) {
	t.Parallel()
	for _, kind := range Types() {
		s := schematest.Instance(t, JSONSchema(kind)).(object)
		structs := map[string]any{string(kind): s}
		if defs, ok := s["$defs"].(object); ok {
			maps.Copy(structs, defs)
		}
		if len(s["examples"].([]any)) == 0 {
			t.Errorf("%s: no example", kind)
		}
		for name, st := range structs {
			if st.(object)["description"] == nil {
				t.Errorf("%s: %s has no description", kind, name)
			}
			properties, _ := st.(object)["properties"].(object)
			for member, p := range properties {
				p := p.(object)
				if text, _ := p["description"].(string); text == "" || p["title"] == "" {
					t.Errorf("%s: %s.%s has no title or description", kind, name, member)
				}
				if (p["type"] == "integer" || p["type"] == "number") && p["unit"] == nil {
					t.Errorf("%s: %s.%s has no unit", kind, name, member)
				}
				if p["enum"] != nil {
					t.Errorf("%s: %s.%s is closed", kind, name, member)
				}
			}
		}
	}
}

// TestJSONSchemas compares the committed schemas with the Go types. An independent implementation
// validates the golden events against the schemas.
func TestJSONSchemas(t *testing.T) {
	t.Parallel()
	comments := readComments(t)
	for _, kind := range Types() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			schematest.HoldToFile(t, "jsonschema/"+string(kind)+".json", string(comments.schemaOf(t, kind)))
			compiled := compileSchema(t, kind)
			if err := compiled.Validate(schematest.Instance(t, goldenEvent(t, kind).Data)); err != nil {
				t.Error(err)
			}
			fact := kind.New()
			required := shapeOf(reflect.TypeOf(fact).Elem()).required
			for _, r := range required {
				e := withMembers(t, kind, ms{strings.TrimPrefix(r.pointer, "/data/"): ""})
				if compiled.Validate(schematest.Instance(t, e.Data)) == nil {
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
	if err := compiler.AddResource(kind.DataSchema(), schematest.Instance(t, JSONSchema(kind))); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile(kind.DataSchema())
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}
