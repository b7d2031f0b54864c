package window

import (
	"errors"
	"strconv"
	"strings"
)

// ErrInvalid is what every [*InvalidError] wraps: the input cannot be planned
// with. It is permanent.
var ErrInvalid = errors.New("window input invalid")

// ErrContextLimit is what every [*LimitError] wraps: the request does not fit.
// The caller must send less, or use a model with a larger window.
var ErrContextLimit = errors.New("context limit")

// ErrNotSmaller means that a summary, with what is put back beside it, takes no
// less room than what it would replace. It is permanent for that summary, which
// is to be discarded.
var ErrNotSmaller = errors.New("the summary is not smaller than what it stands for")

// What a [Work] returns, or wraps, for the plan to say so. Any other error is
// noted as an error without its text.
var (
	ErrWorkPanicked = errors.New("the runtime's function panicked")
	ErrWorkTimeout  = errors.New("the runtime's function did not answer in time")
	ErrNoWork       = errors.New("the runtime supplied no function")
)

// InvalidError names the input that is wrong.
type InvalidError struct {
	Field   string // e.g. "item.tokens"
	Ref     string // the item's or step's name; may be empty
	Problem string // what is wrong, as the end of a sentence
}

// Error returns one sentence without any content of an item.
func (e *InvalidError) Error() string {
	s := e.Field
	if e.Ref != "" {
		s += " " + strconv.Quote(e.Ref)
	}
	return s + " " + e.Problem
}

// Unwrap returns [ErrInvalid].
func (e *InvalidError) Unwrap() error { return ErrInvalid }

// LimitError is step 5 of seed 000's ladder: nothing more may be left out, and
// the request does not fit.
type LimitError struct {
	Budget    Budget
	Tokens    int    // size of what remained
	Remaining []Item // what remained, in window order
}

// remainingNamed is how many items the error's text names; all are in the field.
const remainingNamed = 8

// Error says by how much the request is too large and names the largest items
// that remained, by id.
func (e *LimitError) Error() string {
	var b strings.Builder
	b.WriteString("context limit: " + strconv.Itoa(e.Tokens) + " tokens do not fit in " +
		strconv.Itoa(e.Budget.Limit()) + " (" + strconv.Itoa(e.Budget.MaxTokens) + " less " +
		strconv.Itoa(e.Budget.ReservedOutput) + " reserved for output); what remained: ")
	largest := largestFirst(e.Remaining)
	for i, it := range largest {
		if i == remainingNamed {
			b.WriteString(", and " + strconv.Itoa(len(largest)-i) + " more")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(it.ID + " (" + strconv.Itoa(it.Tokens) + ")")
	}
	return b.String()
}

// Unwrap returns [ErrContextLimit].
func (e *LimitError) Unwrap() error { return ErrContextLimit }
