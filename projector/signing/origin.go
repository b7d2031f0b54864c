package signing

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/ledger/translog"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// errCatchingUp means that the log has fewer leaves than the newest head, and that more are to come.
var errCatchingUp = errors.New("the log is being projected again")

// originOf returns the origin of the heads of a log with this tree. A log keeps its origin while it
// contains the log of the newest signed head. After the loss of leaves, such as of tables whose
// messages have left the stream, it cannot: then a new log begins, whose origin names that head. No
// two heads of one origin ever contradict each other. Errors: errCatchingUp, or an error of a server.
func (h *Signer) originOf(ctx context.Context, tree proof.Checkpoint, ring proof.Ring) (string, error) {
	own := proof.Origin(h.Stream, h.Incarnation.String())
	newest, found, err := h.published(ctx, ring)
	if err != nil || !found {
		return own, err
	}
	if tree.Size < newest.Size {
		level, err := streamio.ReadLevel(ctx, h.JetStream, h.Ledger, h.Stream)
		if err != nil {
			return "", err
		}
		if level.Behind() > 0 {
			return "", errCatchingUp
		}
	}
	tree.Origin = newest.Origin
	_, err = proof.Grown(newest, tree, translog.Of(h.Ledger).LogTiles(ctx, h.Incarnation))
	if errors.Is(err, proof.ErrFork) {
		origin := proof.OriginAfter(h.Stream, h.Incarnation.String(), newest)
		h.Log.Warn("the log lacks leaves of its newest signed head, so a new log begins with another origin: give the witnesses its first head", "event", "log_begins_again", "origin", origin, "lost", newest.Size)
		return origin, nil
	}
	return newest.Origin, err
}

// published returns the newest signed head of this incarnation in the stream of heads.
func (h *Signer) published(ctx context.Context, ring proof.Ring) (newest proof.Checkpoint, found bool, err error) {
	stream, err := h.JetStream.Stream(ctx, schema.CheckpointStream)
	if err != nil {
		return newest, false, fmt.Errorf("look up stream %s: %w", schema.CheckpointStream, err)
	}
	last, err := stream.GetLastMsgForSubject(ctx, headSubject+h.Stream)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return newest, false, nil
	}
	if err != nil {
		return newest, false, fmt.Errorf("read %s: %w", schema.CheckpointStream, err)
	}
	opened, err := proof.Open(last.Data, ring.Verifiers())
	if err != nil { // of another key, or no head: not this ledger's word
		return newest, false, nil
	}
	_, incarnation, ok := proof.ParseOrigin(opened.Origin)
	return opened.Checkpoint, ok && incarnation == h.Incarnation.String(), nil
}
