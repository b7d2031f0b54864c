package standard

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/internal/schematest"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaFiles are the files of the Agent Context standard by the kind of
// document that they describe.
var schemaFiles = map[Kind]string{
	Envelope: "context-envelope", Surface: "context-surface", Item: "context-item",
	Selection: "selection", Budget: "budget", Assembly: "assembly",
	Compaction: "compaction", Missing: "missing-context",
	sourceKind: "source-ref", eventKind: "event",
}

const (
	sourceKind Kind = "context_source_ref"
	eventKind  Kind = "context_event"
)

// standards holds the public schemas, or the reason why they are missing.
type standards struct {
	context map[Kind]*jsonschema.Schema
	runtime *jsonschema.Schema
	problem error
}

var readStandards = sync.OnceValue(func() (s standards) {
	dir := filepath.Join(os.Getenv("CTXLEDGER_SHARED"), "standards")
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compile := func(url, file string) (compiled *jsonschema.Schema) {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err == nil {
			var document any
			if document, err = jsonschema.UnmarshalJSON(bytes.NewReader(text)); err == nil {
				err = compiler.AddResource(url, document)
			}
		}
		if err == nil {
			compiled, err = compiler.Compile(url)
		}
		s.problem = errors.Join(s.problem, err)
		return compiled
	}
	s.context = make(map[Kind]*jsonschema.Schema)
	for kind, name := range schemaFiles {
		s.context[kind] = compile("https://limecloud.github.io/agentcontext/schemas/agentcontext-"+name+".schema.json", "agentcontext/agentcontext-"+name+".schema.json")
	}
	// The profile refers to the plain schema beside itself, which calls itself
	// something else.
	const base = "https://limecloud.github.io/agentruntime/schemas/"
	compile(base+"agentruntime-event.schema.json", "agentruntime/agentruntime-event.schema.json")
	s.runtime = compile(base+"agentruntime-lime-profile-event.schema.json", "agentruntime/agentruntime-lime-profile-event.schema.json")
	return s
})

func needStandards(t testing.TB) standards {
	t.Helper()
	if os.Getenv("CTXLEDGER_SHARED") == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("CTXLEDGER_SHARED is unset: the standards are needed in CI")
		}
		t.Skip("CTXLEDGER_SHARED is unset: no standards")
	}
	s := readStandards()
	if s.problem != nil {
		t.Fatal(s.problem)
	}
	return s
}

