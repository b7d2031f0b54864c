package retention

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// A copy in the stream CTX_LASTING has the bytes and the headers of the message. One more header holds
// the place of the message.
const placeHeader = "Ctxledger-Place"

// place is the value of placeHeader, as JSON.
type place struct {
	Incarnation uuid.UUID           `json:"incarnation"`
	Sequence    uint64              `json:"sequence"`
	RecordedAt  time.Time           `json:"recorded_at"`
	Subject     string              `json:"subject"`
	Orders      map[string][]string `json:"orders,omitempty"` // see [streamio.SplitOrders]
}

// Lasting returns the facts of a stream that never expire and whose messages have left it, in the order
// of the stream. Their bytes, headers and places are those of the messages. An installation of an
// earlier version has none.
func Lasting(ctx context.Context, js jetstream.JetStream, s *streamio.Source) (all []*streamio.Message, err error) {
	copies, err := js.Stream(ctx, schema.LastingStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up stream %s: %w", schema.LastingStream, err)
	}
	err = streamio.Each(ctx, copies, streamio.Selection{Subject: schema.LastingSubject(s.Info.Config.Name)}, func(msg jetstream.Msg, _ *jetstream.MsgMetadata) error {
		var at place
		text := msg.Headers()[placeHeader]
		if len(text) != 1 || json.Unmarshal([]byte(text[0]), &at) != nil || at.Incarnation != s.Incarnation || at.Sequence >= s.Info.State.FirstSeq {
			return nil
		}
		all = append(all, &streamio.Message{
			Subject: at.Subject, Header: streamio.JoinOrders(msg.Headers(), placeHeader, at.Orders), Data: msg.Data(), Rules: s.Rules.At(at.Sequence),
			Position: ledger.Position{Incarnation: at.Incarnation, StreamSeq: at.Sequence, RecordedAt: at.RecordedAt.UTC()},
		})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", schema.LastingStream, err)
	}
	slices.SortStableFunc(all, streamio.BySequence)
	// A pass that was interrupted may have copied a message twice.
	return slices.CompactFunc(all, func(a, b *streamio.Message) bool { return a.Position.StreamSeq == b.Position.StreamSeq }), nil
}

// HaveLeft returns the names of the streams of events for which [Lasting] may return facts.
func HaveLeft(ctx context.Context, js jetstream.JetStream) (streams map[string]bool, err error) {
	copies, err := js.Stream(ctx, schema.LastingStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	var info *jetstream.StreamInfo
	if err == nil {
		info, err = copies.Info(ctx, jetstream.WithSubjectFilter(schema.LastingSubject("*")))
	}
	if err != nil {
		return nil, fmt.Errorf("look up stream %s: %w", schema.LastingStream, err)
	}
	streams = make(map[string]bool)
	for subject := range info.State.Subjects {
		streams[strings.TrimPrefix(subject, schema.LastingSubject(""))] = true
	}
	return streams, nil
}

// keepLasting copies the facts that never expire among the messages up to a sequence, and returns their
// number.
func (p Pass) keepLasting(ctx context.Context, s *streamio.Source, through uint64) (kept int, err error) {
	keep := func(m *streamio.Message) error {
		if m.Position.StreamSeq > through {
			return errEnough
		}
		kept++
		return p.keep(ctx, s.Info.Config.Name, m)
	}
	first := max(s.Info.State.FirstSeq, 1)
	if s.Rules.At(first) < ledger.SubjectRules { // the subject of a message need not tell its type
		err = s.Each(ctx, first, through, func(messages []*streamio.Message) error {
			for _, m := range messages {
				if e := decode.One(m); e.Envelope != nil && slices.Contains(schema.LastingTypes(), schema.Type(e.Envelope.Type)) {
					if err := keep(m); err != nil {
						return err
					}
				}
			}
			return nil
		})
		return kept, enough(err)
	}
	for _, t := range schema.LastingTypes() {
		object, verb := t.ObjectVerb()
		err := streamio.Each(ctx, s.Stream, streamio.Selection{Subject: "ctx.v1.*.*.*." + object + "." + verb}, func(msg jetstream.Msg, meta *jetstream.MsgMetadata) error {
			return keep(&streamio.Message{
				Subject: msg.Subject(), Header: msg.Headers(), Data: msg.Data(),
				Position: ledger.Position{Incarnation: s.Incarnation, StreamSeq: meta.Sequence.Stream, RecordedAt: meta.Timestamp.UTC()},
			})
		})
		if err := enough(err); err != nil {
			return kept, err
		}
	}
	return kept, nil
}

// errEnough stops a read early.
var errEnough = errors.New("the last message was read")

func enough(err error) error {
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// keep copies a message. The message id removes repeats. A message without room for its place cannot be
// copied: the tables have the only copy.
func (p Pass) keep(ctx context.Context, stream string, m *streamio.Message) error {
	header, orders := streamio.SplitOrders(m.Header)
	at := place{m.Position.Incarnation, m.Position.StreamSeq, m.Position.RecordedAt, m.Subject, orders}
	text, err := json.Marshal(at, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode the place of a message: %w", err)
	}
	header[placeHeader] = []string{string(text)}
	msg := &nats.Msg{Subject: schema.LastingSubject(stream), Header: header, Data: m.Data}
	id := fmt.Sprintf("%s:%d", at.Incarnation, at.Sequence)
	switch _, err := p.JetStream.PublishMsg(ctx, msg, jetstream.WithMsgID(id)); {
	case errors.Is(err, nats.ErrMaxPayload):
		p.Log.Error("a fact that never expires is too large to be copied, so only the tables keep it", "event", "lasting_too_large", "sequence", at.Sequence, "bytes", len(m.Data))
	case err != nil:
		return fmt.Errorf("copy a fact to %s: %w", schema.LastingStream, err)
	}
	return nil
}
