package capture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/producertest/modelserver"
	"github.com/ctxledger/ctxledger/schema"
)

// ask sends a request on a connection and reads its events up to the last one.
func ask(t *testing.T, conn *websocket.Conn, members string) (id string) {
	t.Helper()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"response.create","model":"m",`+members+`}`)); err != nil {
		t.Fatal(err)
	}
	for {
		_, event, err := conn.Read(t.Context())
		if err != nil {
			return ""
		}
		if _, rest, ok := strings.Cut(string(event), `"id":"resp_`); ok {
			id, _, _ = strings.Cut("resp_"+rest, `"`)
		}
		if strings.Contains(string(event), `"type":"response.completed"`) || strings.Contains(string(event), `"type":"error"`) {
			return id
		}
	}
}

func says(text string) string {
	return fmt.Sprintf(`"input":[{"type":"message","role":"user","content":%q}]`, text)
}

// TestWebSocketTransport records the WebSocket of a Go program: responses that continue others,
// two of one response, one that nobody observed, an error, and a connection that is cut.
func TestWebSocketTransport(t *testing.T) {
	t.Parallel()
	text := func(s string, f modelserver.Fault) modelserver.Answer {
		return modelserver.Answer{Parts: []modelserver.Part{modelserver.Text(s)}, Usage: modelserver.Usage{Input: 7, Output: 2}, Fault: f}
	}
	server := modelserver.New(t, modelserver.Sequence(text("one", modelserver.Fault{}), text("two", modelserver.Fault{}), text("fork", modelserver.Fault{}),
		text("refused", modelserver.Fault{}), text("", modelserver.Fault{Status: 429}), text("cut", modelserver.Fault{CutAfter: 3})))
	rec := new(producertest.Recorder)
	r := open(t, rec)
	client := &http.Client{Transport: &Transport{Recorder: r}}
	conn, _, err := websocket.Dial(t.Context(), server.URL+"/v1/responses", &websocket.DialOptions{HTTPClient: client, CompressionMode: websocket.CompressionContextTakeover})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	first := ask(t, conn, says("first"))
	ask(t, conn, `"previous_response_id":"`+first+`",`+says("second"))
	ask(t, conn, `"stream_id":"b","previous_response_id":"`+first+`",`+says("other second"))
	ask(t, conn, `"previous_response_id":"resp_elsewhere",`+says("third"))
	ask(t, conn, says("fourth"))
	ask(t, conn, says("fifth"))
	_ = conn.CloseNow()
	if err := r.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	windows := make(map[string]int)
	for _, e := range rec.Events() {
		switch f := e.Fact.(type) {
		case *schema.AssemblyCreated:
			if f.Keep != nil {
				windows[f.AssemblyID] = int(*f.Keep)
			}
			windows[f.AssemblyID] += len(f.OrderedBlocks)
		case *schema.UsageRecorded:
			got = append(got, fmt.Sprint(windows[f.AssemblyID], " ", f.Coverage, f.CoverageReasons, " ", f.ProviderMessageID != "", f.Metadata["http_status"], f.Metadata["provider_error"], f.Metadata["incomplete_response"]))
		}
	}
	slices.Sort(got)
	want := []string{
		"1 complete[] false 429rate_limit_error<nil>", "1 complete[] true <nil> <nil> <nil>", "1 complete[] true <nil> <nil> true",
		"1 partial[previous_unobserved] false 400invalid_request_error<nil>", "3 complete[] true <nil> <nil> <nil>", "3 complete[] true <nil> <nil> <nil>",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the calls are\n%s", strings.Join(got, "\n"))
	}
	if c := r.Counts(); c.Exchanges != 6 || c.Unread+c.Dropped+c.Refused != 0 {
		t.Errorf("%+v", c)
	}
	rec.Check(t)
}

// conversation opens the copy of a WebSocket without a network.
func conversation(t testing.TB, r *Recorder) *Conversation {
	c := r.Conversation(conversationRequest())
	if c == nil || !c.Opened(http.Header{}) {
		t.Fatal("the conversation does not open")
	}
	return c
}

func conversationRequest() *http.Request {
	req := httptest.NewRequest(http.MethodGet, "/v1/responses", nil)
	req.Header.Set("Upgrade", "websocket")
	req.Header.Set("Session-Id", "s1")
	return req
}

// frameOf returns a message as one frame.
func frameOf(format string, args ...any) []byte {
	text := fmt.Sprintf(format, args...)
	return append(binary.BigEndian.AppendUint16([]byte{0x81, 126}, uint16(len(text))), text...)
}

