package quarantine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/schema"
)

// unknownSource stands for the source of an event whose envelope could not be read.
const unknownSource = "unknown"

// Notify tells the tenants which of their messages were quarantined. A message outside the
// subjects of a tenant has no notice. The message id removes repeats. An installation without the
// stream of notices has none, until `ctxledger migrate` creates the stream.
func Notify(ctx context.Context, js jetstream.JetStream, stream string, messages []decode.Event) error {
	for i := range messages {
		e := &messages[i]
		tenant := e.SubjectTenant()
		if tenant == "" || e.Erased != nil || e.Kept != nil {
			continue
		}
		notice := noticeOf(e, stream)
		data, err := json.Marshal(notice, json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("encode a notice: %w", err)
		}
		source := notice.Source
		if source == "" {
			source = unknownSource
		}
		msg := &nats.Msg{Subject: schema.NoticeSubject(tenant, source), Data: data}
		_, err = js.PublishMsg(ctx, msg, jetstream.WithMsgID(fmt.Sprintf("%s:%d", e.Position.Incarnation, e.Position.StreamSeq)), jetstream.WithRetryAttempts(0))
		switch {
		case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders):
			return nil
		case err != nil:
			return fmt.Errorf("publish to %s: %w", schema.NoticeStream, err)
		}
	}
	return nil
}

func noticeOf(e *decode.Event, stream string) schema.Notice {
	r := e.Refusal()
	n := schema.Notice{
		Outcome: schema.OutcomeQuarantined, Stream: stream, Sequence: r.StreamSeq, RecordedAt: r.RecordedAt.UTC(),
		Source: text(r.Source), ID: text(r.EventID), Code: schema.Code(r.Code), Pointer: text(r.Pointer),
	}
	if len(e.Violations) > 0 {
		n.Fix = text(e.Violations[0].Fix)
	}
	if e.Envelope != nil {
		n.Type, n.SessionID = text(e.Envelope.Type), text(e.Envelope.SessionID)
	}
	return n
}

// text returns a text as JSON needs it.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
