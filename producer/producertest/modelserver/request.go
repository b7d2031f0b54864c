package modelserver

import (
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Dialect is the protocol of a model call.
type Dialect string

// The dialects. The zero value is a request that is no model call.
const (
	AnthropicMessages Dialect = "anthropic_messages"
	OpenAIResponses   Dialect = "openai_responses"
	OpenAIChat        Dialect = "openai_chat"
)

// Request is one received request. It does not change after the server has answered.
type Request struct {
	Number  int // from 1, of all requests
	Dialect Dialect
	Method  string
	Target  string // raw path and query
	Header  http.Header
	Body    []byte // after transfer decoding
	At      time.Time

	Model  string // of a model call
	Stream bool   // whether the client asked for server-sent events

	Answer Answer
	Reply
	Message
}

// Message holds what only requests by WebSocket have.
type Message struct {
	WebSocket bool             // Body is a message of a WebSocket
	Warmup    bool             // the message asks for no answer, only for a response to continue
	Earlier   []jsontext.Value // items of the response that the message continues
}

// Reply holds the values of an answer that was sent.
type Reply struct {
	MessageID string // id of the message or response, "" without one
	RequestID string // header request-id
	Status    int
	Sent      []byte // the body, as far as it was sent
}

// envelope holds the members of a request's body that the server itself reads.
type envelope struct {
	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	Previous      string `json:"previous_response_id"`
	Lane          string `json:"stream_id"`
	Generate      *bool  `json:"generate"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// Members returns the members of the body's JSON object, unchanged. It returns nil for any other
// body.
func (r *Request) Members() map[string]jsontext.Value {
	var members map[string]jsontext.Value
	if json.Unmarshal(r.Body, &members) != nil {
		return nil
	}
	return members
}

// List returns the elements of a member that is an array, for instance messages or input.
func (r *Request) List(member string) []jsontext.Value {
	var list []jsontext.Value
	if json.Unmarshal(r.Members()[member], &list) != nil {
		return nil
	}
	return list
}

// Whole returns the body as the request would be if it did not continue a response: the items of
// that response go before its own.
func (r *Request) Whole() []byte {
	members := r.Members()
	if len(r.Earlier) == 0 || members == nil {
		return r.Body
	}
	delete(members, "previous_response_id")
	members["input"] = encode(append(slices.Clone(r.Earlier), r.List("input")...))
	return encode(members)
}
