package publish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/schema"
)

// ErrQueueFull means that the queue is full because the stream has accepted no events for a
// while. The event was not queued. The error also wraps the reason for the waiting. The
// caller may continue without the event or try again later.
var ErrQueueFull = errors.New("the queue of events is full")

// Limits of a publisher.
const (
	// DefaultMaxQueued is the largest number of events that wait in memory.
	DefaultMaxQueued = 10_000
	// maxQueuedBytes limits the queue's memory for any number of events.
	maxQueuedBytes = 64 << 20
)

// Options configure a [Publisher].
type Options struct {
	// Linger is the time that the first event of a batch waits for more events. 0 is for
	// programs that publish many events, see [New].
	Linger time.Duration
	// MaxQueued is the largest number of events that wait in memory.
	MaxQueued int
	// WaitForRoom makes Publish wait while the queue is full, instead of returning
	// ErrQueueFull.
	WaitForRoom bool
	// ReplaceRefused replaces an event that the server refuses permanently by the record of
	// its loss. Otherwise the caller gets the error.
	ReplaceRefused bool
	// Room is called on a separate goroutine when a full queue has room again. Room may be
	// nil.
	Room func()
	// Log receives warnings about message ids that other messages had. Log may be nil.
	Log *slog.Logger
}

// Publisher writes events to the stream, in order, in atomic batches: a batch is stored as
// a whole or not at all. Safe for concurrent use. The order is the order of the calls.
//
//	Publish ──▶ queue ──▶ one worker ──▶ JetStream
//	                                └──▶ outbox ──▶ relay ──▶ JetStream
//
// Events stay in the queue until the stream, or the outbox of the client, has stored them.
// After an attempt, a batch keeps its events, so every further attempt sends the same
// batch. The queue is in memory and is lost with the process.
type Publisher struct {
	worker
	sender  *route
	relay   *relay // nil without an outbox
	options Options

	queue    []waiting
	bytes    int       // bytes in the queue
	accepted uint64    // number of all queued events
	stored   uint64    // number of all stored events: accepted less the queue
	wanted   uint64    // value of stored until which the worker works
	tried    int       // size of the batch at the front whose attempt failed, or 0
	full     time.Time // first time at which an event found no room; zero when there is room
}

// waiting is one event in the queue.
type waiting struct {
	message *nats.Msg
	bytes   int
}

// New publishes through js. A batch is sent when 1,000 events wait, when linger has passed
// since its first event, or by Flush.
//
// With a linger, Publish never waits, and a failed attempt is repeated until it succeeds.
// This mode is for runtimes. A linger of 0 is for programs that publish many events:
// Publish waits for room, and only Publish and Flush repeat an attempt.
func New(js jetstream.JetStream, linger time.Duration) *Publisher {
	if linger == 0 {
		return NewWith(js, Options{MaxQueued: 4 * maxBatch, WaitForRoom: true})
	}
	return NewWith(js, Options{Linger: linger, MaxQueued: DefaultMaxQueued})
}

// NewWith publishes through js with the options.
func NewWith(js jetstream.JetStream, options Options) *Publisher {
	p := &Publisher{worker: newWorker(), sender: newRoute(js), options: options}
	if options.ReplaceRefused {
		p.sender.refusals = new(refusals)
	}
	p.sender.taken.log = options.Log
	p.loop, p.due = p.storeAll, p.wantAll
	return p
}

// KeepIn makes p store events in an outbox first, and starts sending the batches that wait
// in the outbox.
func (p *Publisher) KeepIn(box Outbox) {
	p.relay = newRelay(p.sender, box, p.retryNow)
	p.relay.mu.Lock()
	defer p.relay.mu.Unlock()
	p.relay.start()
}

// retryNow repeats the attempt of a batch for which the outbox had no room.
func (p *Publisher) retryNow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		p.start()
	}
}

// Publish validates e and queues it. With an error, e is not queued. Without an error, e is
// queued but not yet durable: see [Publisher.Flush]. Publish does not report errors of
// earlier events: see [Publisher.Err].
//
// Errors are schema.Violations for an event that the contract refuses and
// [nats.ErrMaxPayload] for an event above the server's limit. With a linger, another error
// is [ErrQueueFull]. Without a linger, the others are ctx's error and the error of an
// attempt that failed while Publish waited for room.
func (p *Publisher) Publish(ctx context.Context, e *schema.Event) error {
	if _, violations := schema.Validate(e); len(violations) > 0 {
		return violations
	}
	return p.Send(ctx, e.Binary())
}

