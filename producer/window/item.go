package window

import "math"

// LayerTools is the layer of tool definitions. They are fixed items, as the
// system prompt is, and counted apart from it.
const LayerTools = "tools"

// LayerSummary is the layer of a summary that names no other.
const LayerSummary = "summary"

// Kind says what an item is to the ladder and to an elision pass; the layer it
// is shown under is the runtime's own word.
type Kind string

// The kinds. An item of any other kind is never touched, as [KindFixed].
const (
	KindFixed      Kind = "fixed"       // system prompt, tool definitions and the like
	KindRetrieved  Kind = "retrieved"   // brought in by search or memory
	KindMessage    Kind = "message"     // said by the user or the model
	KindToolCall   Kind = "tool_call"   // the model's call of a tool
	KindToolResult Kind = "tool_result" // what the tool returned
	KindSummary    Kind = "summary"     // stands for earlier items
	KindStub       Kind = "stub"        // stands for an elided item
)

// Roles that the rules know. Any other role is carried along.
const (
	RoleSystem    = "system"
	RoleDeveloper = "developer" // instructions, as the system's
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// Instructs reports whether a role gives the model its instructions: the system's
// and the developer's do.
func Instructs(role string) bool { return role == RoleSystem || role == RoleDeveloper }

// Item is one unit of context that could be in the window. It carries sizes and
// relations, never text.
type Item struct {
	ID    string // unique in the list, not empty
	Layer string // the runtime's layer, e.g. "memory"; not interpreted
	Kind  Kind
	Role  string // who says it; a message that [Instructs] is never trimmed

	Tokens   int // size in tokens, 0 or more
	Priority int // among retrieved items the lowest goes first

	// Essential keeps a retrieved item from being dropped as retrieved context.
	Essential bool
	// Pinned keeps the item as it is through every step and pass.
	Pinned bool
	// Ephemeral says that the content is soon out of date, such as a status or a listing.
	Ephemeral bool
	// CallIDs are the tool calls that the item makes or answers. Items that
	// share one, also over several others, stay or go together.
	CallIDs []string

	// Digest is the keyed digest of the content; empty is unknown. A stub has none:
	// its content is another.
	Digest string
	// Redaction is the standard's word for how much of the content is withheld.
	Redaction string

	// Excluded says why the runtime left the item out before planning, e.g.
	// PolicyBlocked. Empty means that it is a candidate for the window.
	Excluded Reason

	// Score and Signals say why the item is worth its room: a number, higher is
	// better, and the parts of it by name. Nil is unknown. Neither changes a plan.
	Score   *float64
	Signals map[string]float64

	// Wrapper is what stands around the item in the request, such as a tag's name. Empty
	// is nothing, or unknown.
	Wrapper string

	// Reads is the file or resource that a tool result shows, in whatever form
	// the runtime compares by. Empty means none, or unknown.
	Reads string
	// Marker names an event at which an elision policy may act, e.g. "git commit".
	Marker string
}

// conversation reports whether the item is part of what was said and done.
func (it *Item) conversation() bool {
	switch it.Kind {
	case KindMessage, KindToolCall, KindToolResult, KindStub:
		return !Instructs(it.Role)
	}
	return false
}

// onlyCall returns the tool call where there is exactly one.
func (it *Item) onlyCall() string {
	if len(it.CallIDs) == 1 {
		return it.CallIDs[0]
	}
	return ""
}

// old reports whether the item can be old talk; earlier summaries are, if asked.
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
