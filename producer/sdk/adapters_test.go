package sdk

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
	"github.com/ctxledger/ctxledger/producer/producertest/modelserver"
	"github.com/ctxledger/ctxledger/producer/producertest/realclient"
	"github.com/ctxledger/ctxledger/schema"
)

// adding is a model that calls the tool add, and says the sum when it has the result.
func adding(r *modelserver.Request) modelserver.Answer {
	a := modelserver.Answer{Usage: modelserver.Usage{Input: 100, CacheRead: 40, Output: 9}}
	if a.Parts = []modelserver.Part{modelserver.Call("add", `{"a":1,"b":2}`)}; bytes.Contains(r.Whole(), []byte("1 + 2 = 3")) {
		a.Parts = []modelserver.Part{modelserver.Text("the sum is 3")}
	}
	return a
}

// pieces are the blocks of a request as an adapter knows them: layer, and digest of the text. JSON
// is compared without spaces, and a tool by its name, its description and its parameters. Texts
// without a character and members outside of the window are left out.
func pieces(t *testing.T, r *modelserver.Request, digest func([]byte) string) (list []string) {
	t.Helper()
	d := map[modelserver.Dialect]dialect.Dialect{
		modelserver.AnthropicMessages: dialect.AnthropicMessages, modelserver.OpenAIChat: dialect.OpenAIChat, modelserver.OpenAIResponses: dialect.OpenAIResponses,
	}[r.Dialect]
	window, err := d.ReadRequest(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range window.Blocks {
		if b.Kind == dialect.KindRequestMember || len(b.Text) == 0 {
			continue
		}
		text := jsontext.Value(b.Text)
		switch b.Layer {
		case dialect.LayerTools:
			var tool struct {
				Name        string         `json:"name"`
				Description string         `json:"description"`
				Parameters  jsontext.Value `json:"parameters"`
				InputSchema jsontext.Value `json:"input_schema,omitzero"`
			}
			var nested struct {
				Function jsontext.Value `json:"function"`
			}
			err = json.Unmarshal(text, &nested)
			if err == nil {
				err = json.Unmarshal([]byte(cmp.Or(string(nested.Function), string(text))), &tool)
			}
			if err != nil {
				t.Fatal(err)
			}
			if tool.InputSchema != nil {
				tool.Parameters, tool.InputSchema = tool.InputSchema, nil
			}
			if text, err = json.Marshal(tool); err != nil {
				t.Fatal(err)
			}
		case dialect.LayerToolCalls:
			if err := text.Compact(); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, fmt.Sprintf("%s %s", b.Layer, digest(text)))
	}
	return toolsFirst(list)
}

// toolsFirst moves the tools to the front: a request has them in a member of their own.
func toolsFirst(blocks []string) []string {
	var tools, rest []string
	for _, b := range blocks {
		if strings.HasPrefix(b, "tools ") {
			tools = append(tools, b)
		} else {
			rest = append(rest, b)
		}
	}
	return append(tools, rest...)
}

// told is what an adapter tells of the windows of a conversation.
type told struct {
	fidelity schema.Fidelity
	reasons  []string
}

// byLibrary are the names of conversations, by their first word.
func byLibrary(adapters map[string]told) map[string][]string {
	names := make(map[string][]string)
	for name := range adapters {
		library, _, _ := strings.Cut(name, " ")
		names[library] = append(names[library], name)
	}
	return names
}

// withLibraries returns Node.js in a folder with the packages of the frameworks. Its folder app has
// the SDK, as a user installs it, and copies of files.
func withLibraries(t *testing.T, files ...string) *realclient.Client {
	t.Helper()
	client := realclient.Library(t)
	app := filepath.Join(client.Dir, "app")
	err := os.CopyFS(filepath.Join(app, "node_modules", "@ctxledger", "sdk"), os.DirFS("typescript"))
	for _, file := range files {
		text, readErr := os.ReadFile(file)
		err = errors.Join(err, readErr, os.WriteFile(filepath.Join(app, filepath.Base(file)), text, 0o600))
	}
	if err = errors.Join(err, os.WriteFile(filepath.Join(app, "package.json"), []byte(`{"type":"module"}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	return client
}

// TestTypesCompile compiles the SDK's types, a program that uses them and the frameworks, and the
// example with the real compiler, strictly. Only the example may have parameters without a type.
func TestTypesCompile(t *testing.T) {
	t.Parallel()
	files := []string{filepath.Join("testdata", "types.ts"), filepath.Join("typescript", "examples", "agent.mjs")}
	declared := []string{filepath.Join("app", "types.ts")}
	for _, name := range []string{"index", "facts", "ai", "langchain", "openai-agents"} {
		files = append(files, filepath.Join("typescript", name+".d.ts"))
		declared = append(declared, filepath.Join("app", name+".ts")) // the compiler looks into no .d.ts with skipLibCheck
	}
	client := withLibraries(t, files...)
	for _, path := range declared[1:] {
		path = filepath.Join(client.Dir, path)
		if err := os.Rename(strings.TrimSuffix(path, ".ts")+".d.ts", path); err != nil {
			t.Fatal(err)
		}
	}
	compile := func(args ...string) {
		t.Helper()
		strict := []string{
			filepath.Join("node_modules", "typescript", "bin", "tsc"), "--noEmit", "--strict", "--skipLibCheck", "--target", "es2023", "--module", "nodenext",
			"--types", "node", "--typeRoots", filepath.Join("node_modules", "@types"),
		}
		if out, err := client.Try(t.Context(), append(strict, args...)...); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	compile(declared...)
	compile("--allowJs", "--checkJs", "--noImplicitAny", "false", "--maxNodeModuleJsDepth", "0", filepath.Join("app", "agent.mjs"))
}

// TestAdapters lets real frameworks talk to a model through the adapters. The blocks of each
// recorded window are those that the model received, and values that the framework does not tell
// are absent.
func TestAdapters(t *testing.T) {
	t.Parallel()
	client := withLibraries(t, filepath.Join("testdata", "adapters.mjs"))
	model := modelserver.New(t, adding)
	bus, server := start(t)
	adapters := map[string]told{
		"ai anthropic whole":        {schema.FidelityStated, nil},
		"ai chat stream":            {schema.FidelityStated, nil},
		"ai responses whole":        {schema.FidelityStated, nil},
		"langchain anthropic whole": {schema.FidelityReported, nil},
		"langchain chat stream":     {schema.FidelityReported, nil},
		"langchain responses whole": {schema.FidelityReported, nil},
		"agents chat whole":         {schema.FidelityReported, []string{"tools_unknown"}},
		"agents responses stream":   {schema.FidelityReported, []string{"system_unknown", "tools_unknown"}},
	}
	t.Run("talk", func(t *testing.T) {
		for library, names := range byLibrary(adapters) {
			t.Run(library, func(t *testing.T) {
				t.Parallel()
				out := client.Run(t, append([]string{filepath.Join("app", "adapters.mjs"), model.URL, server.URL, keyText}, names...)...)
				checkSaid(t, out, names)
			})
		}
	})
	checkWindows(t, bus.Events(t), model.Calls(), adapters)
}

// TestPythonAdapters lets stand-ins of the frameworks talk to a model through Python's adapters.
// The frameworks themselves are not run.
func TestPythonAdapters(t *testing.T) {
	t.Parallel()
	standin, err := filepath.Abs(filepath.Join("testdata", "standin"))
	if err != nil {
		t.Fatal(err)
	}
	model := modelserver.New(t, adding)
	bus, server := start(t)
	adapters := map[string]told{"langchain stand-in": {schema.FidelityReported, nil}, "agents stand-in": {schema.FidelityReported, nil}}
	for _, names := range byLibrary(adapters) {
		checkSaid(t, string(languages[1].run(t, "", "adapters", append([]string{standin, model.URL, server.URL, keyText}, names...)...)), names)
	}
	checkWindows(t, bus.Events(t), model.Calls(), adapters)
}

func checkSaid(t *testing.T, out string, names []string) {
	t.Helper()
	if want := strings.Join(names, ": the sum is 3\n") + ": the sum is 3\n"; out != want {
		t.Errorf("the client says %s", out)
	}
}

// checkWindows compares the windows of each session with the requests that the model received.
func checkWindows(t *testing.T, events []*schema.Event, requests []*modelserver.Request, adapters map[string]told) {
	t.Helper()
	ring, err := schema.ParseKeyRing([]byte(keyText))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range adapters {
		var received [][]string
		for _, call := range requests {
			if bytes.Contains(call.Body, []byte(`"`+name+`"`)) {
				blocks := pieces(t, call, ring.Current().Digest)
				received = append(received, slices.DeleteFunc(blocks, func(b string) bool {
					layer, _, _ := strings.Cut(b, " ")
					return slices.Contains(want.reasons, layer+"_unknown")
				}))
			}
		}
		calls, items := 0, make(map[string]bool)
		for _, e := range events {
			if e.SessionID != name {
				continue
			}
			fact, found := schema.Validate(e)
			if len(found) > 0 {
				t.Errorf("%s: %v", name, found)
			}
			switch f := fact.(type) {
			case *schema.ItemAdded:
				if items[f.ItemID] {
					t.Errorf("%s: the item %s is there twice", name, f.ItemID)
				}
				items[f.ItemID] = true
			case *schema.AssemblyCreated:
				var blocks []string
				for _, b := range f.OrderedBlocks {
					blocks = append(blocks, b.Layer+" "+b.Digest)
				}
				if calls++; calls > len(received) || !slices.Equal(toolsFirst(blocks), received[calls-1]) {
					t.Errorf("%s: call %d has the window\n%q\nnot\n%q", name, calls, blocks, received[min(calls, len(received))-1])
				}
				if f.Fidelity != want.fidelity || !slices.Equal(f.CoverageReasons, want.reasons) {
					t.Errorf("%s: %s %s %q", name, f.Fidelity, f.Coverage, f.CoverageReasons)
				}
			case *schema.UsageRecorded:
				u := f.Usage
				if u.UncachedInput == nil || *u.UncachedInput != 100 || *u.CacheRead != 40 || u.Output == nil || *u.Output != 9 || f.ProviderMessageID == "" || e.Agent != "adder" {
					t.Errorf("%s: %s", name, e.Data)
				}
			}
		}
		sealed := slices.ContainsFunc(events, func(e *schema.Event) bool { return e.SessionID == name && e.EventType() == schema.TypeEnvelopeCreated })
		if calls != 2 || len(items) < 4 || !sealed {
			t.Errorf("%s: %d calls with %d items, sealed %t", name, calls, len(items), sealed)
		}
	}
}
