package schema

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2/event"
	"github.com/ctxledger/ctxledger/schema/internal/schematest"
	"pgregory.net/rapid"
)

// wire writes a message in its wire format, with headers sorted.
func wire(m Message) []byte {
	var b bytes.Buffer
	b.WriteString("NATS/1.0\r\n")
	for _, name := range slices.Sorted(maps.Keys(m.Header)) {
		for _, value := range m.Header[name] {
			fmt.Fprintf(&b, "%s: %s\r\n", name, value)
		}
	}
	b.WriteString("\r\n")
	b.Write(m.Data)
	return b.Bytes()
}

// unwire reads the output of wire.
func unwire(t testing.TB, raw []byte) Message {
	t.Helper()
	head, data, ok := bytes.Cut(raw, []byte("\r\n\r\n"))
	if !ok {
		t.Fatal("no end of headers")
	}
	m := Message{Header: map[string][]string{}, Data: data}
	for _, line := range strings.Split(string(head), "\r\n")[1:] {
		name, value, _ := strings.Cut(line, ": ")
		m.Header[name] = append(m.Header[name], value)
	}
	return m
}

// readable returns the twin of a vector: the parsed event, or the reason of the refusal.
func readable(e *Event, err error) string {
	if err != nil {
		return "refused: " + err.Error() + "\n"
	}
	var b strings.Builder
	for _, a := range e.Attributes() {
		fmt.Fprintf(&b, "%-18s %q\n", a.Name, a.Value)
	}
	fmt.Fprintf(&b, "data               %s\n", e.Data)
	return b.String()
}

// TestBindingVectors reads testdata/binding/*.nats, messages in their wire format, and compares
// them with the readable twins. Vectors whose names begin with "ours" must also be written in
// this form.
func TestBindingVectors(t *testing.T) {
	t.Parallel()
	vectors, _ := filepath.Glob("testdata/binding/*.nats")
	if len(vectors) < 10 {
		t.Fatalf("%d vectors", len(vectors))
	}
	for _, path := range vectors {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			m := unwire(t, raw)
			e, err := ParseMessage(m.Header, m.Data)
			schematest.HoldToFile(t, strings.TrimSuffix(path, ".nats")+".txt", readable(e, err))
			if !strings.HasPrefix(filepath.Base(path), "ours") {
				return
			}
			again := e.Binary()
			if strings.Contains(path, "structured") {
				if again, err = e.Structured(); err != nil {
					t.Fatal(err)
				}
			}
			if got := wire(again); !bytes.Equal(got, raw) {
				t.Errorf("written as\n%s\nwant\n%s", got, raw)
			}
		})
	}
}

// binaryHeader is the smallest good header, changed by pairs of name, value.
func binaryHeader(change ...string) map[string][]string {
	h := map[string][]string{"ce-specversion": {"1.0"}, "ce-id": {"1"}, "ce-source": {"urn:x"}, "ce-type": {"t"}}
	for i := 0; i < len(change); i += 2 {
		h[change[i]] = []string{change[i+1]}
	}
	return h
}

