package producertest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/schema"
)

// Event is a recorded event with its fact.
type Event struct {
	*schema.Event
	Fact schema.Fact
}

// CallID returns the model call that the fact belongs to, or "".
func (e Event) CallID() string {
	var data struct {
		CallID string `json:"call_id"`
	}
	if json.Unmarshal(e.Data, &data) != nil {
		return "" // the member has another type in this fact
	}
	return data.CallID
}

// Events are events in recording order. The methods return part of them and change nothing.
type Events []Event

// Of returns the events of the given types.
func (s Events) Of(types ...schema.Type) Events {
	return s.where(func(e Event) bool { return slices.Contains(types, e.Fact.EventType()) })
}

// Session returns the events of a session.
func (s Events) Session(id string) Events {
	return s.where(func(e Event) bool { return e.SessionID == id })
}

// Run returns the events of a run, without the events of its children.
func (s Events) Run(id string) Events { return s.where(func(e Event) bool { return e.RunID == id }) }

// Turn returns the events of a turn, including its envelope.
func (s Events) Turn(id string) Events { return s.where(func(e Event) bool { return e.TurnID == id }) }

// Call returns the events of a model call.
func (s Events) Call(id string) Events {
	return s.where(func(e Event) bool { return e.CallID() == id })
}

func (s Events) where(keep func(Event) bool) Events {
	var kept Events
	for _, e := range s {
		if keep(e) {
			kept = append(kept, e)
		}
	}
	return kept
}

// Types returns the type of each event.
func (s Events) Types() []schema.Type {
	types := make([]schema.Type, len(s))
	for i, e := range s {
		types[i] = e.Fact.EventType()
	}
	return types
}

// String lists the events for people, one per line: sequence, type, record, turn.
func (s Events) String() string {
	if len(s) == 0 {
		return "  (nothing)\n"
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, e := range s {
		sequence := "-"
		if e.Sequence != nil {
			sequence = fmt.Sprint(*e.Sequence)
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", sequence, e.Fact.EventType(), e.Subject, e.TurnID)
	}
	w.Flush() // writes to memory, so it cannot fail
	return b.String()
}

// JSON returns the events for a golden file: one CloudEvent in JSON per line, in the form
// that `ctxledger publish` reads. Event ids are random, so JSON replaces them by numbers
// from 1. The same calls give the same bytes for a client of [New], with given run ids and
// without parallel calls.
func (s Events) JSON() []byte {
	var b []byte
	for i, e := range s {
		numbered := *e.Event
		numbered.ID = fmt.Sprint("event-", i+1)
		line, err := numbered.MarshalJSON()
		if err != nil {
			panic("producertest: a recorded event has no JSON: " + err.Error())
		}
		b = append(append(b, line...), '\n')
	}
	return b
}

// Facts returns the facts of one type, in order, as values of this type:
//
//	producertest.Facts[*schema.PressureApplied](rec.Events())
func Facts[F schema.Fact](events Events) []F {
	var facts []F
	for _, e := range events {
		if fact, ok := e.Fact.(F); ok {
			facts = append(facts, fact)
		}
	}
	return facts
}

// One returns the only fact of its type. With no fact or several, it ends the test and
// lists the recorded events.
func One[F schema.Fact](t testing.TB, events Events) F {
	t.Helper()
	facts := Facts[F](events)
	if len(facts) != 1 {
		t.Fatalf("%d facts of type %v, want one, in\n%s", len(facts), reflect.TypeFor[F](), events)
	}
	return facts[0]
}

// Want compares the types of the events, in order, and reports the first difference.
func (s Events) Want(t testing.TB, types ...schema.Type) {
	t.Helper()
	got := s.Types()
	for i := range max(len(got), len(types)) {
		switch {
		case i >= len(got):
			t.Errorf("%s is missing at the end of\n%s", types[i], s)
		case i >= len(types):
			t.Errorf("%s was not expected at the end of\n%s", got[i], s[:i+1])
		case got[i] != types[i]:
			t.Errorf("fact %d is %s, not %s, in\n%s", i+1, got[i], types[i], s)
		default:
			continue
		}
		return
	}
}
