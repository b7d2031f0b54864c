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
// A batch is in the outbox before its first attempt, so its events do not change. The next
// batch is sent after the first has left the outbox. Therefore only the oldest batch may
// have been sent before, by this process or by an earlier one. This batch is looked up in
// the stream.
type relay struct {
	worker
	outbox Outbox
	sender *route
	room   func() // called when the outbox has more room

	newest uint64 // number of the newest batch in the outbox
	sent   uint64 // number of the newest batch in the stream
	doubt  bool   // an earlier attempt may have sent the oldest batch
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

// forward moves the oldest batch into the stream and returns its number.
func (r *relay) forward(again bool) (number uint64, err error) {
	number, messages, err := r.outbox.Head()
	if err != nil {
		return 0, fmt.Errorf("read the outbox: %w", err)
	}
	batch := fromMessages(messages)
	if !again && r.sender.locate(batch) {
		if err := r.outbox.Drop(0, r.sender.acked()); err != nil {
			return number, fmt.Errorf("find the end of the stream: %w", err)
		}
	}
	if err := r.sender.try(batch, again); err != nil {
		return number, fmt.Errorf("publish %d events: %w", len(messages), err)
	}
	if err := r.outbox.Drop(number, r.sender.acked()); err != nil {
		return number, fmt.Errorf("remove the stored events from the outbox: %w", err)
	}
	r.room()
	return number, nil
}

// flush returns when the stream has stored all batches of the outbox.
func (r *relay) flush(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	target := r.newest
	return r.until(ctx, func() bool { return r.sent >= target })
}

// store is flush for callers that accept storage in the outbox. store waits for at most
// bound, and not at all while the stream is known to be unavailable.
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
	wait time.Duration // longest wait of a seal for the stream
}

// NewOutboxTransport returns the transport of a client with an outbox. Its Store waits for
// the stream for at most wait.
func NewOutboxTransport(p *Publisher, wait time.Duration) Transport {
	return &outboxTransport{Publisher: p, wait: wait}
}

// Store returns when all events are in the outbox, and waits for a limited time for the
// stream.
func (t *outboxTransport) Store(ctx context.Context) (Stored, error) {
	if err := t.settleQueue(ctx); err != nil {
		return "", err
	}
	return t.relay.store(ctx, t.wait), nil
}
