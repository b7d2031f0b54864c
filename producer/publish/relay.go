package publish

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// relay moves batches through an outbox:
//
//	Publisher ──▶ take ──▶ outbox ──▶ one sender ──▶ JetStream
//
// A batch is in the outbox, and so fixed, before it is sent for the first time,
// and the next is sent when it has left. So only the oldest batch can have been
// sent before, by this process or by the one before it, and is then looked for in
// the stream.
type relay struct {
	worker
	outbox Outbox
	sender *route
	room   func() // told when the outbox has more room

	newest uint64 // number of the newest batch in the outbox
	sent   uint64 // number of the newest batch in the stream
	doubt  bool   // the oldest batch may have been sent before
}

func newRelay(s *route, box Outbox, room func()) *relay {
	r := &relay{worker: newWorker(), outbox: box, sender: s, room: room}
	r.loop = r.forwardAll
	r.newest, _ = box.Held()
	r.doubt = r.newest > 0
	s.mark(box.Acked())
	return r
}

// take puts a batch into the outbox.
func (r *relay) take(batch []*nats.Msg) error {
	number, err := r.outbox.Append(toMessages(batch), marksOf(batch))
	if err != nil {
		return fmt.Errorf("keep %d events in the outbox: %w", len(batch), err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.newest = number
	if r.timer == nil {
		r.start()
	}
	return nil
}

// forwardAll is the worker's loop.
func (r *relay) forwardAll() time.Duration {
	for r.sent < r.newest {
		again := r.doubt
		r.mu.Unlock()
		number, err := r.forward(again)
		r.mu.Lock()
		r.settle(err)
		r.doubt = err != nil
		switch {
		case err == nil:
			r.sent = number
		case final(err):
			return 0
		default:
			return r.backOff()
		}
	}
	return 0
}

// forward moves the oldest batch, whose number it returns, into the stream.
func (r *relay) forward(again bool) (number uint64, err error) {
	number, messages, err := r.outbox.Head()
	if err != nil {
		return 0, fmt.Errorf("read the outbox: %w", err)
	}
	if !again && r.sender.locate() {
		if err := r.outbox.Drop(0, r.sender.acked()); err != nil {
			return number, fmt.Errorf("note where the stream ends: %w", err)
		}
	}
	if err := r.sender.try(fromMessages(messages), again); err != nil {
		return number, fmt.Errorf("publish %d events: %w", len(messages), err)
	}
	if err := r.outbox.Drop(number, r.sender.acked()); err != nil {
		return number, fmt.Errorf("take the stored events out of the outbox: %w", err)
	}
	r.room()
	return number, nil
}

// flush returns once the stream has all that the outbox holds.
func (r *relay) flush(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	target := r.newest
	return r.until(ctx, func() bool { return r.sent >= target })
}

// store is flush for those who are content with the outbox: it waits no longer
// than bound, and not at all while the stream is known to be away.
func (r *relay) store(ctx context.Context, bound time.Duration) Stored {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	target := r.newest
	switch {
	case r.sent >= target:
		return InStream
	case r.err != nil || !r.sender.js.Conn().IsConnected():
		return InOutbox
	}
	if r.until(ctx, func() bool { return r.sent >= target }) != nil {
		return InOutbox
	}
	return InStream
}

// outboxTransport is a publisher with an outbox.
type outboxTransport struct {
	*Publisher
	wait time.Duration // of a seal for the stream
}

// NewOutboxTransport returns the transport of a client with an outbox, whose Store waits
// that long for the stream.
func NewOutboxTransport(p *Publisher, wait time.Duration) Transport {
	return &outboxTransport{Publisher: p, wait: wait}
}

// Store returns once all is in the outbox, and waits a while for the stream.
func (t *outboxTransport) Store(ctx context.Context) (Stored, error) {
	if err := t.settleQueue(ctx); err != nil {
		return "", err
	}
	return t.relay.store(ctx, t.wait), nil
}
