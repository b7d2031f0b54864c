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

// GoneFrom returns the messages that were deleted from a stream for a withheld value. It reads their
// copies in the quarantine stream.
func GoneFrom(js jetstream.JetStream, incarnation uuid.UUID) streamio.Gone {
	return func(ctx context.Context, since time.Time) (gone []*streamio.Message, err error) {
		err = quarantine.Read(ctx, js, string(schema.CodeReintroduced), since, func(_ uint64, r ledger.Refusal, _ bool) error {
			if r.Incarnation == incarnation {
				gone = append(gone, &streamio.Message{Subject: r.Subject, Header: r.Header, Data: r.Data, Position: r.Position(), Kept: &r})
			}
			return nil
		})
		slices.SortStableFunc(gone, streamio.BySequence)
		// After a crash before the commit, a message may have two copies.
		return slices.CompactFunc(gone, func(a, b *streamio.Message) bool { return a.Position.StreamSeq == b.Position.StreamSeq }), err
	}
}
