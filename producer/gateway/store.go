package gateway

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/schema"
)

const (
	// maxBatch and maxBatchBytes limit one atomic batch of a request without ?all.
	maxBatch, maxBatchBytes = 1000, 4 << 20
	// maxBatches is the number of batches under way. JetStream allows 50 for a stream.
	maxBatches = 16
	// busyPatience is the wait for JetStream's limit on batches.
	busyPatience = 2 * time.Second
)

// store writes messages to the streams. Safe for concurrent use.
type store struct {
	js      jetstream.JetStream
	timeout time.Duration
	batches chan struct{} // one element for each batch under way

	mu    sync.Mutex              // guards the fields below
	homes map[string]publish.Home // by tenant, once the server has said it
}

func newStore(js jetstream.JetStream, timeout time.Duration) *store {
	return &store{js: js, timeout: timeout, batches: make(chan struct{}, maxBatches), homes: make(map[string]publish.Home)}
}

// position is the place of a stored message, or the failure.
type position struct {
	stream   string
	sequence uint64
	failure  *failure
}

// stream returns the name of the stream for a subject. Without an answer of the server, it is that of
// the one stream that all tenants share.
func (s *store) stream(ctx context.Context, subject string) string {
	tenant := schema.SubjectTenant(subject)
	s.mu.Lock()
	defer s.mu.Unlock()
	home, known := s.homes[tenant]
	if known {
		return home.Stream(subject)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	home, err := publish.FindHome(ctx, s.js, tenant)
	if err == nil {
		s.homes[tenant] = home
	}
	return home.Stream(subject)
}

// forget makes the next request ask for the streams again.
func (s *store) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.homes)
}

// put stores messages, each stream in its order, and returns one position a message.
// Together stores all or none; then all messages belong to one stream.
func (s *store) put(ctx context.Context, messages []schema.Message, together bool) []position {
	found := make([]position, len(messages))
	fail := func(f *failure) []position {
		for i := range found {
			found[i].failure = f
		}
		return found
	}
	if !s.js.Conn().IsConnected() {
		return fail(unavailable("the connection to NATS is down"))
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	parts := make(map[string][]int)
	for i, m := range messages {
		stream := ""
		if len(messages) > 1 {
			stream = s.stream(ctx, m.Subject)
		}
		parts[stream] = append(parts[stream], i)
	}
	var storing sync.WaitGroup
	for _, part := range parts {
		storing.Go(func() {
			batch := make([]*nats.Msg, len(part))
			for at, i := range part {
				batch[at] = &nats.Msg{Subject: messages[i].Subject, Header: nats.Header(messages[i].Header), Data: messages[i].Data}
			}
			for at, p := range s.putPart(ctx, batch, together) {
				found[part[at]] = p
			}
		})
	}
	storing.Wait()
	for _, p := range found {
		if p.failure != nil && p.failure.violation == nil {
			s.forget()
			break
		}
	}
	return found
}

// putPart stores the messages of one stream in batches. After a failure, the messages that
// follow are not tried, so that the order is kept.
func (s *store) putPart(ctx context.Context, messages []*nats.Msg, together bool) []position {
	found := make([]position, 0, len(messages))
	for len(messages) > 0 {
		n := len(messages)
		if !together {
			n = batchOf(messages)
		}
		stored := s.putBatch(ctx, messages[:n], together)
		found = append(found, stored...)
		messages = messages[n:]
		if f := stored[len(stored)-1].failure; f != nil && f.violation == nil {
			for range messages {
				found = append(found, position{failure: f.skipped()})
			}
			return found
		}
	}
	return found
}

// batchOf returns the number of messages for the next batch.
func batchOf(messages []*nats.Msg) int {
	size := 0
	for i, m := range messages {
		if size += m.Size(); i == maxBatch || i > 0 && size > maxBatchBytes {
			return i
		}
	}
	return len(messages)
}

// putBatch stores one batch. JetStream refuses a batch with a known message id. The batch
// then gets random ids. Messages that are not stored together are published one by one if
// the server refuses the batch.
func (s *store) putBatch(ctx context.Context, batch []*nats.Msg, together bool) []position {
	if len(batch) == 1 {
		return s.putSingly(ctx, batch)
	}
	select {
	case s.batches <- struct{}{}:
		defer func() { <-s.batches }()
	case <-ctx.Done():
		return failed(batch, overloaded())
	}
	ack, err := s.publishBatch(ctx, batch)
	if errors.Is(err, jetstreamext.ErrBatchPublishDuplicateMsgID) {
		for _, m := range batch {
			m.Header.Set(schema.MsgIDHeader, uuid.NewString())
		}
		ack, err = s.publishBatch(ctx, batch)
	}
	if err == nil {
		found := make([]position, len(batch))
		for i := range found {
			found[i] = position{stream: ack.Stream, sequence: ack.Sequence - uint64(len(batch)-1-i)}
		}
		return found
	}
	f := failureOf(err)
	if !together && f.outcome == NotStored && f.tryEach {
		return s.putSingly(ctx, batch)
	}
	if f.violation != nil { // of one of them, and all are refused
		f.violation, f.status, f.code = nil, http.StatusRequestEntityTooLarge, "too_large"
	}
	return failed(batch, f)
}

// publishBatch publishes an atomic batch, and waits while JetStream has too many of them.
func (s *store) publishBatch(ctx context.Context, batch []*nats.Msg) (*jetstreamext.BatchAck, error) {
	for began, delay := time.Now(), 5*time.Millisecond; ; delay = min(2*delay, 200*time.Millisecond) {
		ack, err := jetstreamext.PublishMsgBatch(ctx, s.js, batch)
		if !errors.Is(err, jetstreamext.ErrAtomicPublishTooManyInflight) || time.Since(began) > busyPatience {
			return ack, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(delay):
		}
	}
}

// putSingly publishes messages one by one, in order, until a failure that is not the
// message's own.
func (s *store) putSingly(ctx context.Context, messages []*nats.Msg) []position {
	found := make([]position, 0, len(messages))
	for i, m := range messages {
		ack, err := s.publishOne(ctx, m)
		if err == nil {
			found = append(found, position{stream: ack.Stream, sequence: ack.Sequence})
			continue
		}
		f := failureOf(err)
		found = append(found, position{failure: f})
		if f.violation == nil {
			return append(found, failed(messages[i+1:], f.skipped())...)
		}
	}
	return found
}

// publishOne publishes a message, under a random id if the stream knows its id.
func (s *store) publishOne(ctx context.Context, m *nats.Msg) (*jetstream.PubAck, error) {
	m.Reply = ""
	for _, header := range []string{jetstreamext.BatchIDHeader, jetstreamext.BatchSeqHeader, jetstreamext.BatchCommitHeader} {
		m.Header.Del(header)
	}
	ack, err := s.js.PublishMsg(ctx, m)
	if err != nil || !ack.Duplicate {
		return ack, err
	}
	m.Reply = ""
	m.Header.Set(schema.MsgIDHeader, uuid.NewString())
	return s.js.PublishMsg(ctx, m)
}

func failed(batch []*nats.Msg, f *failure) []position {
	found := make([]position, len(batch))
	for i := range found {
		found[i].failure = f
	}
	return found
}
