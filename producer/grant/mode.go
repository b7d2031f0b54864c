package grant

import "fmt"

// Mode is the class of a resource's tools that a run may see. The zero value means that no
// mode was declared.
type Mode string

// The two modes of seed 002.
const (
	Read      Mode = "read"       // read-safe tools only
	ReadWrite Mode = "read-write" // read and write tools
)

// ParseMode accepts "read" and "read-write". The empty string is an undeclared mode and
// gives [Read]. The error wraps [ErrInvalid].
func ParseMode(s string) (Mode, error) {
	switch Mode(s) {
	case "", Read:
		return Read, nil
	case ReadWrite:
		return ReadWrite, nil
	}
	return "", fmt.Errorf("%w: resource mode %q is neither %q nor %q", ErrInvalid, s, Read, ReadWrite)
}

// String returns the mode as in the events.
func (m Mode) String() string { return string(m) }

// Clamp returns the effective mode of a child's resource: [Read] if the child or the parent
// has [Read]. The zero parent Mode means that the parent does not declare the resource's
// kind, and sets no limit. An undeclared or unknown mode of the child counts as [Read]. An
// unknown mode of the parent counts as [Read].
//
// Parents are matched by the kind of the resource, not by its name. If a parent has several
// resources of a kind, clamp with [Strictest] of their modes.
//
// Source: seed 002 (read versus read-write).
func (m Mode) Clamp(parent Mode) Mode {
	if m == ReadWrite && (parent == ReadWrite || parent == "") {
		return ReadWrite
	}
	return Read
}

// Strictest returns the most restrictive of the declared modes, or the zero Mode for an
// empty list.
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

// Allows reports whether a run in mode m may see a tool of mode tool. Other tools are not
// registered, so the model never sees them.
func (m Mode) Allows(tool Mode) bool { return tool == Read || m == ReadWrite && tool == ReadWrite }
