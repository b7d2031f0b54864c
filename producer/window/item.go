package window

import "math"

// LayerTools is the layer of tool definitions. Tool definitions are fixed items, as the
// system prompt is, and are counted separately.
const LayerTools = "tools"

// LayerSummary is the default layer of a summary.
const LayerSummary = "summary"

// Kind decides how the ladder and an elision pass treat an item. The layer in which an item
// is shown is the runtime's own name.
type Kind string

// The kinds. The ladder and the passes never change an item of any other kind, as with
// [KindFixed].
const (
	KindFixed      Kind = "fixed"       // system prompt, tool definitions and the like
	KindRetrieved  Kind = "retrieved"   // found by search or memory
	KindMessage    Kind = "message"     // written by the user or the model
	KindToolCall   Kind = "tool_call"   // the model's call of a tool
	KindToolResult Kind = "tool_result" // the tool's answer
	KindSummary    Kind = "summary"     // replaces earlier items
	KindStub       Kind = "stub"        // replaces an elided item
)

// Roles with a meaning for the rules. Any other role is kept unchanged.
const (
	RoleSystem    = "system"
	RoleDeveloper = "developer" // instructions, as the system's
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// Instructs reports whether a role gives the model its instructions. The roles are system
// and developer.
func Instructs(role string) bool { return role == RoleSystem || role == RoleDeveloper }

// Item is one candidate of a context window. An Item holds sizes and relations, never text.
type Item struct {
	ID    string // unique in the list, not empty
	Layer string // the runtime's layer, e.g. "memory"; not interpreted
	Kind  Kind
	Role  string // author's role; a message whose role [Instructs] is never trimmed

	Tokens   int // size in tokens, 0 or more
	Priority int // the retrieved item with the lowest priority is dropped first

	// Essential keeps a retrieved item from being dropped as retrieved context.
	Essential bool
	// Pinned keeps the item unchanged in every step and pass.
	Pinned bool
	// Ephemeral is true if the content is soon out of date, such as a status or a listing.
	Ephemeral bool
	// CallIDs are the tool calls that the item makes or answers. Items that share a call,
	// directly or over several other items, stay or leave together.
	CallIDs []string

	// Digest is the keyed digest of the content; empty is unknown. A stub has none, because
	// its content differs.
	Digest string
	// Redaction is the standard's word for the withheld part of the content.
	Redaction string

	// Excluded is the runtime's reason to leave the item out before planning, e.g.
	// PolicyBlocked. Empty means that the item is a candidate for the window.
	Excluded Reason

	// Score and Signals are the value of the item: a number, higher is better, and its
	// parts by name. Nil is unknown. Neither changes a plan.
	Score   *float64
	Signals map[string]float64

	// Wrapper names the text around the item in the request, such as a tag's name. Empty
	// means no wrapper, or unknown.
	Wrapper string

	// Reads is the file or resource that a tool result shows, in the runtime's own form for
	// comparison. Empty means none, or unknown.
	Reads string
	// Marker names an event at which an elision policy may act, e.g. "git commit".
	Marker string
}

// conversation reports whether the item is part of the conversation.
func (it *Item) conversation() bool {
	switch it.Kind {
	case KindMessage, KindToolCall, KindToolResult, KindStub:
		return !Instructs(it.Role)
	}
	return false
}

// onlyCall returns the item's tool call if there is exactly one.
func (it *Item) onlyCall() string {
	if len(it.CallIDs) == 1 {
		return it.CallIDs[0]
	}
	return ""
}

// old reports whether the item can be old conversation. Earlier summaries are included if
// summaries is true.
func (it *Item) old(summaries bool) bool {
	return it.conversation() || summaries && it.Kind == KindSummary
}

func (it *Item) userMessage() bool { return it.Kind == KindMessage && it.Role == RoleUser }

// lastUser returns the index of the newest user message, or -1.
func lastUser(items []Item) int {
	for i := len(items) - 1; i >= 0; i-- {
		if items[i].userMessage() {
			return i
		}
	}
	return -1
}

// finite reports whether score and signals are numbers that a fact can hold.
func (it *Item) finite() bool {
	finite := func(n float64) bool { return !math.IsNaN(n) && !math.IsInf(n, 0) }
	if it.Score != nil && !finite(*it.Score) {
		return false
	}
	for _, n := range it.Signals {
		if !finite(n) {
			return false
		}
	}
	return true
}
