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

// A Source is an open stream of events, with the rules by which its messages are read, and its
// absent messages.
type Source struct {
	Stream      jetstream.Stream
	Incarnation uuid.UUID
	Info        *jetstream.StreamInfo // from the time of the opening, or newer
	Rules       rules
	Absent      []*Message // messages that are gone from the stream, in order
	// Later returns more messages like these, which were deleted since the opening. Nil means that none
	// are.
	Later func(ctx context.Context) ([]*Message, error)
}

// Gone returns the messages that were deleted from a stream for a withheld value since a time, in order.
type Gone func(ctx context.Context, since time.Time) ([]*Message, error)

// OpenSource opens a stream. Absent is empty. The errors include the errors of rulesOf.
func OpenSource(ctx context.Context, js jetstream.JetStream, name string, live CommittedRules, log *slog.Logger) (Source, error) {
	all, err := OpenSources(ctx, js, []string{name}, live, log)
	if err != nil {
		return Source{}, err
	}
	return all[0], nil
}

// OpenSources is OpenSource for several streams. It reads the rules of all commits at a time.
func OpenSources(ctx context.Context, js jetstream.JetStream, names []string, live CommittedRules, log *slog.Logger) ([]Source, error) {
	all := make([]Source, len(names))
	incarnations := make([]uuid.UUID, len(names))
	for i, name := range names {
		stream, incarnation, err := OpenStream(ctx, js, name)
		if err != nil {
			return nil, err
		}
		all[i], incarnations[i] = Source{Stream: stream, Incarnation: incarnation, Info: stream.CachedInfo()}, incarnation
	}
	recorded, err := live.RecordedRules(ctx, incarnations)
	if err != nil {
		return nil, err
	}
	for i := range all {
		s := &all[i]
		if s.Rules, err = rulesOf(s.Info.Config, recorded[s.Incarnation], log); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// StillThere returns an error if the stream is not the incarnation that was opened. Another
// stream may have taken its name since.
func (s *Source) StillThere(ctx context.Context) (*jetstream.StreamInfo, error) {
	info, err := s.Stream.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the stream's state: %w", err)
	}
	if info.Config.Metadata[IncarnationKey] != s.Incarnation.String() {
		return nil, errReplaced
	}
	return info, nil
}

// First returns the first sequence of the stream, including erased messages before it. The
// argument is the first sequence that the server reports.
func (s *Source) First(sequence uint64) uint64 {
	for _, m := range slices.Backward(s.Absent) {
		if m.Erased != nil && m.Position.StreamSeq == sequence-1 {
			sequence--
		}
	}
	return sequence
}

// errEnough stops a read early.
var errEnough = errors.New("the limit of the read was reached")

// ReadRange reads the messages of the stream from first to last. ReadRange stops early after
// more than limit messages.
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

// Each calls visit for the messages of the stream from first to last, in parts. Each stops at the
// first error of visit.
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
