package ledger

import (
	"errors"
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
)

func TestSubjectsReadAsWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Subject{
		"user-812":       {"resource", "user-812"},
		"urn:user:812":   {"resource", "urn:user:812"},
		"resource:run:7": {"resource", "run:7"},
		"session:s-9":    {"session", "s-9"},
		"item:a:b":       {"item", "a:b"},
	} {
		s, err := ParseSubject(text)
		if err != nil || s != want || s.String() != text {
			t.Errorf("%s: %+v, %v, %s", text, s, err, s)
		}
	}
	for _, text := range []string{"", " ", "session:", "item: "} {
		if s, err := ParseSubject(text); !errors.Is(err, ErrSubject) {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
}

func TestSubjectCovers(t *testing.T) {
	t.Parallel()
	e := schema.Event{Type: schema.TypeItemAdded.CloudEventsType(), Subject: "i-1", Correlation: schema.Correlation{ResourceID: "u", SessionID: "s", RunID: "r", ThreadID: "t"}}
	for _, s := range []Subject{{"resource", "u"}, {"session", "s"}, {"run", "r"}, {"thread", "t"}, {"item", "i-1"}} {
		if !s.Covers(&e) || (Subject{s.Kind, "other"}).Covers(&e) {
			t.Errorf("%s", s)
		}
		kept := e
		kept.Type = schema.TypeRedactionApplied.CloudEventsType()
		if s.Covers(&kept) {
			t.Errorf("%s covers a redaction", s)
		}
	}
	for data, ids := range map[string][]string{
		`{"user":"u"`:            {"u", "user"},
		`{"user":"u","note":""}`: {"u", "user", "note"},
		`{"n":"\u0075"}`:         {"u", "n"},
		"\xffu\xff\x00use":       {"u", "use"},
		"üuü u2":                 nil,
		"":                       nil,
	} {
		for _, id := range []string{"u", "us", "use", "user", "n", "note"} {
			if got := (Subject{"resource", id}).CoversRefused(Refusal{Data: []byte(data)}); got != slices.Contains(ids, id) {
				t.Errorf("%q belongs to %q: %v", data, id, got)
			}
		}
	}
}
