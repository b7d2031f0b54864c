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

// ErrQueueFull means that the stream has not taken events for a while and no
// more fit into the queue: the event was not queued. It is wrapped together
// with the reason why the oldest events are still waiting. Going on without
// the event is safe; so is trying again later.
var ErrQueueFull = errors.New("the queue of events is full")

// Limits of a publisher.
const (
	// DefaultMaxQueued is how many events wait in memory at most.
	DefaultMaxQueued = 10_000
	// maxQueuedBytes bounds the queue's memory, whatever the events' number.
	maxQueuedBytes = 64 << 20
)

// Options configure a [Publisher].
type Options struct {
	// Linger is how long the first event of a batch waits for others. 0 is for
	// programs that publish in bulk, see [New].
	Linger time.Duration
	// MaxQueued is how many events wait in memory at most.
	MaxQueued int
	// WaitForRoom makes Publish wait while the queue is full, rather than return
	// ErrQueueFull.
	WaitForRoom bool
	// ReplaceRefused replaces an event that the server refuses for itself by the
	// record of its loss. Otherwise the caller gets the error.
	ReplaceRefused bool
	// Room is called, on a goroutine of its own, when a full queue has room again.
	// It may be nil.
	Room func()
	// Log is told of message ids that others have taken. It may be nil.
	Log *slog.Logger
}

// Publisher writes events to the stream, in order, in atomic batches: of a
// batch either everything is stored or nothing. Safe for concurrent use; the
// order is that of the calls.
//
//	Publish ──▶ queue ──▶ one worker ──▶ JetStream
//	                                └──▶ outbox ──▶ relay ──▶ JetStream
//
// Events stay in the queue until the stream, or the outbox of a client that has
// one, has stored them, and a batch that was tried keeps its composition, so
// that a repeat of it is the same batch. The queue is in memory: what is in it
// is lost with the process.
type Publisher struct {
	worker
	sender  *route
	relay   *relay // nil without an outbox
	options Options

	queue    []waiting
	bytes    int       // of the queue
	accepted uint64    // events ever queued
	stored   uint64    // events ever stored: accepted less the queue
	wanted   uint64    // the worker works until stored reaches it
	tried    int       // size of the batch at the head that was tried and failed, or 0
	full     time.Time // when an event found no room first, zero once there was some
}

// waiting is one event in the queue.
type waiting struct {
	message *nats.Msg
	bytes   int
}

// New publishes through js. A batch is sent when 1,000 events wait,
// when linger has passed since the first of them, or by Flush.
//
// With a linger, Publish never waits and a try that failed is repeated until
// it succeeds; that is for runtimes. A linger of 0 is for programs that publish
// in bulk: Publish waits for room, and only Publish and Flush try again.
func New(js jetstream.JetStream, linger time.Duration) *Publisher {
	if linger == 0 {
		return NewWith(js, Options{MaxQueued: 4 * maxBatch, WaitForRoom: true})
	}
	return NewWith(js, Options{Linger: linger, MaxQueued: DefaultMaxQueued})
}

// NewWith publishes through js as the options say.
func NewWith(js jetstream.JetStream, options Options) *Publisher {
	p := &Publisher{worker: newWorker(), sender: newRoute(js), options: options}
	if options.ReplaceRefused {
		p.sender.refusals = new(refusals)
	}
	p.sender.taken.log = options.Log
	p.loop, p.due = p.storeAll, p.wantAll
	return p
}

// KeepIn makes p store events in an outbox first, and begins to send what waits
// there.
func (p *Publisher) KeepIn(box Outbox) {
	p.relay = newRelay(p.sender, box, p.retryNow)
	p.relay.mu.Lock()
	defer p.relay.mu.Unlock()
	p.relay.start()
}

// retryNow lets a batch that found no room in the outbox try again.
func (p *Publisher) retryNow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		p.start()
	}
}

