package grant

import "fmt"

// Mode says what tools of a resource a run may see. The zero value means that
// nothing was declared.
type Mode string

// The two modes of seed 002.
const (
	Read      Mode = "read"       // read-safe tools only
	ReadWrite Mode = "read-write" // read and write tools
)

// ParseMode accepts "read" and "read-write". The empty string gives [Read],
// which is what an undeclared mode means. The error wraps [ErrInvalid].
func ParseMode(s string) (Mode, error) {
	switch Mode(s) {
	case "", Read:
		return Read, nil
	case ReadWrite:
		return ReadWrite, nil
	}
	return "", fmt.Errorf("%w: resource mode %q is neither %q nor %q", ErrInvalid, s, Read, ReadWrite)
}

// String returns the mode as the events carry it.
func (m Mode) String() string { return string(m) }

// Clamp returns the mode that a child's resource really gets: read where either
// side says read. A parent that does not declare the resource's kind (the zero
// Mode) imposes nothing. An undeclared or unknown mode of the child, and an
// unknown one of the parent, count as [Read].
//
// Parents are matched by the kind of the resource, not its name; where a parent
// has several resources of a kind, clamp with [Strictest] of them.
//
// Source: seed 002 (read versus read-write).
func (m Mode) Clamp(parent Mode) Mode {
	if m == ReadWrite && (parent == ReadWrite || parent == "") {
		return ReadWrite
	}
	return Read
}

// Strictest returns the most restrictive of the declared modes, and the zero
// Mode where none is given.
func Strictest(modes ...Mode) Mode {
	if len(modes) == 0 {
		return ""
	}
	for _, m := range modes {
		if m != ReadWrite {
			return Read
		}
	}
	return ReadWrite
}

// Allows reports whether a tool of mode tool may be shown to a run in mode m. A
// tool that must not be shown is not registered at all: the model never sees it.
func (m Mode) Allows(tool Mode) bool { return tool == Read || m == ReadWrite && tool == ReadWrite }
