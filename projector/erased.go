package projector

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/schema"
)

// An erasure deletes messages from the stream and leaves a fact that says where
// they stood and what their leaves in the log are. Who reads the stream again, from
// the start or a part of it, takes the leaves from there, so that the log comes out
// the same. The fact has no say where the message still is: the message counts.

// erasureSubject matches every fact of an erasure.
var erasureSubject = func() string {
	object, verb := schema.TypeErasureApplied.ObjectVerb()
	return "ctx.v1.*.*.*." + object + "." + verb
}()

// readErased reads what was erased from this stream, as the facts in all streams of
// events have it.
func (p *Projector) readErased(ctx context.Context) error {
	erased := make(map[uint64]*message)
	partitions, err := schema.ParsePartitions(p.info.Config.Metadata[schema.PartitionsKey])
	if err != nil {
		return fmt.Errorf("stream %s: %w", p.config.Stream, err)
	}
	for _, s := range partitions.EventStreams() {
		stream := p.stream
		if s.Name != p.config.Stream {
			if stream, err = p.config.JetStream.Stream(ctx, s.Name); err != nil {
				return fmt.Errorf("look up stream %s: %w", s.Name, err)
			}
		}
		err := readErasures(ctx, stream, func(fact *schema.ErasureApplied, at time.Time) {
			for _, r := range fact.Records {
				leaf, err := hex.DecodeString(r.Leaf)
				if r.Stream != p.config.Stream || r.Sequence < 1 || uint64(r.Sequence) > p.info.State.LastSeq || err != nil || len(leaf) != tlog.HashSize && r.Leaf != "" {
					continue
				}
				var hash tlog.Hash
				copy(hash[:], leaf)
				erased[uint64(r.Sequence)] = &message{
					position: ledger.Position{Incarnation: p.incarnation, StreamSeq: uint64(r.Sequence), RecordedAt: at}, erased: &hash,
				}
			}
		})
		if err != nil {
			return err
		}
	}
	p.absent = nil
	if p.beside != nil {
		p.absent = slices.Clone(p.beside.gone)
	}
	for _, m := range erased {
		p.absent = append(p.absent, m)
	}
	slices.SortStableFunc(p.absent, bySequence)
	return nil
}

func bySequence(a, b *message) int { return cmp.Compare(a.position.StreamSeq, b.position.StreamSeq) }

// readErasures calls visit with each fact of an erasure that a stream has, and when
// the stream stored it. Facts that are not valid are passed over.
func readErasures(ctx context.Context, stream jetstream.Stream, visit func(*schema.ErasureApplied, time.Time)) error {
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(erasureSubject))
	if err != nil {
		return fmt.Errorf("look for erasures: %w", err)
	}
	if len(info.State.Subjects) == 0 {
		return nil
	}
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		FilterSubject: erasureSubject, AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1, InactiveThreshold: forgetAfter,
		DeliverPolicy: jetstream.DeliverAllPolicy,
	})
	if err != nil {
		return fmt.Errorf("read erasures: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = stream.DeleteConsumer(ctx, consumer.CachedInfo().Name) // or the server forgets it
	}()
	for left := consumer.CachedInfo().NumPending; left > 0; left-- {
		msg, err := consumer.Next(jetstream.FetchMaxWait(5 * time.Second))
		if err != nil {
			return fmt.Errorf("read erasures: %w", err)
		}
		meta, err := msg.Metadata()
		if err != nil {
			return fmt.Errorf("read erasures: %w", err)
		}
		m := parse(&message{subject: msg.Subject(), header: msg.Headers(), data: msg.Data()})
		if fact, ok := m.fact.(*schema.ErasureApplied); ok && len(m.violations) == 0 {
			visit(fact, meta.Timestamp.UTC())
		}
	}
	return nil
}

// begins returns the first sequence that the stream has, or had before an erasure
// of its first messages, when first is what its server says.
func (p *Projector) begins(first uint64) uint64 {
	for _, m := range slices.Backward(p.absent) {
		if m.erased != nil && m.position.StreamSeq == first-1 {
			first--
		}
	}
	return first
}

// stood returns what is absent and erased with a time of its place: that of a
// message beside it, of which the log knows the month.
func (m *message) stood(beside time.Time) *message {
	if m.erased == nil || beside.IsZero() {
		return m
	}
	other := *m
	other.position.RecordedAt = beside
	return &other
}