func TestParseBinary(t *testing.T) {
	t.Parallel()
	is := func(name, value string) func(*Event) bool {
		return func(e *Event) bool { return slices.Contains(e.Attributes(), Attribute{name, value}) }
	}
	lacks := func(name string) func(*Event) bool {
		return func(e *Event) bool {
			return !slices.ContainsFunc(e.Attributes(), func(a Attribute) bool { return a.Name == name })
		}
	}
	for _, c := range []struct {
		name   string
		header map[string][]string
		code   Code // refused with
		holds  func(*Event) bool
	}{
		{name: "case of header names", header: map[string][]string{"CE-SpecVersion": {"1.0"}, "Ce-Id": {"1"}, "CE-SOURCE": {"urn:x"}, "cE-type": {"t"}}, holds: is("id", "1")},
		{name: "percent-encoding", header: binaryHeader("ce-subject", "Euro%20%E2%82%AC%20%F0%9F%98%80"), holds: is("subject", "Euro € 😀")},
		{name: "lower-case and needless percent-encoding", header: binaryHeader("ce-subject", "%61%e2%82%ac"), holds: is("subject", "a€")},
		{name: "one round of it", header: binaryHeader("ce-subject", "%2541"), holds: is("subject", "%41")},
		{name: "quoted", header: binaryHeader("ce-subject", `"a \"b\" \\ %20"`), holds: is("subject", `a "b" \  `)},
		{name: "not one quoted string", header: binaryHeader("ce-subject", `"a" "b"`), holds: is("subject", `"a" "b"`)},
		{name: "the SDK does not encode", header: binaryHeader("ce-subject", "100% é"), holds: is("subject", "100% é")},
		{name: "overlong UTF-8", header: binaryHeader("ce-subject", "%C0%A0"), code: CodeMalformed},
		{name: "an encoded surrogate", header: binaryHeader("ce-subject", "%ED%A0%80"), code: CodeMalformed},
		{name: "invalid UTF-8", header: binaryHeader("ce-subject", "\xff"), code: CodeMalformed},
		{name: "NUL", header: binaryHeader("ce-subject", "a%00"), code: CodeAttribute},
		{name: "newline", header: binaryHeader("ce-subject", "a%0D%0Ab"), code: CodeAttribute},
		{name: "C1 control", header: binaryHeader("ce-subject", "a%C2%85"), code: CodeAttribute},
		{name: "values twice", header: map[string][]string{"ce-specversion": {"1.0"}, "ce-id": {"1", "1"}, "ce-source": {"urn:x"}, "ce-type": {"t"}}, code: CodeDuplicate},
		{name: "names that differ by case", header: binaryHeader("CE-ID", "2"), code: CodeDuplicate},
		{name: "extensions that differ by case", header: binaryHeader("ce-foo", "2", "Ce-Foo", "2"), code: CodeDuplicate},
		{name: "content types that differ by case", header: binaryHeader("Content-Type", "a/b", "content-type", "a/b"), code: CodeDuplicate},
		{name: "a header without values", header: func() map[string][]string { h := binaryHeader(); h["ce-subject"] = nil; return h }(), holds: lacks("subject")},
		{name: "an empty extension", header: binaryHeader("ce-foo", ""), holds: lacks("foo")},
		{name: "an empty id", header: binaryHeader("ce-id", ""), code: CodeRequired},
		{name: "an empty specversion", header: binaryHeader("ce-specversion", "", "Content-Type", "application/json"), code: CodeAttribute},
		{name: "another specversion", header: binaryHeader("ce-specversion", "0.3"), code: CodeAttribute},
		{name: "an underscore", header: binaryHeader("ce-session_id", "s"), code: CodeAttribute},
		{name: "a Kelvin sign", header: binaryHeader("ce-\u212aey", "s"), code: CodeAttribute},
		{name: "no name", header: binaryHeader("ce-", "s"), code: CodeAttribute},
		{name: "data is no attribute", header: binaryHeader("ce-data", "s"), code: CodeAttribute},
		{name: "no content type is JSON", header: binaryHeader(), holds: is("datacontenttype", "application/json")},
		{name: "the HTTP way", header: binaryHeader("content-type", "text/plain; charset=utf-8"), holds: is("datacontenttype", "text/plain; charset=utf-8")},
		{name: "the binding's way wins", header: binaryHeader("content-type", "text/html", "ce-datacontenttype", "text/plain"), holds: is("datacontenttype", "text/plain")},
		{name: "an event in an event", header: binaryHeader("ce-datacontenttype", "application/cloudevents+json"), holds: is("datacontenttype", "application/cloudevents+json")},
		{name: "an offset", header: binaryHeader("ce-time", "2026-03-02T10:00:00.5+05:30"), holds: is("time", "2026-03-02T04:30:00.5Z")},
		{name: "more than nanoseconds", header: binaryHeader("ce-time", "2026-03-02T10:00:00.1234567891Z"), holds: is("time", "2026-03-02T10:00:00.123456789Z")},
		{name: "a time without offset", header: binaryHeader("ce-time", "2026-03-02T10:00:00"), code: CodeAttribute},
		{name: "a year too early", header: binaryHeader("ce-time", "1899-12-31T23:59:59Z"), code: CodeAttribute},
		{name: "a year too late", header: binaryHeader("ce-time", "2262-01-01T00:00:00Z"), code: CodeAttribute},
		{name: "too late by its offset", header: binaryHeader("ce-time", "2261-12-31T23:59:59-01:00"), code: CodeAttribute},
		{name: "no day", header: binaryHeader("ce-time", "2026-02-30T10:00:00Z"), code: CodeAttribute},
		{name: "sequence", header: binaryHeader("ce-sequence", "42"), holds: is("sequence", "000000000042")},
		{name: "a long sequence", header: binaryHeader("ce-sequence", "9223372036854775807"), holds: is("sequence", "9223372036854775807")},
		{name: "sequence too large", header: binaryHeader("ce-sequence", "9223372036854775808"), code: CodeAttribute},
		{name: "a sequence with a sign", header: binaryHeader("ce-sequence", "+1"), code: CodeAttribute},
		{name: "an id of 1 KB", header: binaryHeader("ce-id", strings.Repeat("a", MaxIDBytes)), holds: func(e *Event) bool { return len(e.ID) == MaxIDBytes }},
		{name: "an id of 4 KB", header: binaryHeader("ce-id", strings.Repeat("a", 4096)), code: CodeTooLarge},
		{name: "a source that is no URI", header: binaryHeader("ce-source", "http://[::1"), code: CodeAttribute},
		{name: "other headers", header: binaryHeader("Nats-Msg-Id", "x", "ce", "y", "X-Ce-Foo", "z"), holds: lacks("foo")},
		{name: "batch", header: map[string][]string{"Content-Type": {"application/cloudevents-batch+json"}}, code: CodeBatch},
		{name: "another format", header: map[string][]string{"Content-Type": {"application/cloudevents+avro"}}, code: CodeMode},
		{name: "no event at all", header: map[string][]string{"Content-Type": {"application/json"}}, code: CodeRequired},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			before := fmt.Sprint(c.header)
			e, err := ParseMessage(c.header, []byte(`{}`))
			if fmt.Sprint(c.header) != before {
				t.Error("the header was changed")
			}
			if c.code != "" {
				var v *Violation
				if !errors.As(err, &v) || v.Code != c.code {
					t.Fatalf("%v, want %s", err, c.code)
				}
				return
			}
			if err != nil || !c.holds(e) {
				t.Fatalf("%v, %v", err, e)
			}
			sameInBothModes(t, e)
		})
	}
}

