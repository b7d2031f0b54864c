package producer

import "errors"

// ErrInvalid is wrapped by every [*InvalidError]. ErrInvalid is permanent: the caller must
// change the input.
var ErrInvalid = errors.New("input invalid")

// ErrWidened is also wrapped by an [*InvalidError] for a child that requests more than its
// parent has.
var ErrWidened = errors.New("more than the parent has")

// ErrNotElided is also wrapped by an [*InvalidError] for the reload of an item that was
// never elided or is in the window in full.
var ErrNotElided = errors.New("item not elided")

// InvalidError names the input that is wrong. Nothing was recorded.
type InvalidError struct {
	Field   string // such as "session", or `limits["max_steps"]`
	Problem string // end of the sentence that starts with Field; quotes no content
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
