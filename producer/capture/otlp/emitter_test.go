package otlp

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
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
	body, err := gzip.NewReader(in.Body)
	var text []byte
	if err == nil {
		text, err = io.ReadAll(body)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var found Read
	if err == nil {
		found, err = Traces(text, in.Header.Get("Content-Type") == "application/json")
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
