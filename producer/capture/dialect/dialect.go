package dialect

import (
	"errors"
	"net/http"
	"strings"
)

// Dialect is the form of a model's API. The zero value is no dialect.
type Dialect string

// The dialects.
const (
	AnthropicMessages Dialect = "anthropic.messages"
	OpenAIChat        Dialect = "openai.chat_completions"
	OpenAIResponses   Dialect = "openai.responses"
)

// Errors of [Dialect.ReadRequest]. The request is valid for its provider or not; no window is
// known.
var (
	// ErrNotJSON means that the body is not JSON, or not an object.
	ErrNotJSON = errors.New("the request is not a JSON object")
	// ErrNotRequest means that the body lacks the member that holds the window.
	ErrNotRequest = errors.New("the request has no window of its dialect")
)

// Match returns the dialect and the operation of a request by its method and path. Match
// returns false for requests that have no window. A prefix of the path does not count, because
// gateways have one.
func Match(method, path string) (Dialect, Operation, bool) {
	if method != http.MethodPost {
		return "", "", false
	}
	path = strings.TrimRight(path, "/")
	for _, m := range [...]struct {
		suffix string
		of     Dialect
		does   Operation
	}{
		{"/messages", AnthropicMessages, Generate},
		{"/messages/count_tokens", AnthropicMessages, CountTokens},
		{"/chat/completions", OpenAIChat, Generate},
		{"/responses", OpenAIResponses, Generate},
		{"/responses/input_tokens", OpenAIResponses, CountTokens},
	} {
		if strings.HasSuffix(path, m.suffix) {
			return m.of, m.does, true
		}
	}
	return "", "", false
}

// ReadRequest reads the body of a request. The blocks share the memory of body. Errors are
// [ErrNotJSON] and [ErrNotRequest].
func (d Dialect) ReadRequest(body []byte) (Request, error) {
	top, ok := members(body)
	if !ok {
		return Request{}, ErrNotJSON
	}
	w := windowReader{}
	switch d {
	case AnthropicMessages:
		w.anthropic(top)
	case OpenAIChat:
		w.chat(top)
	case OpenAIResponses:
		w.responses(top)
	}
	if !w.found {
		return Request{}, ErrNotRequest
	}
	w.Blocks = append(w.Blocks, w.rest...)
	return w.Request, nil
}

// windowReader collects the blocks of a request.
type windowReader struct {
	Request
	found   bool    // the member that holds the window is there
	started bool    // a message that is no system message was read
	rest    []Block // unknown members of the request, which follow the messages
}

func (w *windowReader) add(b Block) { w.Blocks = append(w.Blocks, b) }

// unknown keeps a member of the request that the dialect does not know.
func (w *windowReader) unknown(m member) {
	if !empty(m.value) {
		w.rest = append(w.rest, Block{
			Kind: KindRequestMember, Layer: LayerOpaque, Name: blockName(m.name), Message: -1, Raw: object(m),
		})
	}
}

// systemLayer is the layer of a system message: system before the conversation, injected later.
func (w *windowReader) systemLayer() (Layer, string) {
	if w.started {
		return LayerInjected, "injected_message"
	}
	return LayerSystem, "system_prompt"
}
