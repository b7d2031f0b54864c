package producer

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Limits are what a run may spend, by name: a budget is a limit. The names and
// units are the runtime's own, but for those below; what has no name here has no
// limit. Recording enforces none of them except [LimitWindow]: a runtime asks
// [Limits.Check] where it spends.
type Limits map[string]float64

// LimitWindow is the most tokens, prompt and reserved output together, that the
// window of any call of the run may have. A turn takes the smaller of it and its
// model's.
const LimitWindow = "max_window_tokens"

// ErrLimit is what every [*ExceededError] wraps.
var ErrLimit = errors.New("limit exceeded")

// ExceededError says that more was spent than a limit allows.
type ExceededError struct {
	Name          string // of the limit
	Limit, Actual float64
}

// Error names the limit and both numbers.
func (e *ExceededError) Error() string {
	return fmt.Sprintf("%v: %s is %v, and the limit %v", ErrLimit, e.Name, e.Actual, e.Limit)
}

// Unwrap returns [ErrLimit].
func (e *ExceededError) Unwrap() error { return ErrLimit }

// Check returns an [*ExceededError] where actual is above the limit called name,
// and nil at the limit, below it, and where there is no such limit.
//
// Source: seed 000 (limits), shared/vectors/noetic.json, check_budget.
func (l Limits) Check(name string, actual float64) error {
	limit, limited := l[name]
	if !limited || actual <= limit {
		return nil
	}
	return &ExceededError{Name: name, Limit: limit, Actual: actual}
}

// Validate reports a limit that is no limit: one without a name, negative, or
// not a finite number. It changes nothing. The error is an [*InvalidError].
func (l Limits) Validate() error {
	for _, name := range slices.Sorted(maps.Keys(l)) {
		switch n := l[name]; {
		case name == "":
			return invalid("limits", "needs a name for each limit")
		case math.IsNaN(n) || math.IsInf(n, 0) || n < 0:
			return invalid(limitField(name), "must be a number from 0")
		}
	}
	return nil
}

// Narrow returns the limits of a child of a run that has l: all of l, and what
// the child asks for, which may be lower than the parent's or new, never higher.
// No slice or map is shared. The error is an [*InvalidError], which wraps
// [ErrWidened] where a limit would be higher.
func (l Limits) Narrow(asked Limits) (Limits, error) {
	if err := asked.Validate(); err != nil {
		return nil, err
	}
	effective := maps.Clone(l)
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if has, limited := l[name]; limited && asked[name] > has {
			return nil, &InvalidError{
				Field: limitField(name), Problem: fmt.Sprintf("would be %v, and the parent's is %v", asked[name], has), widened: true,
			}
		}
		if effective == nil {
			effective = make(Limits, len(asked))
		}
		effective[name] = asked[name]
	}
	return effective, nil
}

func limitField(name string) string { return "limits[" + strconv.Quote(name) + "]" }

// recorded is the form that the fact has.
func (l Limits) recorded() map[string]any {
	if len(l) == 0 {
		return nil
	}
	named := make(map[string]any, len(l))
	for name, n := range l {
		named[name] = n
	}
	return named
}

// bound is the model with a window that the limits allow.
func (l Limits) bound(m Model) Model {
	if most, limited := l[LimitWindow]; limited && float64(m.Window.MaxTokens) > most {
		m.Window.MaxTokens = int(most)
	}
	return m
}
