package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Subject is where an event is published:
//
//	ctx.v1.<tenant>.<runtime>.<bucket>.<object>.<verb>
//	ctx.v1.acme.bench-1.p3f.selection.completed
//
// The bucket is one of 256 by hash of the session: it is what partitions, and
// it keeps session ids out of subjects, because the server remembers every
// distinct subject for ever. Tenant and runtime are escaped, so that any id
// round-trips and permissions per tenant are one wildcard.
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

// DefaultTenant and DefaultRuntime stand in subjects for events that name
// none.
const (
	DefaultTenant  = "default"
	DefaultRuntime = "unnamed"
)

// TenantOf returns the tenant that a name stands for. An event, a row or a pack that
// names none is [DefaultTenant]'s.
func TenantOf(name string) string { return or(name, DefaultTenant) }

// SubjectOf returns the subject that e belongs on.
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

// Bucket returns the bucket of a session, "p00" to "pff". It is part of the
// contract and never changes: FNV-1a 32 of the id, folded to 8 bits.
func Bucket(session string) string {
	sum := uint32(2166136261)
	for i := range len(session) {
		sum = (sum ^ uint32(session[i])) * 16777619
	}
	const hex = "0123456789abcdef"
	folded := byte(sum>>24) ^ byte(sum>>16) ^ byte(sum>>8) ^ byte(sum)
	return string([]byte{'p', hex[folded>>4], hex[folded&15]})
}

// String builds the subject. Every byte that NATS gives a meaning, forbids or
// that could not be printed is escaped as %XX.
func (s Subject) String() string {
	return subjectPrefix + escapeToken(s.Tenant) + "." + escapeToken(s.Runtime) + "." + escapeToken(s.Bucket) + "." +
		escapeToken(s.Object) + "." + escapeToken(s.Verb)
}

// ParseSubject undoes [Subject.String].
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

// emptyToken stands for the empty string, which NATS does not allow; escaping
// never yields it otherwise.
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

// hexDigit accepts upper case only, so that every id has one subject.
func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// SubjectTenant returns the tenant of a NATS subject: its third token, unescaped.
// It reads the tenant of every subject that a tenant may publish on, also where
// the rest is no subject of the contract. A token that is not escaped as
// [Subject.String] does it is returned as it is. "" means that the subject has no
// tenant.
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

// CheckSubject compares an event with the subject on which NATS delivered it. An
// event without tenant or runtime is [DefaultTenant]'s and [DefaultRuntime]'s. It
// returns nil where they agree. Otherwise the code is tenant_mismatch, or
// subject_mismatch where the tenant agrees and the runtime, the bucket, the object
// or the verb does not. A type that is not ours has no object and no verb, so any
// will do but those of [OperatorTypes].
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

// OperatorTypes are the facts that only the operator of an installation publishes:
// they speak about the ledger itself. Accounts of tenants are denied their subjects.
func OperatorTypes() []Type { return []Type{TypeErasureApplied, typeRedactionRevoked} }

// typeRedactionRevoked is reserved: no version of the contract defines it yet.
const typeRedactionRevoked Type = "context.redaction.revoked"

// OperatorSubjects returns the subjects of [OperatorTypes], of every runtime and
// bucket of a tenant. The tenant "*" is all tenants.
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
