package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Role is a kind of requests that a token allows.
type Role string

// The roles; see the package comment.
const (
	Read     Role = "read"
	Publish  Role = "publish"
	Evidence Role = "evidence"
)

// Roles lists all roles.
var Roles = []Role{Read, Publish, Evidence}

// Identity is who sent a request.
type Identity struct {
	Name   string // of the token; empty for Local
	Tenant string // whose facts the request may read and publish; empty means all tenants
	Roles  []Role

	digest digest // of the token
}

// Local is the identity of requests to a server on loopback without a tokens file.
var Local = Identity{Roles: Roles}

// May reports whether the identity has a role.
func (i Identity) May(role Role) bool { return slices.Contains(i.Roles, role) }

// digest is the SHA-256 of a token.
type digest [sha256.Size]byte

func sum(token string) digest { return sha256.Sum256([]byte(token)) }

// prefix begins each token, so that people and scanners recognise one.
const prefix = "ctxledger_"

// newToken returns a random token.
func newToken() string {
	bits := make([]byte, 32)
	_, _ = rand.Read(bits) // never fails
	return prefix + base64.RawURLEncoding.EncodeToString(bits)
}

// find returns the identity of a token. Its time does not depend on the place of the token.
func find(known []Identity, token string) (found Identity, ok bool) {
	given := sum(token)
	for _, i := range known {
		if subtle.ConstantTimeCompare(i.digest[:], given[:]) == 1 {
			found, ok = i, true
		}
	}
	return found, ok
}

// ErrFormat is wrapped by the errors of a tokens file and of new tokens.
var ErrFormat = errors.New("malformed token entry")

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Validate returns an error for the first field that no tokens file can have.
func (i Identity) Validate() error {
	switch {
	case !nameForm.MatchString(i.Name):
		return fmt.Errorf("%w: the name is %q; use up to 64 letters, digits, dots, dashes and underscores", ErrFormat, i.Name)
	case i.Tenant == "":
		return fmt.Errorf("%w: the tenant of %s is empty; name the tenant of the token", ErrFormat, i.Name)
	case len(i.Roles) == 0:
		return fmt.Errorf("%w: %s has no role; use read, publish or evidence", ErrFormat, i.Name)
	}
	for n, role := range i.Roles {
		if !slices.Contains(Roles, role) || slices.Contains(i.Roles[:n], role) {
			return fmt.Errorf("%w: %s has the role %q; use each of read, publish and evidence at most once", ErrFormat, i.Name, role)
		}
	}
	return nil
}

// line returns the identity as a line of the file.
func (i Identity) line() string {
	roles := make([]string, len(i.Roles))
	for n, role := range i.Roles {
		roles[n] = string(role)
	}
	return fmt.Sprintf("%s %s %s sha256:%s\n", i.Name, url.PathEscape(i.Tenant), strings.Join(roles, ","), hex.EncodeToString(i.digest[:]))
}

// parse reads a tokens file. Its errors name the line and never its digest.
func parse(text string) (known []Identity, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		content, _, _ := strings.Cut(line, "#")
		fields := strings.Fields(content)
		if len(fields) == 0 {
			continue
		}
		i, err := parseLine(fields)
		if err == nil && slices.ContainsFunc(known, func(other Identity) bool { return other.Name == i.Name || other.digest == i.digest }) {
			err = fmt.Errorf("%w: the name %s or its digest occurs twice; remove one of the lines", ErrFormat, i.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		known = append(known, i)
	}
	return known, nil
}

func parseLine(fields []string) (i Identity, err error) {
	if len(fields) != 4 {
		return i, fmt.Errorf("%w: the line has %d fields; want name, tenant, roles and digest", ErrFormat, len(fields))
	}
	i.Name = fields[0]
	if i.Tenant, err = url.PathUnescape(fields[1]); err != nil {
		return i, fmt.Errorf("%w: the tenant of %s is not percent-encoded; `ctxledger token create` writes lines", ErrFormat, i.Name)
	}
	for role := range strings.SplitSeq(fields[2], ",") {
		i.Roles = append(i.Roles, Role(role))
	}
	text, ok := strings.CutPrefix(fields[3], "sha256:")
	bits, err := hex.DecodeString(text)
	if !ok || err != nil || len(bits) != len(i.digest) {
		return i, fmt.Errorf("%w: the digest of %s is not sha256: and 64 hexadecimal digits; `ctxledger token create` writes lines", ErrFormat, i.Name)
	}
	i.digest = digest(bits)
	return i, i.Validate()
}