// TestStandardSchemasRefuse checks that the schemas of the other tests refuse the documents that
// the standard refuses.
func TestStandardSchemasRefuse(t *testing.T) {
	t.Parallel()
	s := needStandards(t)
	for kind, schema := range s.context {
		if schema.Validate(map[string]any{}) == nil {
			t.Errorf("%s: an empty document is valid", kind)
		}
	}
	for text, valid := range map[string]bool{
		`{"schema_version":"0.1.0","context_id":"c","scope":"turn","lifecycle":"draft","created_at":"2026-03-02T09:00:00Z"}`:   true,
		`{"schema_version":"0.1.0","context_id":"c","scope":"galaxy","lifecycle":"draft","created_at":"2026-03-02T09:00:00Z"}`: false,
		`{"schema_version":"0.1.0","context_id":"c","scope":"turn","lifecycle":"draft","created_at":"yesterday"}`:              false,
	} {
		if err := s.context[Envelope].Validate(schematest.Instance(t, []byte(text))); (err == nil) != valid {
			t.Errorf("%s: %v", text, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(os.Getenv("CTXLEDGER_SHARED"), "standards/agentruntime/validated.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases struct {
		Derived []struct {
			Event jsontext.Value `json:"event"`
			Valid bool           `json:"valid"`
		} `json:"derived"`
	}
	if err := json.Unmarshal(text, &cases); err != nil || len(cases.Derived) == 0 {
		t.Fatal(len(cases.Derived), err)
	}
	for _, c := range cases.Derived {
		if err := s.runtime.Validate(schematest.Instance(t, c.Event)); (err == nil) != c.Valid {
			t.Errorf("%s: %v", c.Event, err)
		}
	}
}

// documentsOf returns every document that e has, by the name of its twin.
func documentsOf(t testing.TB, e *schema.Event) map[string][]byte {
	t.Helper()
	documents := make(map[string][]byte)
	event, err := Event(e)
	if err != nil {
		t.Fatal(err)
	}
	documents[string(eventKind)] = event
	kind, document, err := Document(e)
	if err == nil {
		documents[string(kind)] = document
	} else if !errors.Is(err, ErrNoShape) {
		t.Fatal(err)
	}
	sources, err := Sources(e)
	if err != nil {
		t.Fatal(err)
	}
	for i, source := range sources {
		documents[string(sourceKind)+"."+string(rune('0'+i))] = source
	}
	document, err = RuntimeEvent(e)
	var lacking schema.Violations
	switch {
	case err == nil:
		documents["runtime_event"] = document
	case !errors.Is(err, ErrNoShape) && !errors.As(err, &lacking):
		t.Fatal(err)
	}
	return documents
}

// valid validates a document against the public schema of its kind.
func (s standards) valid(t testing.TB, name string, document []byte) {
	t.Helper()
	schema := s.runtime
	if name != "runtime_event" {
		kind, _, _ := strings.Cut(name, ".")
		schema = s.context[Kind(kind)]
	}
	if err := schema.Validate(schematest.Instance(t, document)); err != nil {
		t.Errorf("%s: %v\n%s", name, err, document)
	}
}

// TestStandardGolden exports every golden event and validates each document. It compares the
// bytes with a digest and with a readable twin.
func TestStandardGolden(t *testing.T) {
	t.Parallel()
	s := needStandards(t)
	seen := make(map[string]int)
	var mu sync.Mutex
	t.Run("types", func(t *testing.T) {
		for _, kind := range schema.Types() {
			t.Run(string(kind), func(t *testing.T) {
				t.Parallel()
				for name, document := range documentsOf(t, goldenEvent(t, kind)) {
					s.valid(t, name, document)
					mu.Lock()
					seen[strings.TrimSuffix(name, ".0")]++
					mu.Unlock()
				}
			})
		}
	})
	want := map[string]int{
		string(eventKind): 39, string(Envelope): 1, string(Surface): 2, string(Item): 2, string(sourceKind): 2,
		string(Selection): 1, string(Budget): 1, string(Assembly): 1, string(Compaction): 1,
		string(Missing): 3, "runtime_event": 4,
	}
	for name, n := range want {
		if seen[name] != n {
			t.Errorf("%d documents of kind %s, want %d", seen[name], name, n)
		}
	}
	if len(seen) != len(want) {
		t.Errorf("kinds: %v", seen)
	}
}

// TestStandardTwins compares the exported documents with their twins, without schemas.
func TestStandardTwins(t *testing.T) {
	t.Parallel()
	for _, kind := range schema.Types() {
		e := goldenEvent(t, kind)
		for name, document := range documentsOf(t, e) {
			if name == string(eventKind) && kind != schema.TypeSelectionCompleted {
				continue // one twin is enough: the others differ in their data
			}
			twin := jsontext.Value(bytes.Clone(document))
			if err := twin.Indent(jsontext.WithIndent("  ")); err != nil {
				t.Fatal(err)
			}
			schematest.HoldToFile(t, filepath.Join("testdata", "standard", string(kind)+"."+name+".json"), string(twin)+"\n")
		}
	}
}

// TestStandardIsDeterministic exports one event in both content modes, many times. The bytes must
// depend only on the event.
func TestStandardIsDeterministic(t *testing.T) {
	t.Parallel()
	for _, kind := range schema.Types() {
		e := goldenEvent(t, kind)
		m := e.Binary()
		again, err := schema.ParseMessage(m.Header, m.Data)
		if err != nil {
			t.Fatal(err)
		}
		want := documentsOf(t, e)
		for range 10 {
			for name, document := range documentsOf(t, again) {
				if !bytes.Equal(document, want[name]) {
					t.Fatalf("%s:\n%s\n%s", name, document, want[name])
				}
			}
		}
	}
}

// TestStandardEventLosesNothing rebuilds every golden event from its exported
// document and compares digests.
func TestStandardEventLosesNothing(t *testing.T) {
	t.Parallel()
	for _, kind := range schema.Types() {
		e := goldenEvent(t, kind)
		e.Extensions = map[string]string{"newerthanus": "kept"}
		document, err := Event(e)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := fromStandardEvent(t, document).Digest(), e.Digest(); got != want {
			t.Errorf("%s: rebuilt with digest %x, want %x", kind, got, want)
		}
	}
}

// fromStandardEvent reads the event from a document.
func fromStandardEvent(t testing.TB, document []byte) *schema.Event {
	t.Helper()
	var d struct {
		ID       string            `json:"event_id"`
		Source   string            `json:"source"`
		Subject  string            `json:"subject"`
		Time     string            `json:"time"`
		Data     jsontext.Value    `json:"data"`
		Metadata map[string]string `json:"metadata"`
	}
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	attributes := d.Metadata
	attributes["id"], attributes["source"], attributes["subject"], attributes["time"] = d.ID, d.Source, d.Subject, d.Time
	for column, id := range textMembers(t, document) {
		for _, f := range schema.CorrelationFields {
			if f.Column == column {
				attributes[f.Attribute] = id
			}
		}
	}
	back := &schema.Event{Data: d.Data}
	for name, value := range attributes {
		if err := back.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	return back
}

// textMembers returns the members at the top of a document that are strings.
func textMembers(t testing.TB, document []byte) map[string]string {
	t.Helper()
	var members map[string]jsontext.Value
	if err := json.Unmarshal(document, &members); err != nil {
		t.Fatal(err)
	}
	texts := make(map[string]string)
	for name, value := range members {
		if value.Kind() == '"' {
			texts[name] = string(schema.Unquoted(value))
		}
	}
	return texts
}