// TestFaultsAreTheSameEveryTime checks that the map order of Go does not change the quarantine's
// text.
func TestFaultsAreTheSameEveryTime(t *testing.T) {
	t.Parallel()
	h := binaryHeader("ce-time", "x", "ce-sequence", "y", "ce-a_b", "z", "ce-recordedtime", "w", "ce-subject", "\xff")
	_, first := ParseMessage(h, nil)
	for range 100 {
		if _, err := ParseMessage(h, nil); err.Error() != first.Error() {
			t.Fatalf("%v, then %v", first, err)
		}
	}
}

// TestModes checks that structured and binary mode are recognised as in the binding and in the
// SDK.
func TestModes(t *testing.T) {
	t.Parallel()
	document := []byte(`{"specversion":"1.0","id":"s","source":"urn:x","type":"t"}`)
	for _, header := range []map[string][]string{
		nil, {}, {"Content-Type": {"application/cloudevents+json"}}, {"content-type": {"Application/CloudEvents+JSON; charset=UTF-8"}},
		{"CONTENT-TYPE": {"application/cloudevents"}}, {"Nats-Msg-Id": {"m"}},
		binaryHeader("Content-Type", "application/cloudevents+json"),
	} {
		e, err := ParseMessage(header, document)
		if err != nil || e.ID != "s" {
			t.Errorf("%v: %v", header, err)
		}
	}
	if e, err := ParseMessage(binaryHeader(), document); err != nil || e.ID != "1" {
		t.Errorf("%v", err)
	}
}

func TestBothModesOneDigest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// No space at the ends, which the official SDK trims.
		text := rapid.StringMatching(`([!-~é€😀"%\\]([ -~é€😀]{0,9}[!-~é€😀])?)?`)
		e := &Event{
			ID: "i" + text.Draw(t, "id"), Source: "urn:x:" + rapid.StringMatching(`[a-z0-9:./-]{1,12}`).Draw(t, "source"),
			Type: "t" + text.Draw(t, "type"), Subject: text.Draw(t, "subject"), Correlation: Correlation{Tenant: text.Draw(t, "tenant"), TurnID: text.Draw(t, "turn")},
			DataContentType: rapid.SampledFrom([]string{"", "application/json", "application/json; charset=utf-8", "text/plain", "application/x.y+json", "application/octet-stream"}).Draw(t, "type"),
			Extensions:      map[string]string{"foo": text.Draw(t, "foo"), "bar2": text.Draw(t, "bar")},
			Data:            rapid.SampledFrom([][]byte{nil, []byte(`{"a":[1,2.50,"é"]}`), []byte(" {}\n"), []byte(`"<text>"`), []byte("null"), []byte("3")}).Draw(t, "data"),
		}
		if rapid.Bool().Draw(t, "timed") {
			e.Time = time.Unix(rapid.Int64Range(-2e9, 9e9).Draw(t, "s"), rapid.Int64Range(0, 999999999).Draw(t, "ns"))
			n := rapid.Int64Range(0, 1<<62).Draw(t, "sequence")
			e.Sequence = &n
		}
		b := e.Binary()
		s, err := e.Structured()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []Message{b, s} {
			got, err := ParseMessage(m.Header, m.Data)
			if err != nil {
				t.Fatal(err)
			}
			if got.Digest() != e.Digest() || got.MessageID() != e.MessageID() || got.Identity() != e.Identity() {
				t.Fatalf("%v\n%v", got.Attributes(), e.Attributes())
			}
		}
		// The official SDK reads the structured form as the same event, where
		// it knows that +json is JSON too.
		if strings.HasSuffix(e.DataContentType, "+json") {
			return
		}
		var ce cloudevents.Event
		if err := ce.UnmarshalJSON(s.Data); err != nil {
			t.Fatal(err)
		}
		viaSDK, err := FromCloudEvent(ce)
		if err != nil || viaSDK.Digest() != e.Digest() {
			t.Fatalf("%v\n%s\n%v\n%v", err, s.Data, viaSDK.Attributes(), e.Attributes())
		}
		out, err := e.CloudEvent()
		if err != nil {
			t.Fatal(err)
		}
		back, err := FromCloudEvent(out)
		if err != nil || back.Digest() != e.Digest() {
			t.Fatalf("%v\n%v\n%v", err, back, e)
		}
	})
}
