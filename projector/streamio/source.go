package streamio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
)

// A Source is a stream of events as it was opened: by which rules its messages are read,
// and which messages are absent from it.
type Source struct {
	Stream      jetstream.Stream
	Incarnation uuid.UUID
	Info        *jetstream.StreamInfo // of when it was opened
	Rules       rules
	Absent      []*Message // gone from the stream, and what is known of them, in order
}

// OpenSource opens a stream. Absent is empty. The rules are those of readRules.
func OpenSource(ctx context.Context, js jetstream.JetStream, name string, live CommittedRules, log *slog.Logger) (Source, error) {
	stream, incarnation, err := OpenStream(ctx, js, name)
	if err != nil {
		return Source{}, err
	}
	s := Source{Stream: stream, Incarnation: incarnation, Info: stream.CachedInfo()}
	s.Rules, err = readRules(ctx, s.Info.Config, incarnation, live, log)
	return s, err
}

// StillThere makes sure that the stream is the incarnation that was opened: one of the
// same name may have taken its place meanwhile.
func (s *Source) StillThere(ctx context.Context) (*jetstream.StreamInfo, error) {
	info, err := s.Stream.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at the stream: %w", err)
	}
	if info.Config.Metadata[IncarnationKey] != s.Incarnation.String() {
		return nil, errReplaced
	}
	return info, nil
}

// First returns the first sequence that the stream has, or had before an erasure
// of its first messages, when sequence is what its server says.
func (s *Source) First(sequence uint64) uint64 {
	for _, m := range slices.Backward(s.Absent) {
		if m.Erased != nil && m.Position.StreamSeq == sequence-1 {
			sequence--
		}
	}
	return sequence
}

// errEnough ends a reading.
var errEnough = errors.New("enough was read")

// ReadRange reads the messages that the stream holds from first to last, and
// stops early once it has seen more than limit.
func (s *Source) ReadRange(ctx context.Context, first, last, limit uint64) (all []*Message, err error) {
	err = s.Each(ctx, first, last, func(messages []*Message) error {
		if all = append(all, messages...); uint64(len(all)) > limit {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return all, err
}

// Each calls visit for the messages that the stream holds from first to last, some at a
// time, and stops at its first error.
func (s *Source) Each(ctx context.Context, first, last uint64, visit func([]*Message) error) error {
	in, err := s.NewReader(ctx, first)
	if err != nil {
		return err
	}
	defer in.Close()
	for {
		if level, err := in.Level(ctx); err != nil || level {
			return err
		}
		messages, err := in.ReadBatch(ctx, Limits{Messages: prefetch, Bytes: 1 << 62, Linger: time.Second, Last: last}, time.Second)
		if err != nil {
			return err
		}
		if len(messages) == 0 {
			if err := in.Check(ctx); err != nil {
				return err
			}
			continue
		}
		beyond, _ := slices.BinarySearchFunc(messages, last+1, func(m *Message, seq uint64) int { return cmp.Compare(m.Position.StreamSeq, seq) })
		if beyond > 0 {
			if err := visit(messages[:beyond]); err != nil {
				return err
			}
		}
		if beyond < len(messages) || messages[beyond-1].Position.StreamSeq == last {
			return nil
		}
	}
}
