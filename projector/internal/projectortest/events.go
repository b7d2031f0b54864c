package projectortest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

var (
	Incarnation = uuid.MustParse("018f0000-0000-7000-8000-000000000001")
	Stored      = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
)

// Event returns the event with this id. A variant changes only its data.
func Event(id, variant int) *schema.Event {
	fact := &schema.LogAppended{LogItemID: fmt.Sprintf("item-%d", id), ItemType: "message", Position: new(int64(variant))}
	e, err := schema.NewEvent(fact, fmt.Sprintf("event-%d", id), "urn:ctxledger:test", Stored, schema.Correlation{Tenant: "acme", SessionID: "s-1"})
	if err != nil {
		panic(err)
	}
	return e
}

// At returns a message with a place in the stream of the tests.
func At(seq uint64, m schema.Message) *streamio.Message {
	return &streamio.Message{
		Subject: m.Subject, Header: m.Header, Data: m.Data, Rules: ledger.NewestRules,
		Position: ledger.Position{Incarnation: Incarnation, StreamSeq: seq, RecordedAt: Stored.Add(time.Duration(seq) * time.Millisecond)},
	}
}

// Poison draws a message that must be quarantined.
func Poison() *rapid.Generator[schema.Message] {
	return rapid.Custom(func(t *rapid.T) schema.Message {
		m := Event(rapid.IntRange(0, 5).Draw(t, "id"), 0).Binary()
		switch rapid.IntRange(0, 6).Draw(t, "fault") {
		case 0: // no CloudEvent at all
			return schema.Message{Subject: "ctx.noise", Data: rapid.SliceOf(rapid.Byte()).Draw(t, "noise")}
		case 1:
			m.Data = m.Data[:len(m.Data)-1]
		case 2:
			m.Data = nil
		case 3:
			delete(m.Header, "ce-id")
		case 4:
			m.Header["ce-specversion"] = []string{"0.1"}
		case 5:
			m.Header["ce-source"] = []string{"a", "b"}
		case 6:
			m.Data = bytes.Replace(m.Data, []byte(`"item_type"`), []byte(`"item_type":"message","item_type"`), 1)
		}
		return m
	})
}

const Secret = "hunter2/Straße-42"

// KeyRing returns the keys of the tenant acme in the tests.
func KeyRing(tb testing.TB) schema.KeyRing {
	tb.Helper()
	key, err := schema.NewKey(strings.NewReader(strings.Repeat("k", 32)), time.Unix(0, 0))
	if err != nil {
		tb.Fatal(err)
	}
	return schema.KeyRing{Tenant: "acme", Keys: []schema.Key{key}}
}

