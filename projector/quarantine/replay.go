package quarantine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// ReplayHeader names, on a message of the stream, the quarantined message that it replays:
// <incarnation>:<sequence>. The table replays links the two, also if the replay is quarantined.
const ReplayHeader = "Ctxledger-Replay-Of"

var (
	// ErrMasked means that a quarantined message cannot be replayed unchanged, because its
	// bytes are masked. Send the event under a new id and without the value.
	ErrMasked = errors.New("the message's bytes are masked, because a redaction withholds a value in them: replay a fixed event with a new id and without the value")
	// ErrEmpty means that a quarantined message has neither headers nor bytes.
	ErrEmpty = errors.New("the message has no bytes: it was empty, or they have left by the retention of content: replay the event from its producer, with a file")
	// ErrNotReplayable means that the message has no subject of the stream.
	ErrNotReplayable = errors.New("the message's subject does not belong to the stream of events: replay a fixed event")
	// ErrOtherTenant means that a fixed event and the replaced message have different tenants. A
	// replay never changes the tenant.
	ErrOtherTenant = errors.New("a replay keeps the tenant of the quarantined message")
)

// Replay publishes a quarantined message again, unchanged, and returns its sequence in the
// stream. The event's identity is unchanged, so it counts once. A second replay within the
// duplicate window of the stream returns the same sequence. A later one is a duplicate. The
// error is [ErrMasked], [ErrEmpty], [ErrNotReplayable] or one of the stream.
func Replay(ctx context.Context, js jetstream.JetStream, r ledger.Refusal) (uint64, error) {
	if Empty(r) {
		return 0, ErrEmpty
	}
	if Masked(r) {
		return 0, ErrMasked
	}
	if !strings.HasPrefix(r.Subject, strings.TrimSuffix(schema.AllSubjects, ">")) {
		return 0, ErrNotReplayable
	}
	m := schema.Message{Subject: r.Subject, Header: make(map[string][]string, len(r.Header)), Data: r.Data}
	id := r.Incarnation.String()
	for name, values := range r.Header {
		switch {
		case strings.EqualFold(name, schema.MsgIDHeader) && len(values) > 0:
			id = values[0]
		case !streamio.IsOrder(name):
			m.Header[name] = values
		}
	}
	return publishReplay(ctx, js, m, id, sha256.Sum256(m.Data), r)
}

// Empty reports whether a quarantined message has neither headers nor bytes. The retention of content
// removes both.
func Empty(r ledger.Refusal) bool { return len(r.Data) == 0 && len(r.Header) == 0 }

// ReplayFixed publishes an event in the place of a quarantined message and returns its sequence
// in the stream. The caller must have validated the event. An event without a tenant gets the
// tenant of the message. A repeat is as harmless as with [Replay]. The error is
// [ErrOtherTenant] or one of the stream.
func ReplayFixed(ctx context.Context, js jetstream.JetStream, r ledger.Refusal, e *schema.Event) (uint64, error) {
	if r.Tenant != "" { // a message without a subject's tenant belongs to no tenant
		if e.Tenant == "" && r.Tenant != schema.DefaultTenant {
			e.Tenant = r.Tenant
		}
		if schema.TenantOf(e.Tenant) != r.Tenant {
			return 0, fmt.Errorf("%w: the event has the tenant %q, the message has %q: set the event's tenant to the message's", ErrOtherTenant, schema.TenantOf(e.Tenant), r.Tenant)
		}
	}
	return publishReplay(ctx, js, e.Binary(), e.MessageID(), e.Digest(), r)
}

// publishReplay sends a replay. The message id gets the quarantined sequence, because the
// duplicate window would drop the old id. The id also gets a digest of the content, so that a
// corrected second replay is another message.
func publishReplay(ctx context.Context, js jetstream.JetStream, m schema.Message, id string, digest [32]byte, of ledger.Refusal) (uint64, error) {
	msg := &nats.Msg{Subject: m.Subject, Header: nats.Header(m.Header), Data: m.Data}
	delete(msg.Header, schema.MsgIDHeader)
	msg.Header[ReplayHeader] = []string{fmt.Sprintf("%s:%d", of.Incarnation, of.StreamSeq)}
	id = fmt.Sprintf("%s:%d:%s", id, of.StreamSeq, hex.EncodeToString(digest[:4]))
	ack, err := streamio.PublishOnce(ctx, js, msg, id)
	if err != nil {
		return 0, fmt.Errorf("replay sequence %d: %w", of.StreamSeq, err)
	}
	return ack.Sequence, nil
}

// ReplayOf returns the place of the quarantined message that m replays.
func ReplayOf(m *streamio.Message) (of ledger.Position, ok bool) {
	values := m.Header[ReplayHeader]
	if len(values) != 1 {
		return of, false
	}
	incarnation, sequence, _ := strings.Cut(values[0], ":")
	id, err := uuid.Parse(incarnation)
	if err != nil {
		return of, false
	}
	of.Incarnation = id
	of.StreamSeq, err = strconv.ParseUint(sequence, 10, 64)
	return of, err == nil
}
