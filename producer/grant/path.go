package grant

import (
	"strings"
	"unicode/utf8"
)

// Path is one namespace grant, for example app/user/u_123. A Path made by [ParsePath]
// follows the grammar in the package comment. A converted string may violate the grammar,
// so every operation that decides access parses the path again. The zero value is not a
// valid path.
type Path string

// ParsePath checks one namespace path. The error is an [*Error].
//
// Source: seed 002, shared/vectors/grants.json.
func ParsePath(s string) (Path, error) {
	switch {
	case s == "":
		return "", invalid(s, "grant must not be empty")
	case !utf8.ValidString(s):
		return "", invalid(s, "grant must be valid UTF-8")
	case trimSpace(s) != s:
		return "", invalid(s, "grant must not contain leading or trailing whitespace")
	case s[0] == '/' || s[len(s)-1] == '/':
		return "", invalid(s, "grant must not start or end with '/'")
	case strings.Contains(s, "//"):
		return "", invalid(s, "grant must not contain empty path segments")
	}
	for segment := range strings.SplitSeq(s, "/") {
		switch {
		case segment == "." || segment == "..":
			return "", invalid(s, "grant must not contain traversal segments")
		case strings.Contains(segment, "*"):
			return "", invalid(s, "grant must not contain wildcards")
		case strings.ContainsFunc(segment, isSpace):
			return "", invalid(s, "grant segments must not contain whitespace")
		}
	}
	return Path(s), nil
}

// String returns the path unchanged.
func (p Path) String() string { return string(p) }

// UnmarshalText parses the path, so a decoded path follows the grammar. The error is an
// [*Error].
func (p *Path) UnmarshalText(text []byte) error {
	parsed, err := ParsePath(string(text))
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}

// Contains reports whether q is p or lies below p. Contains compares whole segments and is
// case-sensitive. An empty path contains no path and lies in no path.
func (p Path) Contains(q Path) bool {
	if p == "" || !strings.HasPrefix(string(q), string(p)) {
		return false
	}
	return len(q) == len(p) || q[len(p)] == '/'
}

// Ancestors returns the path's ancestors from the root down, and then the path itself:
// a/b/c gives a, a/b, a/b/c. The empty path has none.
func (p Path) Ancestors() []Path {
	if p == "" {
		return nil
	}
	out := make([]Path, 0, 1+strings.Count(string(p), "/"))
	for i := range len(p) {
		if p[i] == '/' {
			out = append(out, p[:i])
		}
	}
	return append(out, p)
}

// below returns the number of segments that q has below p. p must contain q.
func (p Path) below(q Path) int {
	return strings.Count(string(q[len(p):]), "/")
}