// TestLanes: requests of several lanes whose events come in any order become the exchanges that
// they are.
func TestLanes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		rec := new(producertest.Recorder)
		r := open(t, rec)
		c := conversation(t, r)
		calls := rapid.IntRange(1, 12).Draw(rt, "calls")
		type lane struct{ asked, began, done []int }
		lanes := map[string]*lane{"": {}, "a": {}, "b": {}}
		names := []string{"", "a", "b"}
		step := func(name string, l *lane) {
			routed := ""
			if name != "" {
				routed = fmt.Sprintf(`,"stream_id":%q`, name)
			}
			switch {
			case len(l.began) > 0:
				id := l.began[0]
				c.Received(frameOf(`{"type":"response.completed"%s,"response":{"id":"resp_%d","status":"completed","output":[],"usage":{"input_tokens":%d,"output_tokens":1}}}`, routed, id, id))
				l.began = nil
			case len(l.asked) > 0:
				c.Received(frameOf("{\"type\":\"response.created\"%s,\r\n\"response\":{\"id\":\"resp_%d\",\"status\":\"in_progress\"}}", routed, l.asked[0]))
				l.began, l.asked = l.asked[:1:1], l.asked[1:]
			}
		}
		for call := range calls {
			name := rapid.SampledFrom(names).Draw(rt, "lane")
			routed := ""
			if name != "" {
				routed = fmt.Sprintf(`"stream_id":%q,`, name)
			}
			c.Sent(frameOf(`{"type":"response.create",%s"model":"model-%d",%s}`, routed, call, says(fmt.Sprint("question ", call))))
			lanes[name].asked = append(lanes[name].asked, call)
			for range rapid.IntRange(0, 4).Draw(rt, "steps") {
				name := rapid.SampledFrom(names).Draw(rt, "answered lane")
				step(name, lanes[name])
			}
		}
		for name, l := range lanes {
			for len(l.asked)+len(l.began) > 0 {
				step(name, l)
			}
		}
		if err := r.Flush(t.Context()); err != nil {
			rt.Fatal(err)
		}
		c.End()
		if n := r.Counts(); n.Exchanges != int64(calls) || n.Unread+n.Dropped != 0 {
			rt.Fatalf("%d calls are %+v", calls, n)
		}
		for _, e := range rec.Events().Of(schema.TypeUsageRecorded) {
			u := e.Fact.(*schema.UsageRecorded)
			if n := strings.TrimPrefix(u.ProviderMessageID, "resp_"); u.Model != "model-"+n || fmt.Sprint(*u.Usage.UncachedInput) != n {
				rt.Fatalf("%s has the answer %s with %d tokens", u.Model, u.ProviderMessageID, *u.Usage.UncachedInput)
			}
		}
	})
}

// TestWebSocketLosses: what cannot be read is counted, and the calls that it concerns are partial.
func TestWebSocketLosses(t *testing.T) {
	t.Parallel()
	const request = `{"type":"response.create","model":"m","input":"hello"}`
	const created = `{"type":"response.created","response":{"id":"resp_1","status":"in_progress"}}`
	const completed = `{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[]}}`
	for name, test := range map[string]struct {
		pass   func(c *Conversation)
		reason []string // why the only call is partial
		want   Counts
	}{
		"a message that is no request": {func(c *Conversation) {
			c.Sent(frameOf(request))
			c.Sent(frameOf(`{"type":"response.steer","input":"more"}`))
			c.Received(frameOf(completed))
		}, []string{"entries_missing"}, Counts{Exchanges: 1, Unread: 1}},
		"no JSON": {func(c *Conversation) {
			c.Sent(frameOf("hello"))
			c.Sent(frameOf(request))
			c.Received(slices.Concat(frameOf("hello"), frameOf(completed)))
		}, nil, Counts{Exchanges: 1, Unread: 1}},
		"no frames": {func(c *Conversation) {
			c.Sent(frameOf(request))
			c.Received(append(frameOf(created), bytes.Repeat([]byte{0xff}, 16)...))
		}, []string{"truncated"}, Counts{Exchanges: 1, Unread: 1}},
		"an event that nobody asked for": {func(c *Conversation) {
			c.Received(frameOf(created))
			c.Received(frameOf(`{"type":"codex.rate_limits"}`))
			c.Sent(frameOf(request))
			c.Received(frameOf(completed))
		}, nil, Counts{Exchanges: 1, Unread: 1}},
		"an event that may be of either response": {func(c *Conversation) {
			c.Sent(frameOf(`{"type":"response.create","stream_id":"a","model":"m","input":"hello"}`))
			c.Sent(frameOf(`{"type":"response.create","stream_id":"b","model":"m","input":"hello"}`))
			c.Received(frameOf(`{"type":"response.output_te`))
		}, nil, Counts{Exchanges: 2, Unread: 1}},
		"more than fits": {func(c *Conversation) {
			c.r.conversations.reserve(1<<20, 1<<20)
			c.Sent(frameOf(request))
		}, nil, Counts{Dropped: 1}},
		"too many at once": {func(c *Conversation) {
			for range maxUnderWay + 1 {
				c.Sent(frameOf(request))
			}
			for range maxUnderWay + 1 {
				c.Received(frameOf(completed))
			}
		}, nil, Counts{Exchanges: maxUnderWay, Dropped: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec := new(producertest.Recorder)
			r := open(t, rec, func(c *Config) { c.MaxWaiting = 1 << 20 })
			c := conversation(t, r)
			test.pass(c)
			c.End()
			if err := r.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := r.Counts()
			if got.Facts = 0; got != test.want {
				t.Errorf("%+v", got)
			}
			for _, e := range rec.Events().Of(schema.TypeUsageRecorded) {
				if u := e.Fact.(*schema.UsageRecorded); fmt.Sprint(u.CoverageReasons) != fmt.Sprint(test.reason) {
					t.Errorf("the call is %s: %v", u.Coverage, u.CoverageReasons)
				}
			}
			if conversation := r.Conversation(conversationRequest()); conversation.Opened(http.Header{}) {
				t.Error("a closed recorder opens a conversation")
			}
		})
	}
	r := open(t, new(producertest.Recorder))
	for _, header := range []string{"permessage-encrypt", "permessage-deflate, x"} {
		if r.Conversation(conversationRequest()).Opened(http.Header{"Sec-Websocket-Extensions": {header}}) {
			t.Errorf("the extension %s is known", header)
		}
	}
	for _, path := range []string{"/v1/realtime", "/v1/messages", "/v1/responses/input_tokens"} {
		req := conversationRequest()
		if req.URL.Path = path; r.Conversation(req) != nil {
			t.Errorf("%s has windows", path)
		}
	}
}
