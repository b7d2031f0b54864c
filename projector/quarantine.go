package projector

import (
	"context"
	"fmt"
	"maps"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/schema"
)

// quarantine copies refused messages to the quarantine stream, from where a
// fixed event can be replayed. The message id makes a repeat harmless.
func (p *Projector) quarantine(ctx context.Context, refused []parsed) error {
	for _, m := range refused {
		header := nats.Header(maps.Clone(m.header))
		if header == nil {
			header = nats.Header{}
		}
		header.Del(schema.MsgIDHeader)
		header.Set("Ctxledger-Code", string(m.violations[0].Code))
		header.Set("Ctxledger-Subject", m.subject)
		header.Set("Ctxledger-Sequence", fmt.Sprint(m.position.StreamSeq))
		for _, name := range []string{"Nats-Batch-Id", "Nats-Batch-Sequence", "Nats-Batch-Commit", "Nats-Expected-Last-Sequence"} {
			header.Del(name)
		}
		msg := &nats.Msg{Subject: "ctx.quarantine." + string(m.violations[0].Code), Header: header, Data: m.data}
		id := fmt.Sprintf("%s:%d", p.incarnation, m.position.StreamSeq)
		if _, err := p.config.JetStream.PublishMsg(ctx, msg, jetstream.WithMsgID(id)); err != nil {
			return fmt.Errorf("publish to %s: %w", QuarantineStreamName, err)
		}
	}
	return nil
}
