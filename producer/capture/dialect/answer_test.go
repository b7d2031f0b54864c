package dialect

import (
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"
)

const sse = "text/event-stream; charset=utf-8"

// streams are streams of each dialect, each with the answer that it tells.
var streams = map[string]struct {
	of     Dialect
	body   string
	blocks string
	usage  string
}{
	"anthropic": {AnthropicMessages, "event: message_start\r\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"model\":\"m\",\"usage\":{\"input_tokens\":3,\"cache_read_input_tokens\":5,\"cache_creation_input_tokens\":7,\"cache_creation\":{\"ephemeral_5m_input_tokens\":3,\"ephemeral_1h_input_tokens\":4},\"output_tokens\":1}}}\r\n\r\n" +
		": comment\n\nevent: x\ndata: {\"type\":\"ping\"}\n\n" +
		"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
		"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"h\\u00e9\"}}\n\n" +
		"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"llo\"}}\r\r" +
		"data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Bash\",\"input\":{}}}\n\n" +
		"data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\":\"}}\n\n" +
		"data: {\"type\":\"content_block_delta\",\"index\":1,\ndata: \"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"1}\"}}\n\n" +
		"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":20},\"context_management\":{\"applied_edits\":[{\"type\":\"clear_tool_uses_20250919\"}]}}\n\n" +
		"data: {\"type\":\"message_stop\"}\n\n",
		"assistant assistant_message role=assistant id= name= m=-1 \"héllo\"\ntool_calls tool_call role=assistant id=t1 name=Bash m=-1 \"{\\\"a\\\":1}\"\n",
		`{"uncached_input_tokens":3,"cache_read_tokens":5,"cache_write_5m_tokens":3,"cache_write_1h_tokens":4,"output_tokens":20}`},
	"chat": {OpenAIChat, "data: {\"id\":\"c1\",\"model\":\"g\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"he\"}}]}\n\n" +
		"data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"llo\"}}]}\n\n" +
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"k\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]}}]}\n\n" +
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n" +
		"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"prompt_tokens_details\":{\"cached_tokens\":4},\"completion_tokens\":6,\"completion_tokens_details\":{\"reasoning_tokens\":2}}}\n\ndata: [DONE]\n\n",
		"assistant assistant_message role=assistant id= name= m=-1 \"hello\"\ntool_calls tool_call role=assistant id=k name=f m=-1 \"{}\"\n",
		`{"uncached_input_tokens":6,"cache_read_tokens":4,"output_tokens":4,"reasoning_tokens":2}`},
	"responses": {OpenAIResponses, "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\",\"model\":\"g\",\"status\":\"in_progress\"}}\n\n" +
		"data: {\"type\":\"response.output_item.done\",\"output_index\":1,\"item\":{\"type\":\"function_call\",\"call_id\":\"k\",\"name\":\"f\",\"arguments\":\"{}\"}}\n\n" +
		"data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"hello\"}]}}\n\n" +
		"data: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"status\":\"completed\",\"output\":[],\"usage\":{\"input_tokens\":10,\"input_tokens_details\":{\"cached_tokens\":4},\"output_tokens\":6,\"output_tokens_details\":{\"reasoning_tokens\":0}}}}\n\n",
		"assistant assistant_message role=assistant id= name= m=-1 \"hello\"\ntool_calls tool_call role=assistant id=k name=f m=-1 \"{}\"\n",
		`{"uncached_input_tokens":6,"cache_read_tokens":4,"output_tokens":6,"reasoning_tokens":0}`},
}

func TestStreams(t *testing.T) {
	t.Parallel()
	for name, c := range streams {
		r := c.of.NewReader(200, sse)
		_, _ = r.Write([]byte(c.body))
		a := r.Answer()
		usage, _ := json.Marshal(a.Usage)
		if got := drawn(a.Blocks); got != c.blocks || string(usage) != c.usage || !a.Complete || a.Problems > 0 || a.MessageID == "" {
			t.Errorf("%s: complete %t, %d problems, usage %s, blocks\n%s", name, a.Complete, a.Problems, usage, got)
		}
	}
}

// TestAnyCut: the borders of pieces change nothing, and a stream that ends early is not
// complete.
func TestAnyCut(t *testing.T) {
	t.Parallel()
	for name, c := range streams {
		whole := c.of.NewReader(200, sse)
		_, _ = whole.Write([]byte(c.body))
		want := whole.Answer()
		rapid.Check(t, func(t *rapid.T) {
			r := c.of.NewReader(200, sse)
			for rest := c.body; rest != ""; {
				n := rapid.IntRange(1, min(len(rest), 40)).Draw(t, "piece")
				_, _ = r.Write([]byte(rest[:n]))
				rest = rest[n:]
			}
			if got := r.Answer(); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: %+v, want %+v", name, got, want)
			}
			short := c.of.NewReader(200, sse)
			_, _ = short.Write([]byte(c.body[:rapid.IntRange(0, len(c.body)-3).Draw(t, "end")]))
			if got := short.Answer(); got.Complete {
				t.Fatalf("%s: a cut stream is complete", name)
			}
		})
	}
}

func TestWholeAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of           Dialect
		body, blocks string
	}{
		{AnthropicMessages, `{"id":"msg_1","type":"message","content":[{"type":"text","text":"hello"}],"usage":{"input_tokens":1,"output_tokens":2},"diagnostics":{"cache_miss_reason":{"type":"system_changed"}}}`, "assistant assistant_message"},
		{OpenAIChat, `{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"hello","refusal":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, "assistant assistant_message"},
		{OpenAIResponses, `{"id":"r","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hello"}]}],"usage":{"input_tokens":1,"output_tokens":2}}`, "assistant assistant_message"},
	} {
		r := c.of.NewReader(200, "application/json")
		_, _ = r.Write([]byte(c.body[:9]))
		_, _ = r.Write([]byte(c.body[9:]))
		a := r.Answer()
		if !strings.HasPrefix(drawn(a.Blocks), c.blocks) || !a.Complete || *a.Usage.UncachedInput != 1 || *a.Usage.Output != 2 {
			t.Errorf("%s: %+v", c.of, a)
		}
	}
}

// TestEdits: the provider's edits of the window have their type and their numbers, and nothing else.
func TestEdits(t *testing.T) {
	t.Parallel()
	edits := `"context_management":{"applied_edits":[{"type":"clear_tool_uses_20250919","cleared_tool_uses":3,"cleared_input_tokens":900,"text":"x"},7]}`
	for _, body := range []string{
		`{"id":"m","content":[],"stop_reason":"end_turn",` + edits + `}`,
		"data: {\"type\":\"message_delta\",\"delta\":{}," + edits + "}\n\n",
	} {
		kind := "application/json"
		if strings.HasPrefix(body, "data") {
			kind = sse
		}
		r := AnthropicMessages.NewReader(200, kind)
		_, _ = r.Write([]byte(body))
		got, err := json.Marshal(r.Answer().Edits, json.Deterministic(true))
		if want := `[{"Type":"clear_tool_uses_20250919","Counts":{"cleared_input_tokens":900,"cleared_tool_uses":3}},{"Type":"unknown","Counts":{}}]`; err != nil || string(got) != want {
			t.Errorf("%s, %v", got, err)
		}
	}
}

func TestErrorsAndGarbage(t *testing.T) {
	t.Parallel()
	for _, d := range []Dialect{AnthropicMessages, OpenAIChat, OpenAIResponses} {
		r := d.NewReader(429, "application/json")
		_, _ = r.Write([]byte(`{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`))
		if a := r.Answer(); a.Error != "rate_limit_error" || a.Complete || a.Status != 429 {
			t.Errorf("%s: %+v", d, a)
		}
		for _, kind := range []string{sse, "application/json"} {
			r = d.NewReader(200, kind)
			_, _ = r.Write([]byte("<html>\n\ndata: {x\n\ndata: 7\n\n"))
			if a := r.Answer(); a.Complete || a.Problems == 0 {
				t.Errorf("%s: %+v", d, a)
			}
		}
	}
}

// TestCumulativeUsage: the last usage of a stream counts, and none is a sum.
func TestCumulativeUsage(t *testing.T) {
	t.Parallel()
	r := AnthropicMessages.NewReader(200, sse)
	for _, data := range []string{
		`{"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1,"cache_creation_input_tokens":0}}}`,
		`{"type":"message_delta","usage":{"output_tokens":10}}`,
		`{"type":"message_delta","usage":{"output_tokens":15,"input_tokens":4}}`,
	} {
		_, _ = r.Write([]byte("data: " + data + "\n\n"))
	}
	if u := r.Answer().Usage; *u.UncachedInput != 4 || *u.Output != 15 || *u.CacheWrite != 0 || u.CacheRead != nil {
		t.Errorf("%+v", u)
	}
}

func FuzzReader(f *testing.F) {
	for _, c := range streams {
		f.Add(c.body, 7)
	}
	f.Fuzz(func(t *testing.T, body string, at int) {
		at = min(max(at, 0), len(body))
		for _, d := range []Dialect{AnthropicMessages, OpenAIChat, OpenAIResponses} {
			for _, kind := range []string{sse, "application/json"} {
				whole, cut := d.NewReader(200, kind), d.NewReader(200, kind)
				_, _ = whole.Write([]byte(body))
				_, _ = cut.Write([]byte(body[:at]))
				_, _ = cut.Write([]byte(body[at:]))
				if a, b := whole.Answer(), cut.Answer(); !reflect.DeepEqual(a, b) {
					t.Errorf("%s: a cut at %d changes %+v to %+v", d, at, a, b)
				}
			}
		}
	})
}
