package schema

import (
	"slices"
	"strings"
)

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
