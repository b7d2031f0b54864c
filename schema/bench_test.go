package schema

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A mix is a list of events with their messages in binary mode.
type mix struct {
	events   []*Event
	messages []Message
	bytes    int64 // of data
}

func (m *mix) add(e *Event) {
	m.events, m.messages, m.bytes = append(m.events, e), append(m.messages, e.Binary()), m.bytes+int64(len(e.Data))
}

// goldenMix returns every golden event, with its data in the form that producers write.
func goldenMix(b testing.TB) (m mix) {
	for _, kind := range Types() {
		e := goldenEvent(b, kind)
		data := jsontext.Value(e.Data)
		if err := data.Compact(); err != nil {
			b.Fatal(err)
		}
		e.Data = data
		m.add(e)
	}
	return m
}

// kilobyteMix returns the golden mix with events of 1 KB. The lists of candidates, references,
// layers, segments and blocks are repeated with new ids. Events without a list get metadata and
// references to spans.
func kilobyteMix(b testing.TB) (m mix) {
	for _, e := range goldenMix(b).events {
		var members map[string]jsontext.Value
		if err := json.Unmarshal(e.Data, &members); err != nil {
			b.Fatal(err)
		}
		for round := 0; len(e.Data) < 1000 && round < 100; round++ {
			grown := false
			for _, name := range slices.Sorted(maps.Keys(members)) {
				grown = grow(b, members, name, round) || grown
			}
			if !grown {
				members["metadata"] = jsontext.Value(`{"host":"build-7","retries":2,"note":"what a runtime adds of its own, a sentence or two"}`)
				members["telemetry_refs"] = jsontext.Value(`["urn:trace:4bf92f3577b34da6a3ce929d0e0e4736:00f067aa0ba902b7"]`)
			}
			text, err := json.Marshal(members, json.Deterministic(true))
			if err != nil {
				b.Fatal(err)
			}
			again := e.EventType().New()
			if err := json.Unmarshal(text, again); err != nil {
				b.Fatal(err)
			}
			if e.Data, err = json.Marshal(again, json.Deterministic(true)); err != nil {
				b.Fatal(err)
			}
		}
		if _, found := Validate(e); len(found) > 0 {
			b.Fatal(e.Type, found)
		}
		m.add(e)
	}
	return m
}

// grow adds elements with unique ids to one list.
func grow(b testing.TB, members map[string]jsontext.Value, name string, round int) bool {
	var list []jsontext.Value
	if name == "ranges" || name == "sequences" || json.Unmarshal(members[name], &list) != nil || len(list) == 0 {
		return false
	}
	suffix := fmt.Sprintf("-r%d", round)
	ids := regexp.MustCompile(`"((item|src|surface|sel|asm|inj|cmp|tool|stream|policy)[a-z-]*)[a-z0-9-]*"`)
	last := list[len(list)-1]
	list = append(list, jsontext.Value(ids.ReplaceAllString(string(last), `"$1`+suffix+`"`)))
	var err error
	if name == "candidate_item_refs" && members["selected_item_refs"] != nil {
		list[len(list)-1] = jsontext.Value(`"item` + suffix + `"`)
	}
	if name == "omitted_item_refs" {
		list[len(list)-1] = jsontext.Value(`{"item_ref":"item` + suffix + `","rank":9,"score":0.17,"tokens":880,"reason":"budget_limit"}`)
	}
	if name == "selected_item_refs" {
		return false
	}
	members[name], err = json.Marshal(list)
	if err != nil {
		b.Fatal(err)
	}
	return true
}

// each runs one benchmark over a mix, with one event per operation.
func (m mix) each(b *testing.B, run func(e *Event, m Message)) {
	size := m.bytes / int64(len(m.events))
	b.SetBytes(size)
	b.ReportAllocs()
	i, n, began := 0, 0, cpuTime()
	for b.Loop() {
		run(m.events[i], m.messages[i])
		if i++; i == len(m.events) {
			i = 0
		}
		n++
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(n)/(cpuTime()-began).Seconds(), "events/cpu-s")
	b.ReportMetric(float64(size), "bytes/event")
}

// cpuTime returns the CPU time of the process. Other processes on a busy machine change it less
// than the clock time.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func each(b *testing.B, run func(e *Event, m Message)) { goldenMix(b).each(b, run) }

func BenchmarkNewEvent(b *testing.B) {
	events := goldenMix(b).events
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
	events := goldenMix(b).events
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

// BenchmarkDecodeStrict measures the decoder that runs after [reader] gives up.
func BenchmarkDecodeStrict(b *testing.B) {
	each(b, func(e *Event, _ Message) { contract.decode(e, Type.New) })
}

// BenchmarkKilobyte is the target: validate and decode events of 1 KB, 150,000 events/s on one
// core. Other cases parse and digest the message first, as the projector does, encode and check,
// as a producer does, or use the strict decoder.
func BenchmarkKilobyte(b *testing.B) {
	m := kilobyteMix(b)
	b.Run("validate", func(b *testing.B) {
		m.each(b, func(e *Event, _ Message) {
			if _, found := Validate(e); found != nil {
				b.Fatal(found)
			}
		})
	})
	b.Run("parse", func(b *testing.B) { m.each(b, func(_ *Event, m Message) { ParseMessage(m.Header, m.Data) }) })
	b.Run("digest", func(b *testing.B) { m.each(b, func(e *Event, _ Message) { e.Digest() }) })
	b.Run("parse+validate", func(b *testing.B) {
		m.each(b, func(_ *Event, m Message) {
			e, err := ParseMessage(m.Header, m.Data)
			if err != nil {
				b.Fatal(err)
			}
			if _, found := Validate(e); found != nil {
				b.Fatal(found)
			}
		})
	})
	b.Run("encode", func(b *testing.B) {
		facts := make(map[*Event]Fact)
		for _, e := range m.events {
			facts[e], _ = e.Decode()
		}
		m.each(b, func(e *Event, _ Message) {
			again := *e
			if found, err := again.Encode(facts[e]); err != nil || found != nil {
				b.Fatal(err, found)
			}
		})
	})
	b.Run("strict", func(b *testing.B) {
		m.each(b, func(e *Event, _ Message) {
			fact, _ := contract.decode(e, Type.New)
			checkMembers(e, fact)
		})
	})
}

// BenchmarkMembers measures only the walk of the boundary rules.
func BenchmarkMembers(b *testing.B) {
	events := goldenMix(b).events
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
