package otlp

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
	"github.com/ctxledger/ctxledger/producer/gateway"
	"github.com/ctxledger/ctxledger/producer/producertest/modelserver"
	"github.com/ctxledger/ctxledger/producer/producertest/realclient"
)

// receiver reads the traces of an emitter.
type receiver struct {
	mu   sync.Mutex
	read Read
	errs []error
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	body, err := io.Reader(in.Body), error(nil)
	if in.Header.Get("Content-Encoding") == "gzip" {
		body, err = gzip.NewReader(in.Body)
	}
	var text []byte
	if err == nil {
		text, err = io.ReadAll(body)
	}
	read := map[string]func([]byte, bool) (Read, error){gateway.TracesPath: Traces, gateway.LogsPath: Logs}[in.URL.Path]
	if read == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var found Read
	if err == nil {
		found, err = read(text, in.Header.Get("Content-Type") == "application/json")
	}
	r.read.Calls, r.read.Left, r.read.Refused = append(r.read.Calls, found.Calls...), r.read.Left+found.Left, r.read.Refused+found.Refused
	if err != nil {
		r.errs = append(r.errs, err)
	}
	w.Header().Set("Content-Type", in.Header.Get("Content-Type"))
}

// TestEmitters lets real emitters tell of a conversation of two calls. Each window is the one that
// the model received, block by block.
func TestEmitters(t *testing.T) {
	t.Parallel()
	client := realclient.Emitter(t)
	server := modelserver.New(t, func(r *modelserver.Request) modelserver.Answer {
		a := modelserver.Answer{Usage: modelserver.Usage{Input: 100, CacheRead: 40, Output: 9}}
		if a.Parts = []modelserver.Part{modelserver.Call("add", `{"a":1,"b":2}`)}; bytes.Contains(r.Whole(), []byte("1 + 2 = 3")) {
			a.Parts = []modelserver.Part{modelserver.Text("the sum is 3")}
		}
		return a
	})
	for _, emitter := range realclient.Emitters {
		t.Run(emitter, func(t *testing.T) {
			t.Parallel()
			r := &receiver{}
			otlp := httptest.NewServer(r)
			defer otlp.Close()
			if out := client.Run(t, "emit.mjs", emitter, server.URL, otlp.URL); out != "the sum is 3\n" {
				t.Errorf("the client says %s", out)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			if len(r.errs) > 0 || r.read.Refused > 0 || len(r.read.Calls) != 2 {
				t.Fatalf("%d calls, %d refused, %v", len(r.read.Calls), r.read.Refused, r.errs)
			}
			slices.SortFunc(r.read.Calls, func(a, b Call) int { return a.At.Compare(b.At) }) // each span has its own request, which may arrive late
			var received []*modelserver.Request
			for _, call := range server.Calls() {
				if bytes.Contains(call.Body, []byte(`"`+emitter+`"`)) {
					received = append(received, call)
				}
			}
			for i, call := range r.read.Calls {
				want, err := call.Exchange.Dialect.ReadRequest(received[i].Body)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := blocksOf(t, call.Exchange.Request.Blocks), blocksOf(t, want.Blocks); got != want {
					t.Errorf("call %d has the window\n%s\nnot\n%s", i+1, got, want)
				}
				u := call.Exchange.Answer.Usage
				if len(call.Partial) > 0 || u.Output == nil || *u.Output != 9 || emitter != "openllmetry" && (u.UncachedInput == nil || *u.UncachedInput != 100 || *u.CacheRead != 40) {
					t.Errorf("call %d: %v, usage %+v", i+1, call.Partial, call.Exchange.Answer.Raw)
				}
			}
		})
	}
}

// TestClaudeCodeTells lets the real Claude Code send its own log events. Each call has the usage
// that the model billed, and the session of the client; its window is unknown.
func TestClaudeCodeTells(t *testing.T) {
	t.Parallel()
	usage := modelserver.Usage{Input: 20, CacheRead: 1000, CacheWrite5m: 70, Output: 9}
	server := modelserver.New(t, modelserver.Sequence(
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Call("Bash", `{"command":"echo one"}`)}, Usage: usage},
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("it is done")}, Usage: usage},
	))
	r := &receiver{}
	otlp := httptest.NewServer(r)
	defer otlp.Close()
	client := realclient.ClaudeCode(t, server.URL)
	client.KeepBodies(t, otlp.URL)
	if out := client.Run(t, "-p", "echo one", "--allowedTools", "Bash", "--output-format", "json"); !strings.Contains(out, "it is done") {
		t.Errorf("the client printed %s", out)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.errs) > 0 || r.read.Refused > 0 || len(r.read.Calls) != 2 || r.read.Left == 0 {
		t.Fatalf("%d calls, %d left, %d refused, %v", len(r.read.Calls), r.read.Left, r.read.Refused, r.errs)
	}
	session := server.Calls()[0].Header.Get("X-Claude-Code-Session-Id")
	for _, call := range r.read.Calls {
		u := call.Exchange.Answer.Usage
		if call.Session != session || call.Agent != "claude-code" || len(call.Exchange.Request.Blocks) > 0 || call.Exchange.Request.Model == "" {
			t.Errorf("the call is %+v; the session is %s", call, session)
		}
		if u.UncachedInput == nil || *u.UncachedInput != 20 || *u.CacheRead != 1000 || *u.CacheWrite != 70 || *u.Output != 9 {
			t.Errorf("the usage is %v", call.Exchange.Answer.Raw)
		}
	}
}

