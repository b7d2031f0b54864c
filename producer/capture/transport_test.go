package capture

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
	"github.com/ctxledger/ctxledger/producer/capture/observe"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/producertest/modelserver"
	"github.com/ctxledger/ctxledger/schema"
)

// received returns the equality digests of the blocks that a server received.
func received(t testing.TB, ring schema.KeyRing, d dialect.Dialect, body []byte) (list []string) {
	t.Helper()
	request, err := d.ReadRequest(body)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range request.Blocks {
		list = append(list, ring.Equality().EqualityDigest(sha256.Sum256(observe.Canonical(b.Raw))))
	}
	return list
}

// recorded returns the equality digests of the blocks of each call, in the order of the calls.
func recorded(events producertest.Events) (list [][]string) {
	byID := make(map[string][]string)
	for _, e := range events.Of(schema.TypeAssemblyCreated) {
		a := e.Fact.(*schema.AssemblyCreated)
		if a.BaseAssemblyID != "" {
			byID[a.AssemblyID] = slices.Clone(byID[a.BaseAssemblyID][:*a.Keep])
		}
		for _, b := range a.OrderedBlocks {
			byID[a.AssemblyID] = append(byID[a.AssemblyID], b.EqualityDigest)
		}
		list = append(list, byID[a.AssemblyID])
	}
	return list
}

// TestTransport: the blocks of each call are those that the model server received, and the usage
// is what it sent; a failure and a broken stream are calls too.
func TestTransport(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of       dialect.Dialect
		path     string
		requests []string
	}{
		{dialect.AnthropicMessages, "/v1/messages", []string{
			`{"model":"m","max_tokens":9,"stream":true,"system":"s","messages":[{"role":"user","content":"one"}]}`,
			`{"model":"m","max_tokens":9,"system":"s","messages":[{"role":"user","content":[{"type":"text","text":"one","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":"a"},{"role":"user","content":"two"}]}`,
			`{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"three"}]}`, `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"four"}]}`}},
		{dialect.OpenAIChat, "/v1/chat/completions", []string{
			`{"model":"g","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"one"}]}`, `{"model":"g","messages":[{"role":"user","content":"one"},{"role":"user","content":"two"}]}`,
			`{"model":"g","stream":true,"messages":[{"role":"user","content":"three"}]}`, `{"model":"g","stream":true,"messages":[{"role":"user","content":"four"}]}`}},
		{dialect.OpenAIResponses, "/v1/responses", []string{
			`{"model":"g","stream":true,"instructions":"s","input":"one"}`, `{"model":"g","input":[{"type":"message","role":"user","content":"one"}]}`,
			`{"model":"g","stream":true,"input":"three"}`, `{"model":"g","stream":true,"input":"four"}`}},
	} {
		usage := modelserver.Usage{Input: 10, CacheRead: 4, Output: 6}
		server := modelserver.New(t, modelserver.Sequence(
			modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("an answer")}, Usage: usage},
			modelserver.Answer{Parts: []modelserver.Part{modelserver.Call("Bash", `{"command":"date"}`)}, Usage: usage},
			modelserver.Answer{Fault: modelserver.Fault{Status: 429}},
			modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("a longer answer")}, Usage: usage, Fault: modelserver.Fault{CutAfter: 2}},
		))
		rec, ring := new(producertest.Recorder), keys(t)
		r := open(t, rec, func(c *Config) { c.Keys = ring })
		client := &http.Client{Transport: &Transport{Recorder: r}}
		for _, body := range c.requests {
			response, err := client.Post(server.URL+c.path, "application/json", bytes.NewReader([]byte(body)))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
			if err := r.Flush(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		calls, windows, usages := server.Calls(), recorded(rec.Events()), rec.Events().Of(schema.TypeUsageRecorded)
		if len(calls) != 4 || len(windows) != 4 || len(usages) != 4 {
			t.Fatalf("%s: %d calls, %d windows, %d usages", c.of, len(calls), len(windows), len(usages))
		}
		for i, call := range calls {
			if want := received(t, ring, c.of, call.Body); !slices.Equal(windows[i], want) {
				t.Errorf("%s: call %d has %d blocks, want %d", c.of, i, len(windows[i]), len(want))
			}
			u := usages[i].Fact.(*schema.UsageRecorded)
			switch i {
			case 0, 1:
				if *u.Usage.UncachedInput != 10 || *u.Usage.CacheRead != 4 || *u.Usage.Output != 6 || u.ProviderMessageID != call.MessageID {
					t.Errorf("%s: call %d has the usage %+v, id %q, want id %q", c.of, i, u.Usage, u.ProviderMessageID, call.MessageID)
				}
			case 2:
				if u.Metadata["attempt"] != true || u.Usage.Output != nil {
					t.Errorf("%s: the failed call has %+v %v", c.of, u.Usage, u.Metadata)
				}
			case 3:
				if u.Metadata["incomplete_response"] != true && u.Metadata["attempt"] != true {
					t.Errorf("%s: the cut call has %v", c.of, u.Metadata)
				}
			}
		}
		rec.Check(t)
	}
}

// TestTransportWithoutRecorder: nothing changes.
func TestTransportWithoutRecorder(t *testing.T) {
	t.Parallel()
	server := modelserver.New(t, modelserver.Sequence(modelserver.Answer{}))
	response, err := (&http.Client{Transport: new(Transport)}).Post(server.URL+"/v1/messages", "application/json", bytes.NewReader([]byte(`{"model":"m","messages":[]}`)))
	if err != nil || response.StatusCode != 200 {
		t.Fatal(err)
	}
	response.Body.Close()
}
