package producer

import (
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/producer/window"
)

// ItemType says what an entry of the item log is: one of the seed's own types,
// or an extension of the form prefix:name, such as "openrouter:web_search".
type ItemType string

// The item types of seed 003.
const (
	ItemMessage            ItemType = "message"
	ItemFunctionCall       ItemType = "function_call"
	ItemFunctionCallOutput ItemType = "function_call_output"
	ItemReasoning          ItemType = "reasoning"
)

var seedItemTypes = []ItemType{ItemMessage, ItemFunctionCall, ItemFunctionCallOutput, ItemReasoning}

// maxItemType is the longest type in bytes.
const maxItemType = 128

// ParseItemType accepts the seed's types and extensions. Prefix and name of an
// extension begin with a letter and go on with letters, digits, _, - and . of
// ASCII; the name may hold further colons. The error is an [*InvalidError].
//
// Source: seed 003 (extension items).
func ParseItemType(s string) (ItemType, error) {
	if slices.Contains(seedItemTypes, ItemType(s)) {
		return ItemType(s), nil
	}
	const field = "item type"
	prefix, name, extension := strings.Cut(s, ":")
	switch {
	case s == "":
		return "", invalid(field, "must be named")
	case !extension:
		return "", invalid(field, "must be one of the seed's or an extension of the form prefix:name")
	case len(s) > maxItemType || !typeWord(prefix, false) || !typeWord(name, true):
		return "", invalid(field, "must have a prefix and a name of letters, digits, _, - and .")
	}
	return ItemType(s), nil
}

// Extension reports whether t is not one of the seed's own.
func (t ItemType) Extension() bool { return strings.Contains(string(t), ":") }

func typeWord(s string, colons bool) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '_' && c != '-' && c != '.' && (c != ':' || !colons)) {
			return false
		}
	}
	return s != ""
}

// kindType is the seed's type for a kind that belongs to the conversation.
func kindType(k window.Kind) ItemType {
	switch k {
	case window.KindMessage:
		return ItemMessage
	case window.KindToolCall:
		return ItemFunctionCall
	case window.KindToolResult:
		return ItemFunctionCallOutput
	}
	return ""
}

// ItemStatus says how far an item of the log had come when it was appended. It
// is the item's, never the runtime's. Empty is unknown.
type ItemStatus string

// The item statuses of seed 003.
const (
	ItemInProgress ItemStatus = "in_progress"
	ItemCompleted  ItemStatus = "completed"
	ItemIncomplete ItemStatus = "incomplete"
	ItemFailed     ItemStatus = "failed"
)

func (s ItemStatus) check() error {
	switch s {
	case "", ItemInProgress, ItemCompleted, ItemIncomplete, ItemFailed:
		return nil
	}
	return invalid("item status", "must be in_progress, completed, incomplete or failed")
}
