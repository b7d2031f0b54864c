package projector

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/quarantine"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// reintroduced returns the places of the messages that held a withheld value.
func reintroduced(refused []decode.Event) []ledger.Position {
	var list []ledger.Position
	for _, e := range refused {
		if e.Reintroduced {
			list = append(list, e.Position)
		}
	}
	return list
}

// deleteWithheld deletes messages from the stream, and overwrites them there. deleteWithheld
// runs after the commit, since a restart reads the journalled range until then. The next start
// deletes the messages that remain; see deleteLeft.
func (s *shared) deleteWithheld(ctx context.Context, places []ledger.Position) error {
	ctx = context.WithoutCancel(ctx)
	if s.rebuild != nil && s.rebuild.harmless {
		return nil
	}
	var unfound []uint64
	for _, at := range places {
		msg, err := s.source.Stream.GetMsg(ctx, at.StreamSeq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			unfound = append(unfound, at.StreamSeq)
			continue
		}
		if err != nil {
			return fmt.Errorf("look up message %d: %w", at.StreamSeq, err)
		}
		if !msg.Time.Equal(at.RecordedAt) {
			continue // another message: the stream was restored
		}
		err = s.source.Stream.SecureDeleteMsg(ctx, at.StreamSeq)
		var refused *jetstream.APIError
		switch {
		case err == nil:
			s.meter().Deletion()
			s.config.Log.Warn("a withheld value came back: its event is masked in quarantine, and its message is deleted", "event", "value_reintroduced", "sequence", at.StreamSeq)
		case errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) || errors.As(err, &refused):
			s.config.Log.Error("the stream refuses to delete a message with a withheld value: delete the message by hand", "event", "value_not_deleted", "sequence", at.StreamSeq, "error", err)
		default:
			return fmt.Errorf("delete message %d: %w", at.StreamSeq, err)
		}
	}
	return streamio.ProveDeleted(ctx, s.source.Stream, unfound)
}

// quarantine copies quarantined messages to the quarantine stream, and tells their tenants. A
// rebuild does both only for newly recognised messages, because the other copies exist. Notices
// that cannot be published hold nothing back: the table quarantine has every message.
func (s *shared) quarantine(ctx context.Context, refused []decode.Event) error {
	if s.rebuild != nil {
		refused = slices.DeleteFunc(slices.Clone(refused), func(e decode.Event) bool { return !s.rebuild.finds(e) })
	}
	if err := quarantine.Publish(ctx, s.config.JetStream, refused); err != nil {
		return err
	}
	err := quarantine.Notify(ctx, s.config.JetStream, s.source.Info.Config.Name, refused)
	if ctx.Err() != nil {
		return err
	}
	if err != nil {
		s.config.Log.Warn("tenants were not told which of their messages were quarantined", "event", "notices_lost", "error", err)
	}
	return nil
}

// deleteLeft deletes messages with withheld values that the writer of the last committed range
// did not delete. Earlier ranges need no deletion, because the deletion precedes the next
// commit.
func (rc *recovery) deleteLeft(ctx context.Context, last ledger.Range) error {
	left, err := rc.reintroducedIn(ctx, last)
	if err != nil {
		return err
	}
	return rc.persist(ctx, "delete reintroduced values", func() error { return rc.deleteWithheld(ctx, left) })
}

func (s *shared) reintroducedIn(ctx context.Context, r ledger.Range) (list []ledger.Position, err error) {
	err = s.persist(ctx, "read quarantine", func() (err error) {
		list, err = s.store.Reintroduced(ctx, r)
		return err
	})
	return list, err
}
