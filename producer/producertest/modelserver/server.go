package modelserver

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// Server is a running server. Safe for concurrent use.
type Server struct {
	URL string // http://127.0.0.1:PORT

	http *httptest.Server
	name string

	script Script

	mu       sync.Mutex // guards the fields below, and the calls of script
	requests []*Request
	calls    int
}

// New starts a server, which ends with the test.
func New(t testing.TB, script Script) *Server {
	t.Helper()
	s := &Server{script: script, name: idText(t.Name())}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL
	t.Cleanup(s.Close)
	return s
}

// Close ends the server after the answers that it sends. Requests of earlier are kept.
func (s *Server) Close() {
	s.http.CloseClientConnections() // of clients that were killed
	s.http.Close()
}

// idText returns the letters and digits of a name.
func idText(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, name)
}

// Requests returns all requests that were answered, in the order of arrival.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Calls returns the answered model calls, in the order of arrival.
func (s *Server) Calls() []*Request {
	return slices.DeleteFunc(s.Requests(), func(r *Request) bool { return r.Dialect == "" })
}

// ServeHTTP answers one request. A test can also mount the server elsewhere.
func (s *Server) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	if asksForWebSocket(in) {
		s.talk(w, in)
		return
	}
	at := time.Now()
	body, err := io.ReadAll(in.Body)
	if err != nil {
		return // the client went away
	}
	r := &Request{Method: in.Method, Target: in.RequestURI, Header: in.Header.Clone(), Body: body, At: at}
	counts := r.dialect(in.URL.Path)
	sent := &sender{w: w}
	s.number(r)
	w.Header().Set("request-id", r.RequestID)
	w.Header().Set("x-request-id", r.RequestID)
	switch {
	case counts:
		r.Status = http.StatusOK
		sent.whole(r.Status, map[string]any{"input_tokens": len(body) / 4})
	case r.Dialect == "":
		r.Status = http.StatusNotFound
		sent.whole(r.Status, r.errorBody(r.Status))
	default:
		s.answer(r, sent)
	}
	s.keep(r, sent)
	if sent.cut {
		panic(http.ErrAbortHandler)
	}
}

// dialect sets the dialect of a request by its path. It reports whether the request asks for a
// count of tokens only.
func (r *Request) dialect(target string) (counts bool) {
	if r.Method != http.MethodPost {
		return false
	}
	switch base := path.Base(target); {
	case base == "messages":
		r.Dialect = AnthropicMessages
	case base == "count_tokens":
		return true
	case base == "responses":
		r.Dialect = OpenAIResponses
	case strings.HasSuffix(target, "/chat/completions"):
		r.Dialect = OpenAIChat
	}
	return false
}

// number gives the request its number and its answer.
func (s *Server) number(r *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	r.Number = s.calls
	r.RequestID = "req_" + s.name + pad(r.Number)
	if r.Dialect == "" {
		return
	}
	var e envelope
	if json.Unmarshal(r.Body, &e) == nil {
		r.Model, r.Stream = e.Model, e.Stream
	}
	if !r.Warmup {
		r.Answer = s.script(r)
	}
	r.Answer.Parts = slices.Clone(r.Answer.Parts)
	for i := range r.Answer.Parts {
		if p := &r.Answer.Parts[i]; p.ID == "" && (p.Kind == KindCall || p.Kind == KindCustom) {
			p.ID = fmt.Sprintf("%s_%s%s_%d", map[bool]string{true: "toolu", false: "call"}[r.Dialect == AnthropicMessages], s.name, pad(r.Number), i)
		}
	}
	if r.Answer.Fault.Status == 0 {
		r.MessageID = map[Dialect]string{AnthropicMessages: "msg_", OpenAIResponses: "resp_", OpenAIChat: "chatcmpl-"}[r.Dialect] + s.name + pad(r.Number)
	}
}

func pad(number int) string { return fmt.Sprintf("%06d", number) }

func (s *Server) keep(r *Request, sent *sender) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Sent = sent.sent
	at, _ := slices.BinarySearchFunc(s.requests, r.Number, func(other *Request, n int) int { return other.Number - n })
	s.requests = slices.Insert(s.requests, at, r)
}

// answer sends the answer of a model call.
func (s *Server) answer(r *Request, sent *sender) {
	fault := r.Answer.Fault
	if fault.Delay > 0 {
		time.Sleep(fault.Delay)
	}
	for name, values := range fault.Header {
		sent.w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	if r.Status = fault.Status; r.Status != 0 {
		if fault.RetryAfter > 0 {
			sent.w.Header().Set("retry-after", strconv.FormatInt(int64(fault.RetryAfter/time.Second), 10))
		}
		sent.whole(r.Status, r.errorBody(r.Status))
		return
	}
	r.Status = http.StatusOK
	var whole map[string]any
	var events []event
	switch r.Dialect {
	case AnthropicMessages:
		whole, events = r.anthropic()
	case OpenAIResponses:
		whole, events = r.responses()
	case OpenAIChat:
		whole, events = r.chat()
	}
	sent.fault = fault
	if !r.Stream {
		sent.whole(r.Status, whole)
		return
	}
	if fault.StreamError {
		events = append(events[:1:1], event{"error", r.errorBody(http.StatusServiceUnavailable)})
	}
	sent.stream(events)
}

// errorBody returns an error in the form of the dialect.
func (r *Request) errorBody(status int) map[string]any {
	kind := map[int]string{
		http.StatusBadRequest: "invalid_request_error", http.StatusUnauthorized: "authentication_error",
		http.StatusNotFound: "not_found_error", http.StatusTooManyRequests: "rate_limit_error",
		http.StatusServiceUnavailable: "overloaded_error", 529: "overloaded_error",
	}[status]
	if kind == "" {
		kind = "api_error"
	}
	inner := map[string]any{"type": kind, "message": "the script says " + strconv.Itoa(status)}
	if r.Dialect == AnthropicMessages {
		return map[string]any{"type": "error", "error": inner}
	}
	inner["code"] = kind
	return map[string]any{"error": inner}
}
