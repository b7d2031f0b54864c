package producer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/ctxledger/ctxledger/schema"
)

// maxBatch is the most messages that JetStream takes as one atomic batch.
const maxBatch = 1000

// Publisher writes events to the stream, in order, in atomic batches: of a
// batch either everything is stored or nothing. Safe for concurrent use;
// concurrent callers are served one after another.
type Publisher struct {
	js     jetstream.JetStream
	linger time.Duration

	mu      sync.Mutex // guards the fields below; held while a batch is sent
	pending []*nats.Msg
	timer   *time.Timer
	failed  error // of a batch that the timer sent; the next call returns it
}

// NewPublisher publishes through js. A batch is sent when it holds 1,000
// events, when linger has passed since its first, or by Flush. A linger of 0
// leaves only the other two.
func NewPublisher(js jetstream.JetStream, linger time.Duration) *Publisher {
	return &Publisher{js: js, linger: linger}
}

// Publish validates e and queues it. It returns schema.Violations for an event
// that the contract refuses, which is not queued, and the error of an earlier
// batch, whose events stay queued for the next try. A nil error is not yet
// durable: see [Publisher.Flush].
func (p *Publisher) Publish(ctx context.Context, e *schema.Event) error {
	if _, violations := schema.Validate(e); len(violations) > 0 {
		return violations
	}
	m := e.Binary()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.failed; err != nil {
		p.failed = nil
		return err
	}
	p.pending = append(p.pending, &nats.Msg{Subject: m.Subject, Header: nats.Header(m.Header), Data: m.Data})
	if len(p.pending) >= maxBatch {
		return p.send(ctx)
	}
	if p.timer == nil && p.linger > 0 {
		p.timer = time.AfterFunc(p.linger, p.sendLingering)
	}
	return nil
}

func (p *Publisher) sendLingering() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = p.send(ctx)
}

// Flush sends what is queued and returns once the stream has stored it, which
// is as durable as the server's configuration makes an acknowledgement. After
// an error the events stay queued, and Flush may be called again: an event
// that was stored all the same is recognised by its message id.
func (p *Publisher) Flush(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = nil
	return p.send(ctx)
}

// send publishes all pending messages. The caller holds mu.
func (p *Publisher) send(ctx context.Context) error {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	for len(p.pending) > 0 {
		n := min(len(p.pending), maxBatch)
		if err := publishBatch(ctx, p.js, p.pending[:n]); err != nil {
			return fmt.Errorf("publish %d events: %w", n, err)
		}
		p.pending = p.pending[n:]
	}
	p.pending = nil
	return nil
}

func publishBatch(ctx context.Context, js jetstream.JetStream, batch []*nats.Msg) error {
	if len(batch) == 1 {
		return publishSingly(ctx, js, batch)
	}
	for delay := 10 * time.Millisecond; ; delay = min(2*delay, time.Second) {
		_, err := jetstreamext.PublishMsgBatch(ctx, js, batch)
		switch {
		case errors.Is(err, jetstreamext.ErrAtomicPublishTooManyInflight):
			select {
			case <-ctx.Done():
				return err
			case <-time.After(delay):
			}
		case errors.Is(err, jetstreamext.ErrBatchPublishDuplicateMsgID), errors.Is(err, jetstreamext.ErrBatchPublishNotEnabled):
			return publishSingly(ctx, js, batch)
		default:
			return err
		}
	}
}

// publishSingly publishes in order without atomicity: for a batch in which
// some message is stored already, and for a stream that takes no batches.
// JetStream answers a message id that it holds with its sequence, so a repeat
// stores nothing.
func publishSingly(ctx context.Context, js jetstream.JetStream, batch []*nats.Msg) error {
	for _, m := range batch {
		m.Reply = ""
		for _, header := range []string{jetstreamext.BatchIDHeader, jetstreamext.BatchSeqHeader, jetstreamext.BatchCommitHeader} {
			m.Header.Del(header)
		}
		if _, err := js.PublishMsg(ctx, m); err != nil {
			return err
		}
	}
	return nil
}
