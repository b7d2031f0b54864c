package producertest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/schema"
)

// both passes the same messages to a recorder and to a real publisher.
type both struct {
	*publish.Publisher
	rec *Recorder
}

func (b both) Send(ctx context.Context, messages ...schema.Message) error {
	if err := b.rec.Send(ctx, messages...); err != nil {
		return err
	}
	return b.Publisher.Send(ctx, messages...)
}

// TestRecorderSeesWhatTheStreamGets compares the recorder with a real stream,
// event by event.
func TestRecorderSeesWhatTheStreamGets(t *testing.T) {
	t.Parallel()
	servers := embeddedtest.NATS(t)
	js := servers.JetStream(t)
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "CTX", Subjects: []string{schema.AllSubjects}, AllowAtomicPublish: true, AllowDirect: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	var rec Recorder
	config := producer.Config{Instance: "test", Clock: ticking()}
	guarded(t)(&config)
	client, err := producer.NewClient(config, both{publish.New(js, time.Hour), &rec})
	if err != nil {
		t.Fatal(err)
	}
	work(t, client) // its seal stores all events
	rec.Check(t)
	recorded := rec.Events()
	if len(recorded) < 20 {
		t.Fatalf("only %d events", len(recorded))
	}
	var stored Events
	for i := range recorded {
		m, err := stream.GetMsg(t.Context(), uint64(i+1))
		if err != nil {
			t.Fatal(err)
		}
		e, err := read(schema.Message{Subject: m.Subject, Header: m.Header, Data: m.Data})
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, e)
	}
	same := func(a, b Event) bool { return a.ID == b.ID && a.Digest() == b.Digest() }
	if !slices.EqualFunc(recorded, stored, same) {
		t.Errorf("recorded\n%sstored\n%s", recorded, stored)
	}
	if _, err := stream.GetMsg(t.Context(), uint64(len(recorded)+1)); err == nil {
		t.Error("the stream has more")
	}

	// A client of New gives the same events, except for their ids.
	other, alone := New(t, guarded(t))
	work(t, other)
	if got, want := string(alone.Events().JSON()), string(stored.JSON()); got != want {
		t.Errorf("alone:\n%s\nin the stream:\n%s", got, want)
	}
}
