package proxy

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer/producertest/modelserver"
	"github.com/ctxledger/ctxledger/producer/producertest/realclient"
	"github.com/ctxledger/ctxledger/schema"
)

// adder is a model that calls the tool add twice and then says the sums. It refuses the second
// call of a conversation that says retry once, waits for one that says abort, breaks off for one that
// says cut, sends slow bytes to one that says stream, and an event that is no JSON to one that says
// malformed.
func adder() modelserver.Script {
	refused := make(map[string]bool)
	return func(r *modelserver.Request) modelserver.Answer {
		a := modelserver.Answer{Usage: modelserver.Usage{Input: int64(100 + r.Number), CacheRead: 40, Output: 9, Reasoning: 4}}
		if r.Dialect != modelserver.OpenAIResponses {
			a.Usage.Reasoning = 0
		}
		body := r.Whole()
		if bytes.Contains(body, []byte(" abort")) {
			a.Fault.Delay = 400 * time.Millisecond
		}
		if bytes.Contains(body, []byte(" cut")) {
			a.Fault.CutAfter = 3
		}
		if bytes.Contains(body, []byte(" stream")) {
			a.Fault.Piece, a.Fault.Pause = 64, time.Millisecond // slow bytes
		}
		if bytes.Contains(body, []byte(" malformed")) {
			a.Fault.Malformed = "data: {\"type\": \"content\n\n"
		}
		results := bytes.Count(body, []byte(`1 + 2 = 3`)) + bytes.Count(body, []byte(`3 + 4 = 7`))
		if at := bytes.Index(body, []byte(" retry")); at >= 0 && results == 1 {
			name := string(body[bytes.LastIndexByte(body[:at], '"'):at])
			if !refused[name] {
				refused[name] = true
				a.Fault.Status, a.Fault.Header = http.StatusServiceUnavailable, http.Header{"Retry-After-Ms": {"10"}}
			}
		}
		switch {
		case bytes.Contains(body, []byte(" abort")) || results > 1:
			a.Parts = []modelserver.Part{modelserver.Text("the sums are 3 and 7")}
		case results == 1:
			a.Parts = []modelserver.Part{modelserver.Text("and more"), modelserver.Call("add", `{"a":3,"b":4}`)}
		default:
			a.Parts = []modelserver.Part{modelserver.Call("add", `{"a":1,"b":2}`)}
		}
		return a
	}
}

// abandoned returns how many answered calls say abort.
func abandoned(server *modelserver.Server) (n int) {
	for _, call := range server.Calls() {
		if bytes.Contains(call.Body, []byte(" abort")) {
			n++
		}
	}
	return n
}

// TestClientLibraries lets the client libraries talk to a model with tools, whole and as streams,
// with refused, abandoned, cut, slow and malformed calls. All of them share one gateway.
func TestClientLibraries(t *testing.T) {
	t.Parallel()
	client := realclient.Library(t)
	server, r := modelserver.New(t, adder()), newRig(t)
	base := gateway(t, server.URL, r.Recorder) + "/model"
	said := make([]string, len(realclient.Libraries))
	t.Run("talk", func(t *testing.T) {
		for i, library := range realclient.Libraries {
			t.Run(library, func(t *testing.T) {
				t.Parallel()
				said[i] = client.Run(t, "talk.mjs", library, base)
			})
		}
	})
	conversations := 0
	for line := range strings.Lines(strings.Join(said, "")) {
		if conversations++; !strings.HasSuffix(line, ": the sums are 3 and 7\n") && !strings.HasSuffix(line, ": left\n") && !strings.HasSuffix(line, " malformed: went on\n") {
			t.Errorf("a client says %s", line)
		}
	}
	for deadline := time.Now().Add(10 * time.Second); abandoned(server) < 2 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond) // the provider still works for the clients that left
	}
	r.same(t, server)
	sessions := make(map[string]bool)
	for _, e := range r.facts.Events().Of(schema.TypeAssemblyCreated) {
		sessions[e.SessionID] = true
	}
	if conversations != 40 || len(sessions) != conversations {
		t.Errorf("%d sessions of %d conversations", len(sessions), conversations)
	}
}
