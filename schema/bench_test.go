package schema

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// goldenMix is every golden event, with its data as producers write it, as a
// message in binary mode.
func goldenMix(b *testing.B) (events []*Event, messages []Message, bytes int64) {
	for _, kind := range Types() {
		e := goldenEvent(b, kind)
		data := jsontext.Value(e.Data)
		if err := data.Compact(); err != nil {
			b.Fatal(err)
		}
		e.Data = data
		events, messages, bytes = append(events, e), append(messages, e.Binary()), bytes+int64(len(data))
	}
	return events, messages, bytes / int64(len(events))
}

// each runs one benchmark over the golden mix, an event an operation.
func each(b *testing.B, run func(e *Event, m Message)) {
	events, messages, bytes := goldenMix(b)
	b.SetBytes(bytes)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		run(events[i], messages[i])
		if i++; i == len(events) {
			i = 0
		}
	}
}

func BenchmarkNewEvent(b *testing.B) {
	events, _, _ := goldenMix(b)
	facts := make([]Fact, len(events))
	for i, e := range events {
		facts[i], _ = e.Decode()
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		e := events[i]
		if _, err := NewEvent(facts[i], e.ID, e.Source, e.Time, e.Correlation); err != nil {
			b.Fatal(err)
		}
		if i++; i == len(events) {
			i = 0
		}
	}
}

func BenchmarkBinary(b *testing.B) { each(b, func(e *Event, _ Message) { e.Binary() }) }

func BenchmarkStructured(b *testing.B) { each(b, func(e *Event, _ Message) { e.Structured() }) }

func BenchmarkDigest(b *testing.B) { each(b, func(e *Event, _ Message) { e.Digest() }) }

func BenchmarkParseBinary(b *testing.B) {
	each(b, func(_ *Event, m Message) {
		if _, err := ParseMessage(m.Header, m.Data); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkParseStructured(b *testing.B) {
	events, _, _ := goldenMix(b)
	var documents []Message
	for _, e := range events {
		m, err := e.Structured()
		if err != nil {
			b.Fatal(err)
		}
		documents = append(documents, m)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, err := ParseMessage(documents[i].Header, documents[i].Data); err != nil {
			b.Fatal(err)
		}
		if i++; i == len(documents) {
			i = 0
		}
	}
}

// BenchmarkValidate decodes the data and checks it.
func BenchmarkValidate(b *testing.B) {
	each(b, func(e *Event, _ Message) {
		if _, found := Validate(e); found != nil {
			b.Fatal(found)
		}
	})
}

func BenchmarkDecode(b *testing.B) { each(b, func(e *Event, _ Message) { e.Decode() }) }

// BenchmarkMembers is the walk of the boundary rules alone.
func BenchmarkMembers(b *testing.B) {
	events, _, _ := goldenMix(b)
	facts := make([]Fact, len(events))
	for i, e := range events {
		facts[i], _ = e.Decode()
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		checkMembers(events[i], facts[i])
		if i++; i == len(events) {
			i = 0
		}
	}
}