// TestCodexTells lets the real Codex send its own log events.
func TestCodexTells(t *testing.T) {
	t.Parallel()
	usage := modelserver.Usage{Input: 50, CacheRead: 30, Output: 9, Reasoning: 4}
	server := modelserver.New(t, modelserver.Sequence(
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Call("exec_command", `{"cmd":"echo one"}`)}, Usage: usage},
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("it is done")}, Usage: usage},
	))
	r := &receiver{}
	otlp := httptest.NewServer(r)
	defer otlp.Close()
	client := realclient.Codex(t, server.URL)
	client.Tell(t, otlp.URL+gateway.LogsPath)
	if out := client.Run(t, "exec", "--skip-git-repo-check", "echo one"); !strings.Contains(out, "it is done") {
		t.Errorf("the client printed %s", out)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.errs) > 0 || r.read.Refused > 0 || len(r.read.Calls) != 2 || r.read.Left == 0 {
		t.Fatalf("%d calls, %d left, %d refused, %v", len(r.read.Calls), r.read.Left, r.read.Refused, r.errs)
	}
	for _, call := range r.read.Calls {
		u := call.Exchange.Answer.Usage
		if call.Session == "" || call.Unnamed || call.Session != r.read.Calls[0].Session || !strings.HasPrefix(call.Agent, "codex") || call.Exchange.Request.Model != "gpt-5" {
			t.Errorf("the call is %+v", call)
		}
		if u.UncachedInput == nil || *u.UncachedInput != 50 || *u.CacheRead != 30 || *u.Output != 5 || *u.Reasoning != 4 {
			t.Errorf("the usage is %v", call.Exchange.Answer.Raw)
		}
	}
}

// blocksOf writes blocks with their layers, ids and texts. JSON is written in one form. Empty texts
// are left out, as OpenLLMetry does.
func blocksOf(t *testing.T, blocks []dialect.Block) string {
	t.Helper()
	var b strings.Builder
	for _, block := range blocks {
		if block.Readable() && len(block.Text) == 0 {
			continue
		}
		text := string(block.Text)
		var value any
		if json.Unmarshal(block.Text, &value) == nil {
			sorted, err := json.Marshal(value, json.Deterministic(true))
			if err != nil {
				t.Fatal(err)
			}
			text = string(sorted)
		}
		fmt.Fprintf(&b, "%s %s %s\n", block.Layer, block.ID, text)
	}
	return b.String()
}
