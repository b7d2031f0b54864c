package producer

import "errors"

// ErrInvalid is what every [*InvalidError] wraps. It is permanent: the caller
// must ask for something else.
var ErrInvalid = errors.New("input invalid")

// ErrWidened is what an [*InvalidError] also wraps where a child asked for more
// than its parent has.
var ErrWidened = errors.New("more than the parent has")

// ErrNotElided is what an [*InvalidError] also wraps where an item is to be loaded again
// that is in the window in full, or that was never elided.
var ErrNotElided = errors.New("item not elided")

// InvalidError names the input that is wrong. Nothing was recorded.
type InvalidError struct {
	Field   string // such as "session", or `limits["max_steps"]`
	Problem string // what is wrong, as the end of a sentence; quotes no content
	also    error  // ErrWidened, ErrNotElided or nil
}

// Error returns one sentence.
func (e *InvalidError) Error() string { return "producer: " + e.Field + " " + e.Problem }

// Unwrap returns [ErrInvalid], and [ErrWidened] or [ErrNotElided] where it applies.
func (e *InvalidError) Unwrap() []error {
	if e.also != nil {
		return []error{ErrInvalid, e.also}
	}
	return []error{ErrInvalid}
}

func invalid(field, problem string) *InvalidError {
	return &InvalidError{Field: field, Problem: problem}
}
