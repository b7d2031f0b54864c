package publish

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/schema"
)

// The tenants of a stream share its message ids. Another tenant can store a message under
// an id that an event of this producer will have. JetStream then acknowledges the event as
// a duplicate and does not store it. The client publishes the event again under a random
// id. If an earlier attempt stored the event, the stream holds it twice, and the ledger
// counts it once.

// takenIDs counts events whose message id was already in use on their first attempt. Safe
// for concurrent use.
type takenIDs struct {
	count atomic.Int64

	mu   sync.Mutex // guards the next two fields
	log  *slog.Logger
	said time.Time
}

// sayEvery limits the number of log lines about taken ids.
const sayEvery = time.Minute

func (t *takenIDs) add(subject string) {
	if t == nil {
		return
	}
	n := t.count.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.log == nil || time.Since(t.said) < sayEvery {
		return
	}
	t.said = time.Now()
	t.log.Warn("an event was sent again under a random id, because another message had its id: find the program that uses this producer's ids",
		"event", "message_id_taken", "subject", subject, "events", n)
}

// storeDuplicate makes the stream store an event that was acknowledged as a duplicate of
// another message.
func (s *sender) storeDuplicate(ctx context.Context, m *nats.Msg, ack *jetstream.PubAck) (*jetstream.PubAck, error) {
	if s.isStored(ctx, m, ack) {
		return ack, nil
	}
	if !s.retries {
		s.taken.add(m.Subject)
	}
	own := nats.NewMsg(m.Subject)
	own.Data = m.Data
	for name, values := range m.Header {
		own.Header[name] = values
	}
	own.Header.Set(schema.MsgIDHeader, uuid.NewString())
	return s.js.PublishMsg(ctx, own)
}

// isStored reports whether an acknowledged message is certainly m. An account without the
// right to read the stream cannot know.
func (s *sender) isStored(ctx context.Context, m *nats.Msg, ack *jetstream.PubAck) bool {
	if s.blind {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, soloTimeout)
	defer cancel()
	stream, err := s.js.Stream(ctx, ack.Stream)
	if err == nil {
		var first *jetstream.RawStreamMsg
		if first, err = stream.GetMsg(ctx, ack.Sequence); err == nil {
			return first.Subject == m.Subject && bytes.Equal(first.Data, m.Data)
		}
	}
	s.blind = PublishOnly(err) || timedOut(err) && denied(s.js.Conn()) != nil
	return false
}

// TakenIDs returns the number of events that were acknowledged as duplicates of other
// messages on their first attempt. The publisher sent each such event again under a random
// id. Without the right to read the stream, the number includes events that an earlier
// process has published.
func (p *Publisher) TakenIDs() int64 { return p.sender.taken.count.Load() }
