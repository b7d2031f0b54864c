package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/ctxledger/ctxledger/producer/producertest/modelserver"
	"github.com/ctxledger/ctxledger/schema"
)

// TestFaults: slow bytes, malformed events and cut answers pass byte for byte in each dialect, whole,
// as a stream and by WebSocket. Each call is recorded once, and what of it could not be read is counted.
func TestFaults(t *testing.T) {
	t.Parallel()
	events := []string{"data: hello\n\n", "data: {\"type\":\"content_bl\n\n", "data: [1]\n\n", "data: \xff\xfe\n\n", "data: {\"usage\":1e999}x\n\n", "data: \"\x00\"\n\n"}
	bodies := []string{"<html>502</html>", `{"id":"x","usage":{"input_tokens":5`, "[]", "\xff\xfe\x00"}
	messages := []string{"hello", `{"type":"response.output_te`, "[1]", "\"\x00\""}
	for name, test := range map[string]struct {
		path, member string
		malformed    []string
	}{
		"messages":                    {"/v1/messages", `"messages":[{"role":"user","content":%q}]`, bodies},
		"messages as a stream":        {"/v1/messages", `"stream":true,"messages":[{"role":"user","content":%q}]`, events},
		"chat":                        {"/v1/chat/completions", `"messages":[{"role":"user","content":%q}]`, bodies},
		"chat as a stream":            {"/v1/chat/completions", `"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":%q}]`, events},
		"responses":                   {"/v1/responses", `"input":%q`, bodies},
		"responses as a stream":       {"/v1/responses", `"stream":true,"input":%q`, events},
		"responses on one connection": {"", `"type":"response.create","input":%q`, messages},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := modelserver.Answer{
				Parts: []modelserver.Part{modelserver.Text("an änswer"), modelserver.Call("Bash", `{"command":"date"}`)},
				Usage: modelserver.Usage{Input: 10, CacheRead: 4, Output: 6},
			}
			var answers []modelserver.Answer
			add := func(f modelserver.Fault) {
				a := answer
				a.Fault = f
				answers = append(answers, a)
			}
			for _, text := range test.malformed {
				add(modelserver.Fault{Malformed: text})
			}
			add(modelserver.Fault{Piece: 1})
			add(modelserver.Fault{Piece: 7, Malformed: test.malformed[0]})
			add(modelserver.Fault{Piece: 11, CutAfter: 3})
			server, r := modelserver.New(t, modelserver.Sequence(answers...)), newRig(t)
			base := gateway(t, server.URL, r.Recorder) + "/model"
			ask := posting(t, base+test.path)
			if test.path == "" {
				ask = talking(t, base+"/v1/responses")
			}
			for i := range answers {
				got := ask(`{"model":"m",` + fmt.Sprintf(test.member, fmt.Sprint("question ", i)) + `}`)
				if calls := server.Calls(); len(calls) > i && got != string(calls[i].Sent) { // a cut call may not be kept yet
					t.Errorf("answer %d is %q, want %q", i, got, calls[i].Sent)
				}
			}
			server.Close()
			r.same(t, server)
			if n := r.Counts(); n.Exchanges != int64(len(answers)) || n.Unread+n.Dropped+n.Refused > 0 {
				t.Errorf("%+v", n)
			}
			unread := 0
			for _, e := range r.facts.Events().Of(schema.TypeUsageRecorded) {
				if e.Fact.(*schema.UsageRecorded).Metadata["unread_events"] != nil {
					unread++
				}
			}
			if unread < len(test.malformed)+1 {
				t.Errorf("%d calls have malformed parts, %d say so", len(test.malformed)+1, unread)
			}
		})
	}
}

// posting returns a function that posts a request and returns the answer as far as it came.
func posting(t *testing.T, address string) func(body string) string {
	return func(body string) string {
		response, err := http.Post(address, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return string(text)
	}
}

// talking returns a function that sends a request on a WebSocket and returns the events up to the
// last one, a line each.
func talking(t *testing.T, address string) func(message string) string {
	conn, _, err := websocket.Dial(t.Context(), address, &websocket.DialOptions{CompressionMode: websocket.CompressionContextTakeover})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return func(message string) string {
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
			t.Fatal(err)
		}
		var events []byte
		for {
			_, event, err := conn.Read(t.Context())
			if err != nil {
				return string(events)
			}
			events = append(append(events, event...), '\n')
			if bytes.Contains(event, []byte(`"type":"response.completed"`)) {
				return string(events)
			}
		}
	}
}
