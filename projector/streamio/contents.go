package streamio

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/schema"
)

// ErrNotFound means that the server did not find a message that it has. It says "not
// found" whatever kept its store from reading one, so that alone proves no deletion: the
// list of what was deleted does, which is kept apart from the messages.
var ErrNotFound = errors.New("the server does not find a message that was not deleted")

// contents are the sequences that a stream has.
type contents struct {
	state   jetstream.StreamState
	deleted map[uint64]bool
}

// readContents asks for the whole list of deleted messages, which may be long: ask where
// a message was not found, and once for many.
func readContents(ctx context.Context, stream jetstream.Stream) (contents, error) {
	info, err := stream.Info(ctx, jetstream.WithDeletedDetails(true))
	if err != nil {
		return contents{}, fmt.Errorf("look at the stream: %w", err)
	}
	c := contents{info.State, make(map[uint64]bool, len(info.State.Deleted))}
	for _, sequence := range c.state.Deleted {
		c.deleted[sequence] = true
	}
	return c, nil
}

func (c contents) has(sequence uint64) bool {
	return c.state.Msgs > 0 && c.state.FirstSeq <= sequence && sequence <= c.state.LastSeq && !c.deleted[sequence]
}

// hasAfter reports whether there is a message after a sequence.
func (c contents) hasAfter(sequence uint64) bool {
	for at := c.state.LastSeq; at > sequence && at >= c.state.FirstSeq; at-- {
		if c.has(at) {
			return true
		}
	}
	return false
}

// NextMessage returns the first message after a sequence, and nil where all the rest is
// deleted.
func NextMessage(ctx context.Context, stream jetstream.Stream, sequence uint64) (*jetstream.RawStreamMsg, error) {
	msg, err := stream.GetMsg(ctx, sequence+1, jetstream.WithGetMsgSubject(schema.AllSubjects))
	if err == nil {
		return msg, nil
	}
	if !errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, fmt.Errorf("look at the stream: %w", err)
	}
	c, err := readContents(ctx, stream)
	if err == nil && c.hasAfter(sequence) {
		err = fmt.Errorf("look for a message after %d of %s: %w", sequence, stream.CachedInfo().Config.Name, ErrNotFound)
	}
	return nil, err
}

// ProveDeleted makes sure that a stream has none of the messages.
func ProveDeleted(ctx context.Context, stream jetstream.Stream, sequences []uint64) error {
	if len(sequences) == 0 {
		return nil
	}
	c, err := readContents(ctx, stream)
	if err != nil {
		return err
	}
	for _, sequence := range sequences {
		if c.has(sequence) {
			return fmt.Errorf("delete message %d of %s: %w", sequence, stream.CachedInfo().Config.Name, ErrNotFound)
		}
	}
	return nil
}
