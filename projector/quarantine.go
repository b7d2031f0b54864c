package projector

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// quarantine copies refused messages to the quarantine stream, from where a
// fixed event can be replayed. The message id makes a repeat harmless. What
// does not fit there is in the table all the same; its copy names only the
// place.
func (p *Projector) quarantine(ctx context.Context, refused []parsed) error {
	for _, m := range refused {
		code := string(m.violations[0].Code)
		place := nats.Header{
			"Ctxledger-Code": {code}, "Ctxledger-Subject": {m.subject}, "Ctxledger-Sequence": {fmt.Sprint(m.position.StreamSeq)},
		}
		msg := &nats.Msg{Subject: "ctx.quarantine." + code, Header: copiedHeader(m.header), Data: m.data}
		maps.Copy(msg.Header, place)
		id := jetstream.WithMsgID(fmt.Sprintf("%s:%d", p.incarnation, m.position.StreamSeq))
		_, err := p.config.JetStream.PublishMsg(ctx, msg, id)
		if errors.Is(err, nats.ErrMaxPayload) {
			msg.Header, msg.Data = place, nil
			_, err = p.config.JetStream.PublishMsg(ctx, msg, id)
		}
		if err != nil {
			return fmt.Errorf("publish to %s: %w", QuarantineStreamName, err)
		}
	}
	return nil
}

// copiedHeader leaves out what a server would take for its orders: message ids,
// expected sequences, batches, rollups, lifetimes.
func copiedHeader(header map[string][]string) nats.Header {
	copied := make(nats.Header, len(header)+4)
	for name, values := range header {
		if len(name) < 5 || !strings.EqualFold(name[:5], "Nats-") {
			copied[name] = values
		}
	}
	return copied
}
