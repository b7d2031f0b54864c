package dialect

import (
	"github.com/ctxledger/ctxledger/schema"
)

// Exchange is one request and its answer.
type Exchange struct {
	Dialect   Dialect
	Operation Operation
	Request   Request
	Answer    Answer
}

// Operation is the purpose of a request.
type Operation string

// The operations that are recorded. Requests of other operations have no window.
const (
	Generate    Operation = "generate"     // the model answers
	CountTokens Operation = "count_tokens" // the provider counts the window's tokens
)

// Layer is a part of a window by the source of its content. The names are those of imports.
type Layer string

// The layers of a window.
const (
	LayerSystem      Layer = "system"
	LayerTools       Layer = "tools"
	LayerUser        Layer = "user"
	LayerAssistant   Layer = "assistant"
	LayerReasoning   Layer = "reasoning"
	LayerToolCalls   Layer = "tool_calls"
	LayerToolResults Layer = "tool_results"
	LayerInjected    Layer = "injected" // reminders, and system messages after the first other message
	LayerMedia       Layer = "media"    // images, documents, audio and files
	LayerOpaque      Layer = "opaque"   // other content that cannot be read, such as encrypted reasoning
)

// KindRequestMember is the kind of the blocks that follow the messages: members of the request
// that the dialect does not know.
const KindRequestMember = "request_member"

// Block is one part of a window or of an answer.
type Block struct {
	Kind    string // context_kind of the item: user_message, tool_call, …
	Layer   Layer
	Role    string // role of the message, "" outside messages
	ID      string // the provider's id of the tool call, "" for other blocks
	Name    string // name of the tool, or type of an unknown block
	Message int    // index of the message in the request, -1 outside messages
	Cached  bool   // the block has a cache mark
	Raw     []byte // JSON text of the block
	Text    []byte // the text that the model reads, nil if it cannot be read
}

// Readable reports whether the block's text is known.
func (b *Block) Readable() bool { return b.Text != nil }

// Request is the window of a model call, and its limits.
type Request struct {
	Model     string
	MaxOutput *int64 // tokens
	Stream    bool
	Session   string // the session that the client names in the body
	WarmUp    bool   // asks for no answer, only for a response that a later window continues
	Previous  string // id of the response that the window continues, see previous_response_id
	Blocks    []Block
}

// Edit is a change that the provider made to the window before the model read it.
type Edit struct {
	Type   string         // the provider's word, such as clear_tool_uses_20250919
	Counts map[string]any // its numbers, such as cleared_input_tokens
}

// Answer is the response of a model.
type Answer struct {
	Status    int    // HTTP status
	MessageID string // id of the message or the response
	Model     string // the model that answered, as the provider names it
	Stop      string // the provider's word for the end
	Error     string // the provider's type of an error
	Blocks    []Block
	Usage     schema.ProviderUsage
	Raw       map[string]any // the provider's numbers, unchanged
	Edits     []Edit         // edits of the window that the provider applied
	CacheMiss string         // the provider's reason for a cache miss
	Complete  bool           // the response ended as its dialect demands
	Problems  int            // events and members that could not be read
}
