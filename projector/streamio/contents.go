package streamio

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/schema"
)

// ErrNotFound means that the server reports an existing message as not found. The server answers so
// after every failure to read a message, so the answer does not prove a deletion. The list of
// deleted messages is kept separately and proves deletions.
var ErrNotFound = errors.New("the server did not find a message that was never deleted: check the server's storage")

// contents are the sequences in a stream.
type contents struct {
	state   jetstream.StreamState
	deleted map[uint64]bool
}

// readContents reads the whole list of deleted messages, which may be long. Call it only after
// a message was not found, and once for many messages.
func readContents(ctx context.Context, stream jetstream.Stream) (contents, error) {
	info, err := stream.Info(ctx, jetstream.WithDeletedDetails(true))
	if err != nil {
		return contents{}, fmt.Errorf("read the stream's state: %w", err)
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

// NextMessage returns the first message after a sequence, or nil if all later messages are
// deleted.
func NextMessage(ctx context.Context, stream jetstream.Stream, sequence uint64) (*jetstream.RawStreamMsg, error) {
	msg, err := stream.GetMsg(ctx, sequence+1, jetstream.WithGetMsgSubject(schema.AllSubjects))
	if err == nil {
		return msg, nil
	}
	if !errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, fmt.Errorf("read the stream's next message: %w", err)
	}
	c, err := readContents(ctx, stream)
	if err == nil && c.hasAfter(sequence) {
		err = fmt.Errorf("look for a message after %d of %s: %w", sequence, stream.CachedInfo().Config.Name, ErrNotFound)
	}
	return nil, err
}

// ProveDeleted returns an error if the stream has one of the messages.
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

// Overwrite deletes a message, and overwrites it in the server's file. Another process may delete it at
// the same time.
func Overwrite(ctx context.Context, stream jetstream.Stream, sequence uint64) error {
	err := stream.SecureDeleteMsg(ctx, sequence)
	if err == nil || ProveDeleted(ctx, stream, []uint64{sequence}) == nil {
		return nil
	}
	return fmt.Errorf("delete message %d of %s: %w", sequence, stream.CachedInfo().Config.Name, err)
}
