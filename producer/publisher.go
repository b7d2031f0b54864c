package producer

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
	// DefaultMaxQueued is how many events wait for the stream at most.
	DefaultMaxQueued = 10_000
	// maxQueuedBytes bounds the queue's memory, whatever the events' number.
	maxQueuedBytes = 64 << 20
	// attemptTimeout bounds one try to store one batch, and connectTimeout the
	// part of it that waits for the connection.
	attemptTimeout, connectTimeout = 10 * time.Second, 5 * time.Second
	// firstRetry doubles up to lastRetry while the stream takes nothing.
	firstRetry, lastRetry = 100 * time.Millisecond, 5 * time.Second
)

// Publisher writes events to the stream, in order, in atomic batches: of a
// batch either everything is stored or nothing. Safe for concurrent use; the
// order is that of the calls.
//
//	Publish ──▶ queue ──▶ one sender ──▶ JetStream
//
// Events stay in the queue until the stream has stored them, and a batch that
// was tried keeps its composition, so that a repeat of it is the same batch.
// The queue is in memory: what is in it is lost with the process.
type Publisher struct {
	js     jetstream.JetStream
	linger time.Duration
	most   int  // events in the queue
	wait   bool // for room, rather than return ErrQueueFull

	mu       sync.Mutex // guards what follows; never held during I/O
	queue    []waiting
	bytes    int           // of the queue
	accepted uint64        // events ever queued
	stored   uint64        // events ever stored: accepted less the queue
	wanted   uint64        // the sender works until stored reaches it
	tried    int           // size of the batch at the head that was tried and failed, or 0
	sending  bool          // the sender runs
	timer    *time.Timer   // starts the sender; nil when none is set
	failures uint64        // tries that failed
	err      error         // of the last try, nil once one succeeds
	retry    time.Duration // until the next try after a failure
	changed  chan struct{} // closed after each try
}

// waiting is one event in the queue.
type waiting struct {
	message *nats.Msg
	bytes   int
}

// NewPublisher publishes through js. A batch is sent when 1,000 events wait,
// when linger has passed since the first of them, or by Flush.
//
// With a linger, Publish never waits and a try that failed is repeated until
// it succeeds; that is for runtimes. A linger of 0 is for programs that publish
// in bulk: Publish waits for room, and only Publish and Flush try again.
func NewPublisher(js jetstream.JetStream, linger time.Duration) *Publisher {
	if linger == 0 {
		return newPublisher(js, 0, 4*maxBatch)
	}
	return newPublisher(js, linger, DefaultMaxQueued)
}

func newPublisher(js jetstream.JetStream, linger time.Duration, most int) *Publisher {
	return &Publisher{js: js, linger: linger, most: most, wait: linger == 0, retry: firstRetry, changed: make(chan struct{})}
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
	return p.enqueue(ctx, e.Binary())
}

// enqueue is Publish for events that are known to be valid: all or none.
func (p *Publisher) enqueue(ctx context.Context, messages ...schema.Message) error {
	most, total := p.js.Conn().MaxPayload(), 0
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
	case p.sending:
	case len(p.queue) >= maxBatch && (p.err == nil || p.linger == 0):
		p.start()
	case p.timer == nil && p.linger > 0:
		p.startIn(p.linger)
	}
	return nil
}

// makeRoom returns once the queue has room for n events of size bytes; an empty
// queue has. The caller holds mu, as with all below.
func (p *Publisher) makeRoom(ctx context.Context, n, size int) error {
	full := func() bool {
		return len(p.queue) > 0 && (len(p.queue)+n > p.most || p.bytes+size > maxQueuedBytes)
	}
	for failures := p.failures; full(); {
		switch {
		case !p.wait && p.err != nil:
			return fmt.Errorf("%w (%d events): %w", ErrQueueFull, len(p.queue), p.err)
		case !p.wait:
			return fmt.Errorf("%w (%d events): they come faster than the stream takes them", ErrQueueFull, len(p.queue))
		case p.failures > failures && p.err != nil:
			return p.err
		}
		p.wanted = max(p.wanted, p.stored+1)
		p.start()
		if err := p.await(ctx); err != nil {
			return err
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
	p.mu.Lock()
	defer p.mu.Unlock()
	target, failures := p.accepted, p.failures
	p.wanted = max(p.wanted, target)
	for p.stored < target {
		if p.failures > failures && p.err != nil {
			return p.err
		}
		p.start()
		if err := p.await(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Err says why the oldest queued events are not stored: the error of the last
// try, or nil when that succeeded or none was made. It is a state: asking does
// not change it.
func (p *Publisher) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Queued returns how many events wait for the stream.
func (p *Publisher) Queued() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queue)
}

// await lets go of mu until a try has ended.
func (p *Publisher) await(ctx context.Context) error {
	changed := p.changed
	p.mu.Unlock()
	defer p.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the stream: %w", context.Cause(ctx))
	}
}

// startIn starts the sender later, for all that is queued by then.
func (p *Publisher) startIn(delay time.Duration) {
	p.timer = time.AfterFunc(delay, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.timer = nil
		p.wanted = p.accepted
		p.start()
	})
}

// start lets the sender run unless it does.
func (p *Publisher) start() {
	if p.sending {
		return
	}
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	p.sending = true
	go p.run()
}

// run sends batches until all that is wanted is stored and less than a batch
// waits, or until a try fails.
func (p *Publisher) run() {
	p.mu.Lock()
	defer p.mu.Unlock()
	failed := false
	for !failed && (len(p.queue) >= maxBatch || p.stored < p.wanted) {
		batch, size := p.batch()
		p.mu.Unlock()
		err := p.send(batch)
		p.mu.Lock()
		failed = err != nil
		p.settle(batch, size, err)
	}
	p.sending = false
	switch {
	case len(p.queue) == 0 || p.linger == 0:
	case !failed:
		p.startIn(p.linger)
	case !errors.Is(p.err, nats.ErrConnectionClosed): // which never opens again
		p.startIn(p.retry)
		p.retry = min(2*p.retry, lastRetry)
	}
}

// batch returns the events to send next, and their bytes.
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

// settle notes how the try to send a batch went.
func (p *Publisher) settle(batch []*nats.Msg, size int, err error) {
	close(p.changed)
	p.changed = make(chan struct{})
	if err != nil {
		p.tried = len(batch)
		p.failures++
		p.err = fmt.Errorf("publish %d events: %w", len(batch), err)
		return
	}
	n := len(batch)
	clear(p.queue[:n])
	if p.queue = p.queue[n:]; len(p.queue) == 0 {
		p.queue = nil
	}
	p.bytes -= size
	p.stored += uint64(n)
	p.tried, p.err, p.retry = 0, nil, firstRetry
}

// send tries once to store a batch.
func (p *Publisher) send(batch []*nats.Msg) error {
	ctx, cancel := context.WithTimeout(context.Background(), attemptTimeout)
	defer cancel()
	up, stop := context.WithTimeout(ctx, connectTimeout)
	defer stop()
	if err := connected(up, p.js.Conn()); err != nil {
		return err
	}
	return publishBatch(ctx, p.js, batch)
}
