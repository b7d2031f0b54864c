package schema

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/schema/internal/schematest"
)

// headers turns "name: value" lines into a header, and back.
func headers(text string) map[string][]string {
	h := make(map[string][]string)
	for _, line := range strings.Split(text, "\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			h[name] = append(h[name], value)
		}
	}
	return h
}

// reencodes checks that an accepted event has the same digest in both modes.
func reencodes(t *testing.T, e *Event) {
	t.Helper()
	b := e.Binary()
	if _, err := ParseSubject(b.Subject); err != nil {
		t.Fatal(err)
	}
	messages := []Message{b}
	// Data that claims to be JSON and is not can only travel as bytes.
	if s, err := e.Structured(); err == nil {
		messages = append(messages, s)
	} else if v := new(Violation); !errors.As(err, &v) || v.Code != CodeMalformed {
		t.Fatal(err)
	}
	for _, m := range messages {
		back, err := ParseMessage(m.Header, m.Data)
		if err != nil {
			t.Fatalf("%v\n%v\n%s", err, m.Header, m.Data)
		}
		if back.Digest() != e.Digest() || back.MessageID() != e.MessageID() {
			t.Fatalf("another event:\n%q %q\n%q %q", back.Attributes(), back.Data, e.Attributes(), e.Data)
		}
	}
	_, before := Validate(e)
	if again, err := ParseMessage(b.Header, b.Data); err != nil || len(before) != func() int { _, found := Validate(again); return len(found) }() {
		t.Fatalf("validated otherwise after a journey: %v, %v", before, err)
	}
}

func FuzzParseMessage(f *testing.F) {
	for _, kind := range Types() {
		e := goldenEvent(f, kind)
		m := e.Binary()
		var lines []string
		for name, values := range m.Header {
			lines = append(lines, name+": "+values[0])
		}
		f.Add(strings.Join(lines, "\n"), m.Data)
	}
	f.Fuzz(func(t *testing.T, header string, payload []byte) {
		if e, err := ParseMessage(headers(header), payload); err == nil {
			reencodes(t, e)
		}
	})
}

func FuzzParseStructured(f *testing.F) {
	for _, kind := range Types() {
		f.Add(Golden(kind))
	}
	f.Add([]byte(`{"specversion":"1.0","id":"i","source":"urn:x","type":"t","datacontenttype":"text/plain","data":"\ud83d\ude00"}`))
	f.Add([]byte(`{"specversion":"1.0","id":"i","source":"urn:x","type":"t","data_base64":"AAEC"}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		before := bytes.Clone(document)
		e, err := ParseStructured(document)
		if !bytes.Equal(before, document) {
			t.Fatal("the document was changed")
		}
		if err == nil {
			reencodes(t, e)
		}
	})
}

func FuzzValidate(f *testing.F) {
	for i, kind := range Types() {
		f.Add(uint8(i), goldenEvent(f, kind).Data)
	}
	f.Add(uint8(0), []byte(`{"a":{"\u005cb":[{"status":"completed"}]}}`))
	for i, kind := range Types() {
		f.Add(uint8(i), []byte(`{"event_type":"`+kind+`","expires_at":"2026-03-02T09:00:00,5Z","source_refs":[{"retrieved_at":"2026-03-02T09:00:00.5Z"}],"score":1e3}`))
	}
	types := Types()
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		e := &Event{ID: "i", Source: "urn:x", Type: types[int(kind)%len(types)].CloudEventsType(), Time: schematest.EventTime, Data: data}
		sameAsStrict(t, e)
		fact, found := Validate(e)
		if (fact == nil) && len(found) == 0 {
			t.Fatal("neither a fact nor a violation")
		}
		if len(found) > 0 {
			return
		}
		again, err := NewEvent(fact, e.ID, e.Source, e.Time, e.Correlation)
		if err != nil {
			t.Fatalf("accepted, and then: %v\n%s", err, data)
		}
		back, err := again.Decode()
		if err != nil {
			t.Fatalf("%v\n%s", err, again.Data)
		}
		third, err := NewEvent(back, e.ID, e.Source, e.Time, e.Correlation)
		if err != nil || !bytes.Equal(again.Data, third.Data) {
			t.Fatalf("%v\n%s\n%s", err, again.Data, third.Data)
		}
		reencodes(t, e)
	})
}

func FuzzParseSubject(f *testing.F) {
	f.Add("ctx.v1.acme.bench-1.p3f.selection.completed")
	f.Add("ctx.v1.%.%2E.p00.o.v%FF")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSubject(text)
		if err == nil && s.String() != text {
			t.Fatalf("%q became %q", text, s.String())
		}
	})
}

func FuzzParseKeyRing(f *testing.F) {
	f.Add([]byte("tenant acme\nkey k1 2026-03-02T09:00:00Z AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"))
	f.Add([]byte("# a comment\n\ntenant %\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		ring, err := ParseKeyRing(text)
		if err != nil {
			return
		}
		once := ring.Format()
		again, err := ParseKeyRing(once)
		if err != nil || !bytes.Equal(again.Format(), once) || again.Tenant != ring.Tenant {
			t.Fatalf("%v\n%s", err, once)
		}
	})
}

func FuzzParseEvidenceID(f *testing.F) {
	for _, seed := range []string{"turn-3", "x-", "x-_2F", "x-x-1", "a/b", "é", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if id, err := ParseEvidenceID(text); err == nil {
			if again, err := EvidenceID(id); err != nil || again != text {
				t.Fatalf("%q was read as %q and written as %q, %v", text, id, again, err)
			}
		}
		if mapped, err := EvidenceID(text); err == nil {
			if back, err := ParseEvidenceID(mapped); err != nil || back != text {
				t.Fatalf("%q became %q and %q, %v", text, mapped, back, err)
			}
		}
	})
}