// NextKey returns the key of the tenant acme after a rotation.
func NextKey(tb testing.TB) schema.Key {
	tb.Helper()
	key, err := schema.NewKey(strings.NewReader(strings.Repeat("l", 32)), time.Unix(1, 0))
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// Keys returns the keys from before and after the rotation.
func Keys(tb testing.TB) func() ([]schema.KeyRing, error) {
	ring := KeyRing(tb)
	ring.Keys = append(ring.Keys, NextKey(tb))
	return func() ([]schema.KeyRing, error) { return []schema.KeyRing{ring}, nil }
}

// Redaction returns a fact that withholds values.
func Redaction(tb testing.TB, id int, values ...string) *schema.Event {
	tb.Helper()
	return RedactionBy(tb, KeyRing(tb).Current(), id, values...)
}

// RedactionBy is Redaction with fingerprints by a key.
func RedactionBy(tb testing.TB, key schema.Key, id int, values ...string) *schema.Event {
	tb.Helper()
	f, err := fingerprint.New(key)
	if err != nil {
		tb.Fatal(err)
	}
	fact := &schema.RedactionApplied{
		Common:      schema.Common{PolicyRefs: []schema.Ref{"policy:secrets"}},
		RedactionID: fmt.Sprintf("redaction-%d", id), TargetRef: "item-1", RedactionState: schema.RedactionMasked, Reason: "secret",
	}
	for _, v := range values {
		fp, ok := f.Of([]byte(v))
		if !ok {
			tb.Fatal("no fingerprint")
		}
		fact.Fingerprints = append(fact.Fingerprints, fp)
	}
	e, err := schema.NewEvent(fact, fmt.Sprintf("redaction-event-%d", id), "urn:ctxledger:test", Stored, schema.Correlation{Tenant: "acme", SessionID: "s-1"})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// Foreign returns the event id with a change to its data's metadata.
func Foreign(id int, metadata string) *schema.Event {
	e := Event(id, 0)
	e.Data = append(e.Data[:len(e.Data)-1:len(e.Data)-1], `,"metadata":`+metadata+`}`...)
	return e
}

// Escaped writes every character of a JSON string as an escape.
func Escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String()
}

func structured(e *schema.Event) schema.Message {
	m, err := e.Structured()
	if err != nil {
		panic(err)
	}
	return m
}

// Disguises returns the forms in which a foreign producer may send a value. Each form has a
// separate event id, counted from first.
func Disguises(first int, value string) map[string]schema.Message {
	with := func(e *schema.Event, change func(*schema.Event)) *schema.Event {
		change(e)
		return e
	}
	quoted := func(s string) string { q, _ := jsontext.AppendQuote(nil, s); return string(q) }
	list := map[string]schema.Message{
		"raw":              Foreign(first, `{"note":`+quoted("it is "+value+" now")+`}`).Binary(),
		"escaped":          Foreign(first+1, `{"note":"x`+Escaped(value)+`"}`).Binary(),
		"in a key":         Foreign(first+2, `{`+quoted(value)+`:1}`).Binary(),
		"in an inner text": Foreign(first+3, `{"note":`+quoted(`{"deep":`+quoted(`{"deeper":"`+Escaped(value)+`"}`)+`}`)+`}`).Binary(),
		"in an attribute":  with(Event(first+4, 0), func(e *schema.Event) { e.TraceState = "v=" + value }).Binary(),
		"in the id":        with(Event(first+5, 0), func(e *schema.Event) { e.ID = "id " + value }).Binary(),
		"in the source":    with(Event(first+6, 0), func(e *schema.Event) { e.Source = "urn:x:" + value }).Binary(),
		"structured":       structured(with(Event(first+7, 0), func(e *schema.Event) { e.Subject = value })),
		"beside a digest":  Foreign(first+8, `{"note":`+quoted(value)+`,"digest":"`+strings.Repeat("ab", 32)+`"}`).Binary(),
		"several times":    Foreign(first+9, `{"note":`+quoted(value+value)+`,"more":[`+quoted(value)+`]}`).Binary(),
	}
	quotedHeader := Event(first+10, 0).Binary()
	quotedHeader.Header["ce-note"] = []string{`"a\` + value + `"`}
	list["in a quoted header"] = quotedHeader
	inSubject := Event(first+11, 0).Binary()
	inSubject.Subject = strings.Replace(inSubject.Subject, ".unnamed.", "."+schema.Subject{Tenant: value}.String()[len("ctx.v1."):], 1)
	list["in the NATS subject"] = schema.Message{Subject: strings.TrimRight(inSubject.Subject, "."), Header: inSubject.Header, Data: inSubject.Data}
	broken := Foreign(first+12, `{"note":"`+Escaped(value)+`"`).Binary()
	list["in broken JSON"] = broken
	inBase64 := structured(Event(first+13, 0))
	at := bytes.Index(inBase64.Data, []byte(`"data":`))
	inBase64.Data = append(inBase64.Data[:at:at], `"data_base64":"`+base64.StdEncoding.EncodeToString(Foreign(first+13, `{"note":`+quoted(value)+`}`).Data)+`"}`...)
	list["in base64 data"] = inBase64
	named := Event(first+14, 0).Binary()
	named.Header["X-"+strings.ToUpper("hunter2straight")] = []string{"1"}
	list["in the name of a header, in capitals"] = named
	return list
}

// WithheldValues are the values that the redactions of the tests withhold.
var WithheldValues = []string{Secret, "x-hunter2straight"}

// TracesOf returns the forms of a value that must not remain anywhere.
func TracesOf(value string) []string {
	list := []string{value, strings.ToUpper(value), Escaped(value), schema.Subject{Tenant: value}.String()[len("ctx.v1.") : len("ctx.v1.")+len(value)]}
	for skip := range 3 {
		coded := base64.StdEncoding.EncodeToString([]byte("\x00\x00\x00"[:skip] + value))
		list = append(list, coded[4:len(coded)-4])
	}
	return list
}

// Golden returns the golden event of a type with another id. Rows of different types are in
// different tables.
func Golden(id int) *schema.Event {
	types := schema.Types()
	e, err := schema.ParseStructured(schema.Golden(types[id%len(types)]))
	if err != nil {
		panic(err)
	}
	e.ID = fmt.Sprintf("event-%d", id)
	e.Sequence = nil
	return e
}

// On returns an event's message on the subject of another tenant.
func On(tenant string, e *schema.Event) schema.Message {
	m := e.Binary()
	s := schema.SubjectOf(e)
	s.Tenant = tenant
	m.Subject = s.String()
	return m
}

// Withheld returns the fingerprints of values, as in a redaction of the tenant acme.
func Withheld(tb testing.TB, values ...string) []privacy.Withheld {
	tb.Helper()
	e := Redaction(tb, 1, values...)
	fact, _ := schema.Validate(e)
	list := make([]privacy.Withheld, 0, len(values))
	for _, fp := range fact.(*schema.RedactionApplied).Fingerprints {
		list = append(list, privacy.Withheld{Tenant: e.Tenant, RedactionID: "redaction-1", PolicyRef: "policy:secrets", Fingerprint: fp})
	}
	return list
}
