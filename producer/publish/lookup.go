package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/schema"
)

// locate records the end of the stream before the first batch is sent, and reports whether
// it did. A later lookup of this batch then need not begin at the stream's beginning. If
// the server does not answer, that lookup reads more messages.
func (s *sender) locate() bool {
	if s.located || !s.js.Conn().IsConnected() {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	stream, err := s.find(ctx)
	if err != nil {
		return false
	}
	s.acked, s.located = stream.CachedInfo().State.LastSeq, true
	return true
}

// find returns the stream with its current state.
func (s *sender) find(ctx context.Context) (jetstream.Stream, error) {
	if s.stream == "" {
		name, err := s.js.StreamNameBySubject(ctx, cmp.Or(s.subject, schema.AllSubjects))
		if err != nil {
			return nil, err
		}
		s.stream = name
	}
	stream, err := s.js.Stream(ctx, s.stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s.stream = "" // another stream may have replaced it
	}
	return stream, err
}

// PublishOnly reports whether err means that this account may publish to the stream but not
// read it, as a tenant's account of deploy/nats. An event that this account sends again
// after a long time may be stored twice. The ledger counts the event once.
func PublishOnly(err error) bool { return errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) }

// missing returns the messages of a batch that the stream does not hold, as far as the
// account may know. missing reads the headers of messages under the batch's subjects since
// the last acknowledgment.
func (s *sender) missing(batch []*nats.Msg) ([]*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	stream, err := s.find(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) || PublishOnly(err) {
		return batch, nil
	}
	if err != nil {
		return nil, err
	}
	from, last := s.acked+1, stream.CachedInfo().State.LastSeq
	if s.acked > last { // another stream than the one that acknowledged
		from = 1
	}
	if from > last {
		return batch, nil
	}
	wanted := make(map[string]bool, len(batch))
	for _, m := range batch {
		wanted[m.Header.Get(schema.MsgIDHeader)] = true
	}
	found, err := s.seek(ctx, stream, from, filters(batch), wanted)
	if err != nil {
		return nil, err
	}
	missing := slices.DeleteFunc(slices.Clone(batch), func(m *nats.Msg) bool { return !wanted[m.Header.Get(schema.MsgIDHeader)] })
	if len(missing) == 0 {
		s.acknowledged(s.stream, found)
	}
	return missing, nil
}

// seek removes from wanted the message ids that the stream holds after a sequence, and
// returns the last sequence of a removed id.
func (s *sender) seek(ctx context.Context, stream jetstream.Stream, from uint64, subjects []string, wanted map[string]bool) (found uint64, err error) {
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: subjects, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from, HeadersOnly: true,
	})
	if err != nil {
		return 0, err
	}
	pending := consumer.CachedInfo().NumPending
	if pending == 0 {
		return 0, nil
	}
	messages, err := consumer.Messages()
	if err != nil {
		return 0, err
	}
	defer messages.Stop()
	for pending > 0 && len(wanted) > 0 {
		m, err := messages.Next(jetstream.NextMaxWait(lookTimeout))
		if err != nil {
			return 0, err
		}
		at, err := m.Metadata()
		if err != nil {
			return 0, fmt.Errorf("read the sequence of a message: %w", err)
		}
		if id := m.Headers().Get(schema.MsgIDHeader); wanted[id] {
			delete(wanted, id)
			found = at.Sequence.Stream
		}
		pending = at.NumPending
	}
	return found, nil
}

// filters returns the subjects of a batch without the object and the verb, because the
// record of an event's loss has another object and verb.
func filters(batch []*nats.Msg) []string {
	list := make([]string, len(batch))
	for i, m := range batch {
		list[i] = subjectScope(m.Subject) + ">"
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// subjectScope returns the beginning of a subject up to the bucket:
// ctx.v1.<tenant>.<runtime>.<bucket>.
func subjectScope(subject string) string {
	const tokens = 5
	end := 0
	for range tokens {
		end += strings.IndexByte(subject[end:], '.') + 1
	}
	return subject[:end]
}