// Send is Publish for the messages of valid events: all or none.
func (p *Publisher) Send(ctx context.Context, messages ...schema.Message) error {
	most, total := p.sender.js.Conn().MaxPayload(), 0
	list := make([]waiting, len(messages))
	for i, m := range messages {
		list[i].message = &nats.Msg{Subject: m.Subject, Header: nats.Header(m.Header), Data: m.Data}
		size := messageBytes(list[i].message)
		if most > 0 && int64(size) > most { // 0 before the first connection
			return fmt.Errorf("%w: the event has %d bytes with its attributes, the server accepts %d", nats.ErrMaxPayload, size, most)
		}
		list[i].bytes = size
		total += size
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.makeRoom(ctx, len(list), total); err != nil {
		return err
	}
	p.queue = append(p.queue, list...)
	p.bytes += total
	p.accepted += uint64(len(list))
	switch {
	case p.running:
	case len(p.queue) >= maxBatch && (p.err == nil || p.options.Linger == 0):
		p.start()
	case p.timer == nil && p.options.Linger > 0:
		p.startIn(p.options.Linger)
	}
	return nil
}

func (p *Publisher) wantAll() { p.wanted = p.accepted }

// makeRoom returns when the queue has room for n events of size bytes. An empty queue has
// room for any event. The caller holds mu.
func (p *Publisher) makeRoom(ctx context.Context, n, size int) error {
	full := func() bool {
		return len(p.queue) > 0 && (len(p.queue)+n > p.options.MaxQueued || p.bytes+size > maxQueuedBytes)
	}
	switch {
	case !full():
		return nil
	case !p.options.WaitForRoom:
		if p.full.IsZero() {
			p.full = time.Now()
		}
		return p.queueFull()
	}
	return p.until(ctx, func() bool {
		p.wanted = max(p.wanted, p.stored+1)
		return !full()
	})
}

// queueFull returns [ErrQueueFull] with the reason.
func (p *Publisher) queueFull() error {
	if p.err != nil {
		return fmt.Errorf("%w (%d events): %w", ErrQueueFull, len(p.queue), p.err)
	}
	return fmt.Errorf("%w (%d events): events arrive faster than the stream accepts them", ErrQueueFull, len(p.queue))
}

// AwaitRoom returns nil when a full queue has room again. AwaitRoom returns ctx's error if
// ctx ends first. AwaitRoom returns ErrQueueFull when the queue has been full for bound.
// All waiting callers share this deadline.
func (p *Publisher) AwaitRoom(ctx context.Context, bound time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.full.IsZero() {
		return nil
	}
	ctx, cancel := context.WithDeadline(ctx, p.full.Add(bound))
	defer cancel()
	for since := p.full; p.full.Equal(since); {
		if err := p.await(ctx); err != nil {
			return fmt.Errorf("%w: %w", p.queueFull(), err)
		}
	}
	return nil
}

// Flush returns when the stream has stored every event that was queued before the call. The
// server's configuration decides the durability of an acknowledgment. Flush returns the
// error of an attempt that failed during the call, or ctx's error. In both cases the events
// stay queued, and Flush may be called again. An event that was already stored is
// recognized by its message id.
func (p *Publisher) Flush(ctx context.Context) error {
	if err := p.settleQueue(ctx); err != nil || p.relay == nil {
		return err
	}
	return p.relay.flush(ctx)
}

// settleQueue returns when the queue's events are in the stream, or in the outbox if there
// is one.
func (p *Publisher) settleQueue(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	target := p.accepted
	p.wanted = max(p.wanted, target)
	return p.until(ctx, func() bool { return p.stored >= target })
}

// Store is [Publisher.Flush]: a publisher without an outbox stores events only in the
// stream.
func (p *Publisher) Store(ctx context.Context) (Stored, error) {
	if err := p.Flush(ctx); err != nil {
		return "", err
	}
	return InStream, nil
}

// Err returns the reason why the oldest queued events are not stored: the error of the last
// attempt, or nil. Err does not clear the error.
func (p *Publisher) Err() error {
	p.mu.Lock()
	err := p.err
	p.mu.Unlock()
	if err != nil || p.relay == nil {
		return err
	}
	p.relay.mu.Lock()
	defer p.relay.mu.Unlock()
	return p.relay.err
}

// Queued returns the number of events that wait in memory.
func (p *Publisher) Queued() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queue)
}

// storeAll is the worker's loop. storeAll stores batches until all wanted events are stored
// and less than a batch waits, or until an attempt fails.
func (p *Publisher) storeAll() time.Duration {
	for len(p.queue) >= maxBatch || p.stored < p.wanted {
		batch, size := p.batch()
		again := p.tried > 0
		p.mu.Unlock()
		err := p.keep(batch, again)
		p.mu.Lock()
		if p.settle(batch, size, err); err == nil {
			continue
		}
		if p.options.Linger == 0 || final(err) {
			return 0
		}
		return p.backOff()
	}
	if len(p.queue) == 0 {
		return 0
	}
	return p.options.Linger
}

// final reports whether no later attempt can succeed: a closed connection or outbox never
// opens again.
func final(err error) bool {
	return errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, os.ErrClosed)
}

// keep makes one attempt to store a batch.
func (p *Publisher) keep(batch []*nats.Msg, again bool) error {
	if p.relay != nil {
		return p.relay.take(batch)
	}
	if err := p.sender.try(batch, again); err != nil {
		return fmt.Errorf("publish %d events: %w", len(batch), err)
	}
	return nil
}

// batch returns the next events to store, and their size in bytes.
func (p *Publisher) batch() (batch []*nats.Msg, size int) {
	for _, next := range p.queue {
		switch n := len(batch); {
		case p.tried > 0 && n == p.tried, n == maxBatch:
			return batch, size
		case p.tried == 0 && n > 0 && size+next.bytes > maxBatchBytes:
			return batch, size
		}
		batch = append(batch, next.message)
		size += next.bytes
	}
	return batch, size
}

// settle records the result of the attempt to store a batch.
func (p *Publisher) settle(batch []*nats.Msg, size int, err error) {
	p.worker.settle(err)
	if err != nil {
		p.tried = len(batch)
		return
	}
	n := len(batch)
	clear(p.queue[:n])
	if p.queue = p.queue[n:]; len(p.queue) == 0 {
		p.queue = nil
	}
	p.bytes -= size
	p.stored += uint64(n)
	p.tried = 0
	if !p.full.IsZero() {
		p.full = time.Time{}
		if p.options.Room != nil {
			go p.options.Room()
		}
	}
}
