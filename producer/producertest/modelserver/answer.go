package modelserver

import (
	"net/http"
	"time"
)

// Script returns the answer of a model call. The server calls it once per model call, in the
// order of arrival, and never concurrently.
type Script func(*Request) Answer

// Sequence returns a script that gives the answers one after the other. The last answer repeats.
func Sequence(answers ...Answer) Script {
	next := 0
	return func(*Request) Answer {
		answer := answers[min(next, len(answers)-1)]
		next++
		return answer
	}
}

// Answer is the answer of one model call. The zero value is an empty text.
type Answer struct {
	Parts []Part
	Usage Usage
	Stop  string // Anthropic's stop reason; "" follows from the parts
	Fault Fault
	// Extra holds further members of an Anthropic message, for instance context_management.
	Extra map[string]any
}

// Part is one part of an answer.
type Part struct {
	Kind  PartKind
	Text  string // of KindText and KindReasoning; the input of KindCustom
	Name  string // of the tool
	Input string // JSON arguments of the tool call
	ID    string // of the tool call; "" for a numbered id
}

// PartKind is the kind of a part.
type PartKind int

// The kinds of parts.
const (
	KindText      PartKind = iota
	KindReasoning          // thinking at Anthropic; Chat Completions has none
	KindCall               // a call of a function
	KindCustom             // a call of a custom tool, OpenAI Responses only
)

// Text returns a text.
func Text(text string) Part { return Part{Kind: KindText, Text: text} }

// Reasoning returns a text of the model's reasoning.
func Reasoning(text string) Part { return Part{Kind: KindReasoning, Text: text} }

// Call returns a call of a function with JSON arguments.
func Call(name, input string) Part { return Part{Kind: KindCall, Name: name, Input: input} }

// Custom returns a call of a custom tool with a text as its input.
func Custom(name, input string) Part { return Part{Kind: KindCustom, Name: name, Text: input} }

func (a *Answer) callsTool() bool {
	for _, part := range a.Parts {
		if part.Kind == KindCall || part.Kind == KindCustom {
			return true
		}
	}
	return false
}

// Usage holds the disjoint token counts of a call. OpenAI's dialects add the cached tokens to
// the input.
type Usage struct {
	Input        int64 // uncached
	CacheRead    int64
	CacheWrite5m int64
	CacheWrite1h int64
	Output       int64
	Reasoning    int64 // part of Output
}

// Fault is a failure of the provider. The zero value is none.
type Fault struct {
	Status     int           // an error status, with an error body of the dialect
	RetryAfter time.Duration // header retry-after of an error status, in whole seconds
	Delay      time.Duration // before the answer
	// CutAfter closes the connection after this number of events of a stream, or in the middle
	// of a whole body.
	CutAfter int
	// Header holds further headers of the answer.
	Header http.Header
	// StreamError ends a stream after its first event with an error event of the dialect.
	StreamError bool
	// Piece sends the answer in pieces of this number of bytes, with a Pause after each. 0 sends
	// each event at once.
	Piece int
	Pause time.Duration
	// Malformed is sent as it is: after the first event of a stream, as a message of a WebSocket,
	// and instead of a whole body.
	Malformed string
}
