package sdk

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer/producertest/modelserver"
	"github.com/ctxledger/ctxledger/schema"
)

// TestSnippetsOfAdapters runs the programs of the page of the TypeScript SDK as they stand, with the real
// frameworks. Each turn has the window that the model received, its usage and its seal.
func TestSnippetsOfAdapters(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("typescript", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	client := withLibraries(t, filepath.Join("testdata", "loopback.mjs"))
	bus, server := start(t)
	model := modelserver.New(t, func(*modelserver.Request) modelserver.Answer {
		return modelserver.Answer{Usage: modelserver.Usage{Input: 100, CacheRead: 40, Output: 9}, Parts: []modelserver.Part{modelserver.Text("hello")}}
	})
	client.Env = append(client.Env, "OPENAI_API_KEY=sk-no-key", "OPENAI_BASE_URL="+model.URL+"/v1", "CTXLEDGER_URL="+server.URL)
	var sessions []string
	for i, rest := range strings.Split(string(page), "```ts\n") {
		program, _, closed := strings.Cut(rest, "```")
		if i == 0 || !closed || strings.Contains(program, "nats://") {
			continue
		}
		session := "s_" + fmt.Sprint(len(sessions)+1)
		if !strings.Contains(program, `"`+session+`"`) {
			t.Errorf("the snippet has not the session %s:\n%s", session, program)
		}
		sessions = append(sessions, session)
		path := filepath.Join("app", session+".mjs") // it has no types
		if err := os.WriteFile(filepath.Join(client.Dir, path), []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
		if out := client.Run(t, "--import", "./"+filepath.Join("app", "loopback.mjs"), path); out != "hello\n" {
			t.Errorf("%s printed %s", session, out)
		}
	}
	requests := model.Calls()
	if len(sessions) != 3 || len(requests) != 3 {
		t.Fatalf("%d snippets and %d requests", len(sessions), len(requests))
	}
	for i, session := range sessions {
		var types []string
		for _, e := range bus.Events(t) {
			if e.SessionID != session {
				continue
			}
			fact, found := schema.Validate(e)
			if len(found) > 0 {
				t.Errorf("%s: %v", session, found)
			}
			types = append(types, strings.TrimPrefix(string(e.EventType()), "context."))
			switch f := fact.(type) {
			case *schema.AssemblyCreated:
				var blocks []string
				for _, b := range f.OrderedBlocks {
					blocks = append(blocks, b.Layer)
				}
				if want := layersOf(t, requests[i], f.CoverageReasons); !slices.Equal(blocks, want) {
					t.Errorf("%s: the window has the layers %q, not %q", session, blocks, want)
				}
			case *schema.UsageRecorded:
				if u := f.Usage; u.UncachedInput == nil || *u.UncachedInput != 100 || u.CacheRead == nil || *u.CacheRead != 40 || u.Output == nil || *u.Output != 9 {
					t.Errorf("%s: %s", session, e.Data)
				}
			}
		}
		for _, want := range []string{"scope.opened", "assembly.created", "injection.applied", "usage.recorded", "envelope.created"} {
			if !slices.Contains(types, want) {
				t.Errorf("%s has no %s: %q", session, want, types)
			}
		}
	}
}

// layersOf returns the layers of a request's blocks without those that the framework does not tell.
func layersOf(t *testing.T, r *modelserver.Request, unknown []string) (list []string) {
	t.Helper()
	for _, piece := range pieces(t, r, func([]byte) string { return "" }) {
		if layer := strings.TrimSpace(piece); !slices.Contains(unknown, layer+"_unknown") {
			list = append(list, layer)
		}
	}
	return list
}
