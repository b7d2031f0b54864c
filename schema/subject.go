package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Subject is the NATS subject of an event:
//
//	ctx.v1.<tenant>.<runtime>.<bucket>.<object>.<verb>
//	ctx.v1.acme.bench-1.p3f.selection.completed
//
// The bucket is one of 256, by a hash of the session. Buckets partition the events. Subjects contain
// no session ids, because the server remembers every distinct subject for ever. Tenant and runtime
// are escaped. Every id therefore round-trips, and one wildcard covers the permissions of a tenant.
type Subject struct {
	Tenant  string
	Runtime string
	Bucket  string // "p00" to "pff"
	Object  string
	Verb    string
}

const subjectPrefix = "ctx.v1."

// AllSubjects matches every subject of the contract.
const AllSubjects = subjectPrefix + ">"

// DefaultTenant and DefaultRuntime are the subject tokens of events without a tenant or runtime.
const (
	DefaultTenant  = "default"
	DefaultRuntime = "unnamed"
)

// TenantOf returns the tenant for a name. An event, a row or a pack without a tenant belongs to
// [DefaultTenant].
func TenantOf(name string) string { return or(name, DefaultTenant) }

// SubjectOf returns the subject of e.
func SubjectOf(e *Event) Subject {
	object, verb := e.EventType().ObjectVerb()
	return Subject{
		Tenant: TenantOf(e.Tenant), Runtime: or(e.RuntimeID, DefaultRuntime),
		Bucket: Bucket(e.SessionID), Object: object, Verb: verb,
	}
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// Bucket returns the bucket of a session, "p00" to "pff". The bucket is FNV-1a 32 of the id,
// folded to 8 bits. The function is part of the contract and never changes.
func Bucket(session string) string {
	sum := uint32(2166136261)
	for i := range len(session) {
		sum = (sum ^ uint32(session[i])) * 16777619
	}
	const hex = "0123456789abcdef"
	folded := byte(sum>>24) ^ byte(sum>>16) ^ byte(sum>>8) ^ byte(sum)
	return string([]byte{'p', hex[folded>>4], hex[folded&15]})
}

// String builds the subject. String escapes bytes as %XX if NATS gives them a meaning, if NATS
// forbids them, or if they are not printable.
func (s Subject) String() string {
	return subjectPrefix + escapeToken(s.Tenant) + "." + escapeToken(s.Runtime) + "." + escapeToken(s.Bucket) + "." +
		escapeToken(s.Object) + "." + escapeToken(s.Verb)
}

// ParseSubject reverses [Subject.String].
func ParseSubject(subject string) (Subject, error) {
	rest, ok := strings.CutPrefix(subject, subjectPrefix)
	var tokens [5]string
	if !ok || strings.Count(rest, ".") != len(tokens)-1 {
		return Subject{}, fmt.Errorf("subject %q: want ctx.v1.<tenant>.<runtime>.<bucket>.<object>.<verb>", subject)
	}
	for i := range tokens {
		var token string
		token, rest, _ = strings.Cut(rest, ".")
		plain, ok := unescapeToken(token)
		if !ok {
			return Subject{}, fmt.Errorf("subject %q: token %q is not escaped as %%XX", subject, token)
		}
		tokens[i] = plain
	}
	return Subject{tokens[0], tokens[1], tokens[2], tokens[3], tokens[4]}, nil
}

// emptyToken is the token for the empty string, which NATS does not allow. Escaping other text
// never yields it.
const emptyToken = "%"

func plainTokenByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

func escapeToken(s string) string {
	if s == "" {
		return emptyToken
	}
	plain := 0
	for plain < len(s) && plainTokenByte(s[plain]) {
		plain++
	}
	if plain == len(s) {
		return s
	}
	const upper = "0123456789ABCDEF"
	b := append(make([]byte, 0, 3*len(s)), s[:plain]...)
	for i := plain; i < len(s); i++ {
		if c := s[i]; plainTokenByte(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', upper[c>>4], upper[c&15])
		}
	}
	return string(b)
}

func unescapeToken(token string) (string, bool) {
	if token == emptyToken {
		return "", true
	}
	plain := 0
	for plain < len(token) && plainTokenByte(token[plain]) {
		plain++
	}
	if plain == len(token) {
		return token, plain > 0
	}
	var b strings.Builder
	b.WriteString(token[:plain])
	for i := plain; i < len(token); i++ {
		c := token[i]
		if plainTokenByte(c) {
			b.WriteByte(c)
			continue
		}
		if c != '%' || i+2 >= len(token) {
			return "", false
		}
		high, low := hexDigit(token[i+1]), hexDigit(token[i+2])
		if high < 0 || low < 0 {
			return "", false
		}
		decoded := byte(high<<4 | low)
		if plainTokenByte(decoded) {
			return "", false
		}
		b.WriteByte(decoded)
		i += 2
	}
	return b.String(), b.Len() > 0
}

// hexDigit accepts only upper case. Every id therefore has exactly one subject.
func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// SubjectTenant returns the tenant of a NATS subject: its third token, unescaped. SubjectTenant
// also reads subjects outside the contract that a tenant may publish on. SubjectTenant returns a
// token that [Subject.String] would not write unchanged. "" means that the subject has no tenant.
func SubjectTenant(subject string) string {
	rest, ok := strings.CutPrefix(subject, subjectPrefix)
	if !ok {
		return ""
	}
	token, _, _ := strings.Cut(rest, ".")
	if plain, ok := unescapeToken(token); ok && plain != "" {
		return plain
	}
	return token
}

// CheckSubject compares an event with the subject on which NATS delivered it. An event without
// tenant or runtime belongs to [DefaultTenant] and [DefaultRuntime]. CheckSubject returns nil if
// event and subject agree. The code is tenant_mismatch if the tenants differ. The code is
// subject_mismatch if the runtime, the bucket, the object or the verb differs. A type outside the
// contract has no object and no verb. An event of such a type may use every object and verb
// except the pairs of [OperatorTypes].
func (e *Event) CheckSubject(subject string) *Violation {
	want := SubjectOf(e)
	kind := e.EventType()
	rest, ok := strings.CutPrefix(subject, subjectPrefix)
	tenant, rest, _ := strings.Cut(rest, ".")
	if !ok || tenant != escapeToken(want.Tenant) {
		return &Violation{
			Code: CodeTenantMismatch, Pointer: "/tenant", Found: "tenant " + quoted(want.Tenant) + " on the subject of " + quoted(SubjectTenant(subject)),
			Fix: "publish it on the subject of its tenant, or name the tenant of the subject",
		}
	}
	runtime, rest, _ := strings.Cut(rest, ".")
	bucket, rest, _ := strings.Cut(rest, ".")
	object, verb, _ := strings.Cut(rest, ".")
	switch {
	case runtime != escapeToken(want.Runtime):
		return subjectMismatch("/runtimeid", want)
	case bucket != want.Bucket:
		return subjectMismatch("/sessionid", want)
	case kind == "":
		if _, err := ParseSubject(subject); err != nil || operatorSuffix(object, verb) {
			return subjectMismatch("/type", want)
		}
	case object != escapeToken(want.Object) || verb != escapeToken(want.Verb):
		return subjectMismatch("/type", want)
	}
	return nil
}

func subjectMismatch(pointer string, want Subject) *Violation {
	return &Violation{
		Code: CodeSubjectMismatch, Pointer: pointer, Found: "an event that belongs on " + Clip(want.String()),
		Fix: "publish it on the subject that follows from its attributes",
	}
}

func quoted(s string) string { return `"` + Clip(s) + `"` }

// OperatorSubjects returns the subjects of [OperatorTypes] for every runtime and bucket of a
// tenant. The tenant "*" means all tenants.
func OperatorSubjects(tenant string) []string {
	if tenant != "*" {
		tenant = escapeToken(tenant)
	}
	var list []string
	for _, t := range OperatorTypes() {
		object, verb := t.ObjectVerb()
		list = append(list, subjectPrefix+tenant+".*.*."+object+"."+verb)
	}
	return list
}

func operatorSuffix(object, verb string) bool {
	return slices.ContainsFunc(OperatorTypes(), func(t Type) bool {
		o, v := t.ObjectVerb()
		return o == object && v == verb
	})
}
