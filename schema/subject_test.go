package schema

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSubject(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		in   Subject
		want string
	}{
		{"plain", Subject{"acme", "bench-1", "p3f", "selection", "completed"}, "ctx.v1.acme.bench-1.p3f.selection.completed"},
		{"empty tokens", Subject{"", "", "p00", "context", "exported"}, "ctx.v1.%.%.p00.context.exported"},
		{"dots and wildcards", Subject{"a.b", "*", "p00", ">", "$JS"}, "ctx.v1.a%2Eb.%2A.p00.%3E.%24JS"},
		{"percent", Subject{"%", "%41", "p00", "o", "v"}, "ctx.v1.%25.%2541.p00.o.v"},
		{"space and newline", Subject{"a b", "a\r\nPUB x", "p00", "o", "v"}, "ctx.v1.a%20b.a%0D%0APUB%20x.p00.o.v"},
		{"unicode and invalid", Subject{"é", "\xff\x00", "p00", "o", "v"}, "ctx.v1.%C3%A9.%FF%00.p00.o.v"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := c.in.String(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if back, err := ParseSubject(c.want); err != nil || back != c.in {
				t.Errorf("parsed %+v, %v", back, err)
			}
		})
	}
}

func TestSubjectRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		anyID := rapid.OneOf(rapid.String(), rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) }))
		s := Subject{anyID.Draw(t, "tenant"), anyID.Draw(t, "runtime"), Bucket(anyID.Draw(t, "session")), anyID.Draw(t, "object"), anyID.Draw(t, "verb")}
		text := s.String()
		if strings.ContainsAny(text, " \t\r\n*>") || strings.Count(text, ".") != 6 || strings.Contains(text, "..") {
			t.Fatalf("NATS would refuse %q", text)
		}
		back, err := ParseSubject(text)
		if err != nil || back != s {
			t.Fatalf("%q: %+v, %v", text, back, err)
		}
	})
}

func TestParseSubjectRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "ctx.v1.", "ctx.v2.a.b.p00.o.v", "ctx.v1.a.b.p00.o", "ctx.v1.a.b.p00.o.v.w", "ctx.v1..b.p00.o.v", "ctx.v1.*.b.p00.o.v",
		"ctx.v1.a.b.p00.o.>", "ctx.v1.a%2.b.p00.o.v", "ctx.v1.a%2e.b.p00.o.v", "ctx.v1.%61.b.p00.o.v", "ctx.v1.a%%.b.p00.o.v", "ctx.v1.é.b.p00.o.v",
	} {
		if s, err := ParseSubject(text); err == nil {
			t.Errorf("%q parsed as %+v", text, s)
		}
	}
}

// TestBucketNeverChanges checks the hash against fixed values, because streams filter by it.
func TestBucketNeverChanges(t *testing.T) {
	t.Parallel()
	for session, want := range map[string]string{"": "pc5", "sess-7f3a": "pdf", "a": "ped"} {
		if got := Bucket(session); got != want {
			t.Errorf("%q: %s, want %s", session, got, want)
		}
	}
	seen := make(map[string]bool)
	for i := range 10000 {
		seen[Bucket(fmt.Sprintf("session-%d", i))] = true
	}
	if len(seen) != 256 {
		t.Errorf("%d buckets", len(seen))
	}
}

func TestSubjectOfDefaults(t *testing.T) {
	t.Parallel()
	e := &Event{Type: TypeExported.CloudEventsType()}
	if got := SubjectOf(e).String(); got != "ctx.v1.default.unnamed."+Bucket("")+".context.exported" {
		t.Error(got)
	}
	e = &Event{Type: "com.example.other"}
	if _, err := ParseSubject(SubjectOf(e).String()); err != nil {
		t.Error(err)
	}
}
