package projector

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/quarantine"
	"github.com/ctxledger/ctxledger/schema"
)

// refusals reads the rows of quarantine, by sequence.
func (f *fixture) refusals(filter read.RefusalFilter) map[uint64]ledger.Refusal {
	f.t.Helper()
	found := make(map[uint64]ledger.Refusal)
	f.must(read.Of(f.ledger).Refusals(f.t.Context(), filter, func(r ledger.Refusal) error {
		found[r.StreamSeq] = r
		return nil
	}))
	return found
}

// replayed returns the results of the replays of a quarantined message.
func (f *fixture) replayed(r ledger.Refusal) []string {
	f.t.Helper()
	list, err := read.Of(f.ledger).Replays(f.t.Context(), r)
	f.must(err)
	var outcomes []string
	for _, replay := range list {
		outcomes = append(outcomes, fmt.Sprint(replay.StreamSeq, " ", replay.Outcome))
	}
	return outcomes
}

// damaged is an event with truncated data, under the message id of the whole event.
func damaged(id int) schema.Message {
	m := projectortest.Event(id, 0).Binary()
	m.Data = m.Data[:len(m.Data)-1]
	return m
}

// send publishes under the message's own message id.
func (f *fixture) send(m schema.Message) uint64 {
	f.t.Helper()
	ack, err := f.js.PublishMsg(f.t.Context(), &nats.Msg{Subject: m.Subject, Header: nats.Header(m.Header), Data: m.Data})
	f.must(err)
	return ack.Sequence
}

func TestReplayOfAFixedEvent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.send(damaged(1))
	f.send(projectortest.Event(2, 0).Binary())
	f.project()
	r := f.refusals(read.RefusalFilter{})[1]
	if r.Code != string(schema.CodeNotJSON) && r.Code != string(schema.CodeMalformed) || string(r.Data) != string(damaged(1).Data) {
		t.Fatalf("quarantine has %+v", r)
	}
	// The id of the message is still in the stream's duplicate window.
	seq, err := quarantine.ReplayFixed(t.Context(), f.js, r, projectortest.Event(1, 0))
	if err != nil || seq != 3 {
		t.Fatalf("replayed as %d: %v", seq, err)
	}
	again, err := quarantine.ReplayFixed(t.Context(), f.js, r, projectortest.Event(1, 0))
	if err != nil || again != seq {
		t.Errorf("replayed again as %d: %v", again, err)
	}
	f.project()
	if got := f.replayed(r); !reflect.DeepEqual(got, []string{"3 recorded"}) {
		t.Errorf("the replays are %q", got)
	}
	if n := len(f.refusals(read.RefusalFilter{Waiting: true})); n != 0 {
		t.Errorf("%d refused messages wait", n)
	}
	if len(f.refusals(read.RefusalFilter{})) != 1 {
		t.Error("a replayed message is no longer in quarantine")
	}
	if n := f.count("SELECT count() FROM events WHERE event_id = 'event-1'"); n != 1 {
		t.Errorf("the fixed event is there %d times", n)
	}
	// After the duplicate window the same replay is a repeated event.
	f.publish(func() schema.Message {
		m := projectortest.Event(1, 0).Binary()
		m.Header[quarantine.ReplayHeader] = []string{fmt.Sprintf("%s:%d", r.Incarnation, r.StreamSeq)}
		return m
	}())
	f.project()
	if got := f.replayed(r); !reflect.DeepEqual(got, []string{"3 recorded", "4 repeated"}) {
		t.Errorf("the replays are %q", got)
	}
}

// A replay of an invalid message is quarantined again and linked, and may be replayed again.
func TestReplayOfWhatIsStillWrong(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	bad := damaged(1)
	bad.Header["X-Bytes"] = []string{"not UTF-8: \xff"}
	bad.Header["Nats-Expected-Stream"] = []string{schema.EventStream}
	f.send(bad)
	f.project()
	first := f.refusals(read.RefusalFilter{})[1]
	found := []ledger.Refusal{first}
	err := quarantine.FindCopies(t.Context(), f.js, found)
	whole := found[0]
	if err != nil || !reflect.DeepEqual(whole.Header, bad.Header) || string(whole.Data) != string(bad.Data) {
		t.Errorf("the copy has %q %q, %v; want %q", whole.Header, whole.Data, err, bad.Header)
	}
	seq, err := quarantine.Replay(t.Context(), f.js, whole)
	f.must(err)
	if again, err := quarantine.Replay(t.Context(), f.js, whole); err != nil || again != seq {
		t.Errorf("replayed again as %d: %v", again, err)
	}
	f.project()
	if got := f.replayed(first); !reflect.DeepEqual(got, []string{"2 refused"}) {
		t.Errorf("the replays are %q", got)
	}
	second := f.refusals(read.RefusalFilter{Waiting: true})
	if len(second) != 1 || second[2].Code != first.Code || string(second[2].Data) != string(first.Data) {
		t.Fatalf("quarantine has %+v", second)
	}
	// A corrected replay is another message, although its event has the same id.
	if _, err := quarantine.ReplayFixed(t.Context(), f.js, second[2], projectortest.Event(1, 0)); err != nil {
		t.Fatal(err)
	}
	f.project()
	if got := f.replayed(second[2]); !reflect.DeepEqual(got, []string{"3 recorded"}) {
		t.Errorf("the replays are %q", got)
	}
	f.exact("FINAL")
}

func TestMaskedBytesAreNotReplayed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	log := new(logbook)
	f.publish(projectortest.Redaction(t, 1, projectortest.Secret).Binary())
	f.publish(projectortest.Foreign(1, `{"note":"`+projectortest.Secret+`"}`).Binary())
	f.publish(schema.Message{Subject: "ctx.v1.noise", Data: []byte("no event")})
	f.must(f.run(f.guarded(log)))
	found := f.refusals(read.RefusalFilter{})
	if _, err := quarantine.Replay(t.Context(), f.js, found[2]); !errors.Is(err, quarantine.ErrMasked) {
		t.Errorf("replayed masked bytes: %v", err)
	}
	if got := f.refusals(read.RefusalFilter{Code: found[3].Code}); len(got) != 1 {
		t.Errorf("%d refusals have the code %s", len(got), found[3].Code)
	}
	other := found[3]
	other.Subject = "elsewhere"
	if _, err := quarantine.Replay(t.Context(), f.js, other); !errors.Is(err, quarantine.ErrNotReplayable) {
		t.Errorf("replayed to another stream: %v", err)
	}
}
