package modelserver_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer/producertest/modelserver"
)

func post(t *testing.T, url, body string) (status int, answer string, err error) {
	t.Helper()
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

var answers = modelserver.Answer{
	Parts: []modelserver.Part{
		modelserver.Reasoning("thinkö"), modelserver.Text("héllo"),
		{Kind: modelserver.KindCall, Name: "run", Input: `{"a":1}`, ID: "call-7"},
	},
	Usage: modelserver.Usage{Input: 10, CacheRead: 20, CacheWrite5m: 3, CacheWrite1h: 4, Output: 6, Reasoning: 2},
}

// TestDialects asks in each dialect for the same answer, whole and as a stream.
func TestDialects(t *testing.T) {
	t.Parallel()
	server := modelserver.New(t, modelserver.Sequence(answers))
	for _, test := range []struct {
		path, body string
		dialect    modelserver.Dialect
		want       []string
	}{
		{"/v1/messages?beta=true", `{"model":"m"}`, modelserver.AnthropicMessages, []string{`"stop_reason":"tool_use"`, `"cache_creation_input_tokens":7`, `"input":{"a":1}`}},
		{"/v1/messages", `{"model":"m","stream":true}`, modelserver.AnthropicMessages, []string{"event: message_start", `"partial_json":"{\"a\":1}"`, `"ephemeral_1h_input_tokens":4`, "event: message_stop"}},
		{"/v1/responses", `{"model":"m"}`, modelserver.OpenAIResponses, []string{`"status":"completed"`, `"cached_tokens":20`, `"input_tokens":30`}},
		{"/v1/responses", `{"model":"m","stream":true}`, modelserver.OpenAIResponses, []string{"event: response.created", `"call_id":"call-7"`, "event: response.completed", `"reasoning_tokens":2`}},
		{"/v1/chat/completions", `{"model":"m"}`, modelserver.OpenAIChat, []string{`"finish_reason":"tool_calls"`, `"prompt_tokens":30`}},
		{"/v1/chat/completions", `{"model":"m","stream":true,"stream_options":{"include_usage":true}}`, modelserver.OpenAIChat, []string{`"content":"héllo"`, `"total_tokens":36`, "data: [DONE]"}},
	} {
		status, answer, err := post(t, server.URL+test.path, test.body)
		if err != nil || status != http.StatusOK {
			t.Errorf("%s: status %d, %v", test.path, status, err)
		}
		for _, want := range test.want {
			if !strings.Contains(answer, want) {
				t.Errorf("%s: %s is not in %s", test.path, want, answer)
			}
		}
		calls := server.Calls()
		last := calls[len(calls)-1]
		if string(last.Body) != test.body || last.Target != test.path || last.Dialect != test.dialect || string(last.Sent) != answer || last.Model != "m" {
			t.Errorf("%s: the server kept %+v", test.path, last)
		}
	}
	if status, _, _ := post(t, server.URL+"/v1/messages/count_tokens", "{}"); status != http.StatusOK {
		t.Errorf("a count has status %d", status)
	}
	if status, _, _ := post(t, server.URL+"/v1/nothing", "{}"); status != http.StatusNotFound {
		t.Errorf("an unknown path has status %d", status)
	}
	if all, calls := len(server.Requests()), len(server.Calls()); all != 8 || calls != 6 {
		t.Errorf("%d requests and %d calls", all, calls)
	}
}

// TestFaults meets each fault once, and then the answer.
func TestFaults(t *testing.T) {
	t.Parallel()
	fault := func(f modelserver.Fault) modelserver.Answer {
		a := answers
		a.Fault = f
		return a
	}
	server := modelserver.New(t, modelserver.Sequence(
		fault(modelserver.Fault{Status: http.StatusTooManyRequests, RetryAfter: 2 * time.Second}),
		fault(modelserver.Fault{Status: http.StatusInternalServerError}),
		fault(modelserver.Fault{CutAfter: 3}),
		fault(modelserver.Fault{StreamError: true}),
		fault(modelserver.Fault{Piece: 9, Pause: time.Microsecond, Malformed: "data: {\n\n"}),
		answers,
	))
	const body = `{"model":"m","stream":true}`
	for i, want := range []struct {
		status int
		text   string
		cut    bool
	}{{429, "rate_limit_error", false}, {500, "api_error", false}, {200, "message_start", true}, {200, "event: error", false}, {200, "\n\ndata: {\n\nevent: content_block_start", false}, {200, "message_stop", false}} {
		status, answer, err := post(t, server.URL+"/v1/messages", body)
		if status != want.status || !strings.Contains(answer, want.text) || (err != nil) != want.cut {
			t.Errorf("answer %d: status %d, %v, %s", i, status, err, answer)
		}
	}
	if calls := server.Calls(); len(calls) != 6 || calls[0].MessageID != "" || calls[2].MessageID == "" {
		t.Errorf("%d calls", len(calls))
	}
}
