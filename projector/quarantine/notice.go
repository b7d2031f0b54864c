package quarantine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/schema"
)

// unknownSource stands for the source of an event whose envelope could not be read.
const unknownSource = "unknown"

// patience is how long a notice may wait for its acknowledgment. A server whose configuration does
// not allow notices never answers.
const patience = time.Second

// Notify tells the tenants which of their messages were quarantined. A message outside the
// subjects of a tenant has no notice. The message id removes repeats. An installation without the
// stream of notices has none, until `ctxledger migrate` creates the stream. The first error ends the
// call.
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
		id := fmt.Sprintf("%s:%d", e.Position.Incarnation, e.Position.StreamSeq)
		attempt, cancel := context.WithTimeout(ctx, patience)
		_, err = js.PublishMsg(attempt, msg, jetstream.WithMsgID(id), jetstream.WithRetryAttempts(0))
		cancel()
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
