package window

import (
	"errors"
	"strconv"
	"strings"
)

// ErrInvalid is wrapped by every [*InvalidError]: the planner cannot use the input. The
// error is permanent.
var ErrInvalid = errors.New("window input invalid")

// ErrContextLimit is wrapped by every [*LimitError]: the request does not fit. The caller
// must send less, or use a model with a larger window.
var ErrContextLimit = errors.New("context limit")

// ErrNotSmaller means that a summary and its reinjected state are not smaller than the
// replaced items. The error is permanent for this summary, and the caller must discard the
// summary.
var ErrNotSmaller = errors.New("the summary is not smaller than what it stands for")

// A [Work] returns or wraps these errors to name them in the plan. Any other error is
// recorded as an error without its text.
var (
	ErrWorkPanicked = errors.New("the runtime's function panicked")
	ErrWorkTimeout  = errors.New("the runtime's function did not answer in time")
	ErrNoWork       = errors.New("the runtime supplied no function")
)

// InvalidError names the input that is wrong.
type InvalidError struct {
	Field   string // e.g. "item.tokens"
	Ref     string // name of the item or step; may be empty
	Problem string // end of the sentence that starts with Field
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

// LimitError is step 5 of seed 000's ladder: no further item may be left out, and the
// request does not fit.
type LimitError struct {
	Budget    Budget
	Tokens    int    // size of the remaining items
	Remaining []Item // remaining items, in window order
}

// remainingNamed is the number of items that the error's text names; the field holds all.
const remainingNamed = 8

// Error returns the excess of the request and the ids of the largest remaining items.
func (e *LimitError) Error() string {
	var b strings.Builder
	b.WriteString("context limit: " + strconv.Itoa(e.Tokens) + " tokens do not fit in " +
		strconv.Itoa(e.Budget.Limit()) + " (" + strconv.Itoa(e.Budget.MaxTokens) + " less " +
		strconv.Itoa(e.Budget.ReservedOutput) + " reserved for output); remaining items: ")
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
