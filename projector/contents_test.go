package projector

import (
	"context"
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/metrics"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// unreadable is a stream whose server fails to read every message and reports each as missing.
type unreadable struct{ jetstream.Stream }

func (unreadable) GetMsg(context.Context, uint64, ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	return nil, jetstream.ErrMsgNotFound
}

// unreadableStreams contains only unreadable streams.
type unreadableStreams struct{ jetstream.JetStream }

func (j unreadableStreams) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	stream, err := j.JetStream.Stream(ctx, name)
	return unreadable{stream}, err
}

func TestLevelOnlyWhereTheRestIsDeleted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish(projectortest.Event(1, 0).Binary())
	f.project()
	f.publishMix(2, 4)
	p := f.projector()
	p.config.JetStream = unreadableStreams{f.js}
	for _, deleted := range []uint64{0, 5, 2, 4, 3} { // after 1, which is in the ledger
		if deleted > 0 {
			f.must(f.stream().DeleteMsg(t.Context(), deleted))
		}
		level, err := streamio.ReadLevel(t.Context(), p.config.JetStream, f.ledger, schema.EventStream)
		f.must(err)
		lag, err := new(metrics.LagMeter).Measure(t.Context(), p.lagSource())
		if deleted != 3 {
			if level.Behind() == 0 || !errors.Is(err, streamio.ErrNotFound) {
				t.Errorf("after the deletion of %d: level %+v, lag %+v, %v", deleted, level, lag, err)
			}
			continue
		}
		if level.Behind() > 0 || lag.Events > 0 || err != nil {
			t.Errorf("all the rest is deleted: level %+v, lag %+v, %v", level, lag, err)
		}
	}
}

func TestErasureOfMessagesThatAreNotFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish(of(erasedSubject, 1, erasedContent).Binary())
	f.flush()
	f.follow(f.guarded(new(logbook)))
	f.awaitLevel()
	e := f.erasure()
	e.JetStream = unreadableStreams{f.js}
	if _, err := e.Run(t.Context()); !errors.Is(err, streamio.ErrNotFound) {
		t.Fatalf("the erasure ended with %v, and its message was not deleted", err)
	}
	done, err := f.erasure().Run(t.Context())
	f.must(err)
	if done.Events != 1 {
		t.Errorf("erased %+v, want one event", done)
	}
	f.nowhere("", erasedContent)
}

func TestRemoveOfMessagesThatAreNotFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publish(projectortest.Event(1, 0).Binary())
	f.publish(projectortest.Event(2, 0).Binary())
	f.flush()
	p := f.projector()
	msg, err := f.stream().GetMsg(t.Context(), 2)
	f.must(err)
	places := []ledger.Position{{StreamSeq: 2, RecordedAt: msg.Time}}
	p.source.Stream = unreadable{f.stream()}
	if err := p.deleteWithheld(t.Context(), places); !errors.Is(err, streamio.ErrNotFound) {
		t.Errorf("the message is there, and remove returned %v", err)
	}
	p.source.Stream = f.stream()
	f.must(p.deleteWithheld(t.Context(), places))
	p.source.Stream = unreadable{f.stream()}
	f.must(p.deleteWithheld(t.Context(), places))
}
