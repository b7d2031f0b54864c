package projector

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/schema"
)

// An erasure deletes messages from the stream and leaves a fact that says where
// they stood and what their leaves in the log are. Whoever reads the stream again, from
// the start or a part of it, takes the leaves from there, so that the log comes out
// the same.
//
// A fact is believed only where it cannot do harm: the message must be gone, the leaf
// must be the one in the log of the live tables, and it must be a leaf of the fact's
// tenant. Of several such facts the first counts. Where the tables have lost that part
// of the log, the first fact counts. A message that is gone and that only other facts
// name keeps the leaf that the log has: no fact can change the log.

// A claim is what a fact says of one message that it erased.
type claim struct {
	erasedLeaf
	at time.Time // when the stream stored the fact
}

// counting returns the claim that counts for a message, of several in the order in
// which they came. logged says that the log has the leaf for it; lost, that nobody
// knows whether it has one.
func counting(claims []claim, leaf ledger.Leaf, logged, lost bool) (claim, bool) {
	for _, c := range claims {
		owned := leaf.Tenant == "" || leaf.Tenant == schema.TenantOf(c.tenant)
		switch {
		case logged && c.hash == leaf.Hash && owned, !logged && (lost || c.hash == tlog.Hash{}):
			return c, true
		}
	}
	return claim{}, false
}

// erasureSubject matches every fact of an erasure.
var erasureSubject = func() string {
	object, verb := schema.TypeErasureApplied.ObjectVerb()
	return "ctx.v1.*.*.*." + object + "." + verb
}()

// readErased reads what was erased from this stream, as the facts in all streams of
// events have it.
func (p *Projector) readErased(ctx context.Context) error {
	claims, err := p.readClaims(ctx)
	if err != nil {
		return err
	}
	p.absent = nil
	if p.beside != nil {
		p.absent = slices.Clone(p.beside.gone)
	}
	for _, m := range p.absent {
		m.rules = p.rules.at(m.position.StreamSeq)
		delete(claims, m.position.StreamSeq) // it was refused, so it had no leaf
	}
	leaves, err := p.live().Leaves(ctx, p.incarnation, slices.Sorted(maps.Keys(claims)))
	if err != nil {
		return err
	}
	var whole uint64
	if len(leaves) < len(claims) {
		if whole, err = p.live().LogWhole(ctx, p.incarnation); err != nil {
			return err
		}
	}
	unfounded := 0
	for sequence, list := range claims {
		leaf, logged := leaves[sequence]
		c, ok := counting(list, leaf, logged, sequence > whole)
		if !ok {
			unfounded++
			if !logged {
				continue
			}
			c = claim{erasedLeaf{leaf.Hash, leaf.Tenant}, list[0].at}
		}
		p.absent = append(p.absent, &message{
			position: ledger.Position{Incarnation: p.incarnation, StreamSeq: sequence, RecordedAt: c.at},
			rules:    p.rules.at(sequence), erased: &erasedLeaf{c.hash, schema.TenantOf(c.tenant)},
		})
	}
	slices.SortStableFunc(p.absent, bySequence)
	if unfounded > 0 {
		p.config.Log.Warn("facts of erasures name messages with a leaf that is not theirs, or another tenant's messages: they do not count for these",
			"event", "erasure_unfounded", "messages", unfounded)
	}
	return nil
}

// readClaims reads what facts of erasures say of messages that this stream no longer
// has, by sequence and in the order in which they came.
func (p *Projector) readClaims(ctx context.Context) (map[uint64][]claim, error) {
	claims := make(map[uint64][]claim)
	partitions, err := schema.ParsePartitions(p.info.Config.Metadata[schema.PartitionsKey])
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", p.config.Stream, err)
	}
	for _, s := range partitions.EventStreams() {
		stream, rules := p.stream, p.rules
		if s.Name != p.config.Stream {
			if stream, rules, err = p.sibling(ctx, s.Name); err != nil {
				return nil, err
			}
		}
		err := readErasures(ctx, stream, rules, func(fact *schema.ErasureApplied, tenant string, at time.Time) {
			for _, r := range fact.Records {
				leaf, err := hex.DecodeString(r.Leaf)
				if r.Stream != p.config.Stream || r.Sequence < 1 || uint64(r.Sequence) > p.info.State.LastSeq || err != nil || len(leaf) != tlog.HashSize && r.Leaf != "" {
					continue
				}
				c := claim{erasedLeaf{tenant: tenant}, at}
				copy(c.hash[:], leaf)
				claims[uint64(r.Sequence)] = append(claims[uint64(r.Sequence)], c)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	for _, list := range claims {
		slices.SortStableFunc(list, func(a, b claim) int { return a.at.Compare(b.at) })
	}
	return claims, nil
}

// sibling opens another of the streams of events.
func (p *Projector) sibling(ctx context.Context, name string) (jetstream.Stream, rules, error) {
	stream, incarnation, err := openStream(ctx, p.config.JetStream, name)
	if err != nil {
		return nil, nil, err
	}
	r, err := readRules(ctx, stream.CachedInfo().Config, incarnation, p.live(), p.config.Log)
	return stream, r, err
}

// readErasures calls visit with each fact of an erasure that a stream has, whose it is,
// and when the stream stored it. Facts that are not valid are passed over.
func readErasures(ctx context.Context, stream jetstream.Stream, r rules, visit func(*schema.ErasureApplied, string, time.Time)) error {
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
		m := parse(&message{subject: msg.Subject(), header: msg.Headers(), data: msg.Data(), rules: r.at(meta.Sequence.Stream)})
		if fact, ok := m.fact.(*schema.ErasureApplied); ok && len(m.violations) == 0 {
			visit(fact, m.tenant, meta.Timestamp.UTC())
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
