package quarantine

import (
	"context"
	"errors"
	"fmt"
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

// A copy in the quarantine stream has the bytes and headers of the quarantined message, on the
// subject ctx.quarantine.<code>. One more header holds its place and the reason for its
// refusal.
const (
	quarantineSubject = "ctx.quarantine."
	refusalHeader     = "Ctxledger-Refusal"
)

// copied is the value of refusalHeader, as JSON.
type copied struct {
	ledger.Refusal
	Orders map[string][]string `json:"orders,omitempty"` // see [streamio.SplitOrders]
	// Whole is false for a copy that was too large: it has only the place.
	Whole bool `json:"whole"`
}

// Publish copies quarantined messages to the quarantine stream, from where they can be
// replayed. The message id removes repeats. A copy that is too large names only the place. The
// table still has the message.
func Publish(ctx context.Context, js jetstream.JetStream, messages []decode.Event) error {
	for _, e := range messages {
		r := e.Refusal()
		header, orders := streamio.SplitOrders(e.Header)
		msg := &nats.Msg{Subject: quarantineSubject + r.Code, Header: header, Data: e.Data}
		if err := setRefusal(msg, copied{r, orders, true}); err != nil {
			return err
		}
		id := jetstream.WithMsgID(fmt.Sprintf("%s:%d", e.Position.Incarnation, e.Position.StreamSeq))
		_, err := js.PublishMsg(ctx, msg, id)
		if errors.Is(err, nats.ErrMaxPayload) {
			msg.Header, msg.Data = nats.Header{}, nil
			r.Reason = clipped(r.Reason)
			if err := setRefusal(msg, copied{r, nil, false}); err != nil {
				return err
			}
			_, err = js.PublishMsg(ctx, msg, id)
		}
		if err != nil {
			return fmt.Errorf("publish to %s: %w", schema.QuarantineStream, err)
		}
	}
	return nil
}

// clipped shortens a reason for a copy that is too large.
func clipped(reason string) string {
	const most = 1000
	if len(reason) <= most {
		return reason
	}
	return strings.ToValidUTF8(reason[:most], "") + "…"
}

func setRefusal(msg *nats.Msg, c copied) error {
	text, err := json.Marshal(c, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode the refusal of a message: %w", err)
	}
	msg.Header[refusalHeader] = []string{string(text)}
	return nil
}

// Read calls visit for the copies in the quarantine stream, in order, with their sequences
// there. Read selects copies with this code, or all if code is empty, that were made at or after
// since. Read stops at the first error of visit. Copies that were too large have no bytes and no
// headers.
func Read(ctx context.Context, js jetstream.JetStream, code string, since time.Time, visit func(uint64, ledger.Refusal, bool) error) error {
	stream, err := js.Stream(ctx, schema.QuarantineStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up stream %s: %w", schema.QuarantineStream, err)
	}
	subject := quarantineSubject + ">"
	if code != "" {
		subject = quarantineSubject + code
	}
	err = streamio.Each(ctx, stream, streamio.Selection{Subject: subject, Since: since}, func(msg jetstream.Msg, meta *jetstream.MsgMetadata) error {
		r, whole, ok := ReadCopy(msg.Headers(), msg.Data())
		if !ok {
			return nil // a message of another origin
		}
		return visit(meta.Sequence.Stream, r, whole)
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", schema.QuarantineStream, err)
	}
	return nil
}

// ReadCopy decodes a copy.
func ReadCopy(header map[string][]string, data []byte) (r ledger.Refusal, whole, ok bool) {
	values := header[refusalHeader]
	if len(values) != 1 {
		return r, false, false
	}
	var c copied
	if err := json.Unmarshal([]byte(values[0]), &c); err != nil {
		return r, false, false
	}
	c.Header, c.Data = streamio.JoinOrders(header, refusalHeader, c.Orders), data
	return c.Refusal, c.Whole, true
}

// FindCopies gives quarantined messages the exact bytes and headers of their copies in the
// quarantine stream. A message without a copy stays as in the table, which differs only in
// headers that are not UTF-8.
func FindCopies(ctx context.Context, js jetstream.JetStream, list []ledger.Refusal) error {
	type place struct {
		incarnation uuid.UUID
		sequence    uint64
	}
	at := make(map[place]*ledger.Refusal, len(list))
	var code string
	var since time.Time // the copy of a message is newer than the message
	for i, r := range list {
		at[place{r.Incarnation, r.StreamSeq}] = &list[i]
		if i == 0 {
			code, since = r.Code, r.RecordedAt
		}
		if r.Code != code {
			code = ""
		}
		if r.RecordedAt.Before(since) {
			since = r.RecordedAt
		}
	}
	if len(list) == 0 {
		return nil
	}
	err := Read(ctx, js, code, since, func(_ uint64, c ledger.Refusal, whole bool) error {
		key := place{c.Incarnation, c.StreamSeq}
		if r := at[key]; r != nil && whole {
			r.Header, r.Data = c.Header, c.Data
			if delete(at, key); len(at) == 0 {
				return errAllFound
			}
		}
		return nil
	})
	if errors.Is(err, errAllFound) {
		return nil
	}
	return err
}

// errAllFound stops a search early.
var errAllFound = errors.New("all are found")

// Masked reports whether the bytes of a quarantined message are masked, because a redaction
// withholds a value in them.
func Masked(r ledger.Refusal) bool { return r.Code == string(schema.CodeReintroduced) }