// Publish validates e and queues it. An error means that e is not queued, and
// nil that it is, which is not yet durable: see [Publisher.Flush]. What becomes
// of earlier events is no concern of Publish: see [Publisher.Err].
//
// Errors: schema.Violations for an event that the contract refuses;
// [nats.ErrMaxPayload] for one that the server would refuse; without a linger,
// ctx's and that of a try which failed while Publish waited for room; with one,
// [ErrQueueFull].
func (p *Publisher) Publish(ctx context.Context, e *schema.Event) error {
	if _, violations := schema.Validate(e); len(violations) > 0 {
		return violations
	}
	return p.Send(ctx, e.Binary())
}

// Send is Publish for the messages of events that are known to be valid: all or
// none.
func (p *Publisher) Send(ctx context.Context, messages ...schema.Message) error {
	most, total := p.sender.js.Conn().MaxPayload(), 0
	list := make([]waiting, len(messages))
	for i, m := range messages {
		list[i].message = &nats.Msg{Subject: m.Subject, Header: nats.Header(m.Header), Data: m.Data}
		size := messageBytes(list[i].message)
		if most > 0 && int64(size) > most { // 0 before the first connect
			return fmt.Errorf("%w: the event has %d bytes with its attributes, the server takes %d", nats.ErrMaxPayload, size, most)
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

// makeRoom returns once the queue has room for n events of size bytes; an empty
// queue has. The caller holds mu.
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

// queueFull is [ErrQueueFull] with the reason.
func (p *Publisher) queueFull() error {
	if p.err != nil {
		return fmt.Errorf("%w (%d events): %w", ErrQueueFull, len(p.queue), p.err)
	}
	return fmt.Errorf("%w (%d events): they come faster than the stream takes them", ErrQueueFull, len(p.queue))
}

// AwaitRoom returns once a queue that was full has room, with ctx's error, or
// with ErrQueueFull once the queue is full for as long as bound: everybody who
// waits does so until the same moment.
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

// Flush returns once the stream has stored every event that was queued before
// the call, which is as durable as the server's configuration makes an
// acknowledgement. It returns the error of a try that failed meanwhile, and
// ctx's; either way the events stay queued, and Flush may be called again: an
// event that was stored all the same is recognised by its message id.
func (p *Publisher) Flush(ctx context.Context) error {
	if err := p.settleQueue(ctx); err != nil || p.relay == nil {
		return err
	}
	return p.relay.flush(ctx)
}

// settleQueue returns once the queue's events are in the stream, or in the
// outbox if there is one.
func (p *Publisher) settleQueue(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	target := p.accepted
	p.wanted = max(p.wanted, target)
	return p.until(ctx, func() bool { return p.stored >= target })
}

// Store is [Publisher.Flush]: a publisher of its own keeps events nowhere but in
// the stream.
func (p *Publisher) Store(ctx context.Context) (Stored, error) {
	if err := p.Flush(ctx); err != nil {
		return "", err
	}
	return InStream, nil
}

// Err says why the oldest queued events are not stored: the error of the last
// try, or nil when that succeeded or none was made. It is a state: asking does
// not change it.
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

// Queued returns how many events wait in memory.
func (p *Publisher) Queued() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queue)
}

// storeAll is the worker's loop: it stores batches until all that is wanted is
// stored and less than a batch waits, or until a try fails.
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

// final reports whether no later try can succeed: what is closed never opens
// again.
func final(err error) bool {
	return errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, os.ErrClosed)
}

// keep tries once to store a batch.
func (p *Publisher) keep(batch []*nats.Msg, again bool) error {
	if p.relay != nil {
		return p.relay.take(batch)
	}
	if err := p.sender.try(batch, again); err != nil {
		return fmt.Errorf("publish %d events: %w", len(batch), err)
	}
	return nil
}

// batch returns the events to store next, and their bytes.
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

// settle notes how the try to store a batch went.
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
