package rebuild

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/quarantine"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// readGone returns the messages that were deleted from the streams for a withheld value, by
// stream. readGone reads their copies in the quarantine stream.
func readGone(ctx context.Context, js jetstream.JetStream) (map[uuid.UUID][]*streamio.Message, error) {
	gone := make(map[uuid.UUID][]*streamio.Message)
	err := quarantine.Read(ctx, js, string(schema.CodeReintroduced), time.Time{}, func(_ uint64, r ledger.Refusal, _ bool) error {
		m := &streamio.Message{Subject: r.Subject, Header: r.Header, Data: r.Data, Position: r.Position(), Kept: &r}
		gone[r.Incarnation] = append(gone[r.Incarnation], m)
		return nil
	})
	for id, list := range gone {
		slices.SortStableFunc(list, func(a, b *streamio.Message) int { return int(a.Position.StreamSeq) - int(b.Position.StreamSeq) })
		// After a crash before the commit, a message may have two copies.
		gone[id] = slices.CompactFunc(list, func(a, b *streamio.Message) bool { return a.Position.StreamSeq == b.Position.StreamSeq })
	}
	return gone, err
}
