package schema

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// owned returns an event of a known type with these ids.
func owned(tb testing.TB, tenant, runtime, session string) *Event {
	tb.Helper()
	e, err := NewEvent(&ItemRemoved{ItemID: "i", Reason: "superseded"}, "e1", "urn:test", time.Unix(1, 0), Correlation{Tenant: tenant, RuntimeID: runtime, SessionID: session})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func TestTheSubjectSaysWhoseAnEventIs(t *testing.T) {
	t.Parallel()
	invented := func(kind string) func(*Event) { return func(e *Event) { e.Type = kind } }
	for name, c := range map[string]struct {
		tenant, runtime string
		subject         string
		change          func(*Event)
		want            Code
	}{
		"its own":                   {"acme", "rt", "ctx.v1.acme.rt.p3d.item.removed", nil, ""},
		"absent means default":      {"", "", "ctx.v1.default.unnamed.p3d.item.removed", nil, ""},
		"default by name":           {"default", "unnamed", "ctx.v1.default.unnamed.p3d.item.removed", nil, ""},
		"absent on another's":       {"", "rt", "ctx.v1.acme.rt.p3d.item.removed", nil, CodeTenantMismatch},
		"another's":                 {"bolt", "rt", "ctx.v1.acme.rt.p3d.item.removed", nil, CodeTenantMismatch},
		"another case":              {"Acme", "rt", "ctx.v1.acme.rt.p3d.item.removed", nil, CodeTenantMismatch},
		"white space":               {"acme ", "rt", "ctx.v1.acme.rt.p3d.item.removed", nil, CodeTenantMismatch},
		"escaped as it must be":     {"a.b*", "r t", "ctx.v1.a%2Eb%2A.r%20t.p3d.item.removed", nil, ""},
		"escaped though it is not":  {"acme", "rt", "ctx.v1.%61cme.rt.p3d.item.removed", nil, CodeTenantMismatch},
		"escaped in small letters":  {"a.b", "rt", "ctx.v1.a%2eb.rt.p3d.item.removed", nil, CodeTenantMismatch},
		"the empty token":           {"", "rt", "ctx.v1.%.rt.p3d.item.removed", nil, CodeTenantMismatch},
		"another contract":          {"acme", "rt", "ctx.v2.acme.rt.p3d.item.removed", nil, CodeTenantMismatch},
		"no contract":               {"acme", "rt", "acme", nil, CodeTenantMismatch},
		"another runtime":           {"acme", "rt", "ctx.v1.acme.other.p3d.item.removed", nil, CodeSubjectMismatch},
		"another bucket":            {"acme", "rt", "ctx.v1.acme.rt.p00.item.removed", nil, CodeSubjectMismatch},
		"another verb":              {"acme", "rt", "ctx.v1.acme.rt.p3d.item.added", nil, CodeSubjectMismatch},
		"another object":            {"acme", "rt", "ctx.v1.acme.rt.p3d.erasure.removed", nil, CodeSubjectMismatch},
		"too short":                 {"acme", "rt", "ctx.v1.acme", nil, CodeSubjectMismatch},
		"too long":                  {"acme", "rt", "ctx.v1.acme.rt.p3d.item.removed.more", nil, CodeSubjectMismatch},
		"a later type":              {"acme", "rt", "ctx.v1.acme.rt.p3d.item.pinned", invented("dev.ctxledger.context.item.pinned.v1"), ""},
		"a later type elsewhere":    {"acme", "rt", "ctx.v1.acme.rt.p3d.item.removed", invented("dev.ctxledger.context.item.pinned.v1"), CodeSubjectMismatch},
		"a type of others":          {"acme", "rt", "ctx.v1.acme.rt.p3d.order.placed", invented("com.example.order.placed"), ""},
		"of others, another's":      {"bolt", "rt", "ctx.v1.acme.rt.p3d.order.placed", invented("com.example.order.placed"), CodeTenantMismatch},
		"of others, the operator's": {"acme", "rt", "ctx.v1.acme.rt.p3d.erasure.applied", invented("com.example.order.placed"), CodeSubjectMismatch},
	} {
		e := owned(t, c.tenant, c.runtime, "s")
		if c.change != nil {
			c.change(e)
		}
		var got Code
		if v := e.CheckSubject(c.subject); v != nil {
			got = v.Code
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// An event of a known type agrees with exactly one subject.
func FuzzCheckSubject(f *testing.F) {
	f.Add("acme", "rt", "s", "ctx.v1.acme.rt.p3d.item.removed")
	f.Add("a.b", "", "", "ctx.v1.a%2Eb.unnamed.pd5.item.removed")
	f.Add("", "%", "*", "ctx.v1.%.%.%.%.%")
	f.Fuzz(func(t *testing.T, tenant, runtime, session, subject string) {
		e := owned(t, tenant, runtime, session)
		own := SubjectOf(e).String()
		if v := e.CheckSubject(own); v != nil {
			t.Fatalf("%q is refused on its own subject %q: %v", tenant, own, v)
		}
		if v := e.CheckSubject(subject); (v == nil) != (subject == own) {
			t.Fatalf("it belongs on %q; on %q it is %v", own, subject, v)
		}
		if got := SubjectTenant(own); got != or(tenant, DefaultTenant) {
			t.Fatalf("the tenant of %q is %q, not %q", own, got, tenant)
		}
	})
}

// What a tenant may publish on is the tenant's, whatever follows.
func TestEverySubjectOfATenantIsItsOwn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tenant := rapid.StringN(1, 40, 80).Draw(t, "tenant")
		prefix, _, _ := strings.Cut(strings.TrimPrefix(Subject{Tenant: tenant}.String(), subjectPrefix), ".")
		rest := rapid.StringMatching(`(\.[a-z%*0-9]{0,5}){0,6}`).Draw(t, "rest")
		if got := SubjectTenant(subjectPrefix + prefix + rest); got != tenant {
			t.Fatalf("%q is of %q, not %q", subjectPrefix+prefix+rest, got, tenant)
		}
	})
	for _, subject := range []string{"", "ctx", "ctx.v1", "ctx.v2.acme.x", "other.v1.acme"} {
		if got := SubjectTenant(subject); got != "" {
			t.Errorf("%q is of %q", subject, got)
		}
	}
}

func TestOperatorSubjects(t *testing.T) {
	t.Parallel()
	want := "ctx.v1.a%2Eb.*.*.erasure.applied ctx.v1.a%2Eb.*.*.redaction.revoked"
	if got := strings.Join(OperatorSubjects("a.b"), " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
