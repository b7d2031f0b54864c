package erasure

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/translog"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/retention"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// An erasure deletes messages from the stream and leaves a fact with their places and their
// leaves in the transparency log. A process that reads the stream again takes the leaves from
// the fact. The transparency log then has the same leaves.
//
// A fact counts only if it cannot do harm. The message must be gone. The leaf must be the one
// in the transparency log of the live tables, and must belong to the fact's tenant. The first
// of several such facts counts. If the tables have lost that part of the transparency log, the
// first fact counts. If only other facts name a missing message, it keeps the leaf in the
// transparency log. No fact can therefore change the transparency log.

// A claim is the entry of a fact for one erased message.
type claim struct {
	streamio.ErasedLeaf
	at time.Time // the time at which the stream stored the fact
}

// counting returns the claim that counts for a message. claims are in the order of arrival.
// logged means that the transparency log has the leaf. lost means that this part of the
// transparency log is lost.
func counting(claims []claim, leaf translog.Leaf, logged, lost bool) (claim, bool) {
	for _, c := range claims {
		owned := leaf.Tenant == "" || leaf.Tenant == schema.TenantOf(c.Tenant)
		switch {
		case logged && c.Hash == leaf.Hash && owned, !logged && (lost || c.Hash == tlog.Hash{}):
			return c, true
		}
	}
	return claim{}, false
}

// LiveTables are the methods of the live tables that every projector needs.
type LiveTables interface {
	streamio.CommittedRules
	Leaves(ctx context.Context, incarnation uuid.UUID, sequences []uint64) (map[uint64]translog.Leaf, error)
	LogWhole(ctx context.Context, incarnation uuid.UUID) (through uint64, err error)
}

// erasureSubject matches every fact of an erasure.
var erasureSubject = func() string {
	object, verb := schema.TypeErasureApplied.ObjectVerb()
	return "ctx.v1.*.*.*." + object + "." + verb
}()

// ReadAbsent reads the erased messages of a stream, from the facts in all streams of events.
// ReadAbsent sets s.Absent to these messages and the messages in gone.
func ReadAbsent(ctx context.Context, js jetstream.JetStream, s *streamio.Source, gone []*streamio.Message, live LiveTables, log *slog.Logger) error {
	return readAbsent(ctx, js, s, max(s.Info.State.FirstSeq, 1), gone, live, log)
}

// ReadErased returns the sequences of the messages of a stream that an erasure may have deleted, in order.
// It includes those before the first message of the stream, which restored tables may have.
func ReadErased(ctx context.Context, js jetstream.JetStream, s streamio.Source, live LiveTables, log *slog.Logger) (sequences []uint64, err error) {
	err = readAbsent(ctx, js, &s, 1, nil, live, log)
	for _, m := range s.Absent {
		sequences = append(sequences, m.Position.StreamSeq)
	}
	return sequences, err
}

// readAbsent is ReadAbsent where facts that have left a stream count for messages from a sequence on.
func readAbsent(ctx context.Context, js jetstream.JetStream, s *streamio.Source, from uint64, gone []*streamio.Message, live LiveTables, log *slog.Logger) error {
	claims, err := readClaims(ctx, js, *s, from, live, log)
	if err != nil {
		return err
	}
	s.Absent = slices.Clone(gone)
	for _, m := range s.Absent {
		m.Rules = s.Rules.At(m.Position.StreamSeq)
		delete(claims, m.Position.StreamSeq) // a refused message has no leaf
	}
	leaves, err := live.Leaves(ctx, s.Incarnation, slices.Sorted(maps.Keys(claims)))
	if err != nil {
		return err
	}
	var whole uint64
	if len(leaves) < len(claims) {
		if whole, err = live.LogWhole(ctx, s.Incarnation); err != nil {
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
			c = claim{streamio.ErasedLeaf{Hash: leaf.Hash, Tenant: leaf.Tenant}, list[0].at}
		}
		s.Absent = append(s.Absent, &streamio.Message{
			Position: ledger.Position{Incarnation: s.Incarnation, StreamSeq: sequence, RecordedAt: c.at},
			Rules:    s.Rules.At(sequence), Erased: &streamio.ErasedLeaf{Hash: c.Hash, Tenant: schema.TenantOf(c.Tenant)},
		})
	}
	slices.SortStableFunc(s.Absent, streamio.BySequence)
	if unfounded > 0 {
		log.Warn("facts of erasures were ignored for messages of another tenant or with another leaf",
			"event", "erasure_unfounded", "messages", unfounded)
	}
	return nil
}

// readClaims reads the claims on missing messages of a stream, by sequence and in the order of
// arrival. Facts that have left a stream count for messages from since on.
func readClaims(ctx context.Context, js jetstream.JetStream, s streamio.Source, since uint64, live LiveTables, log *slog.Logger) (map[uint64][]claim, error) {
	claims := make(map[uint64][]claim)
	config, last := s.Info.Config, s.Info.State.LastSeq
	tell, left, err := tellers(ctx, js)
	if err != nil || len(tell) == 0 {
		return nil, err
	}
	sources, err := streamio.OpenSources(ctx, js, tell, live, log)
	if err != nil {
		return nil, err
	}
	for _, from := range sources {
		visit := func(first uint64) func(*schema.ErasureApplied, string, time.Time) {
			return func(fact *schema.ErasureApplied, tenant string, at time.Time) {
				for _, r := range fact.Records {
					leaf, err := hex.DecodeString(r.Leaf)
					if r.Stream != config.Name || r.Sequence < int64(first) || uint64(r.Sequence) > last || err != nil || len(leaf) != tlog.HashSize && r.Leaf != "" {
						continue
					}
					c := claim{streamio.ErasedLeaf{Tenant: tenant}, at}
					copy(c.Hash[:], leaf)
					claims[uint64(r.Sequence)] = append(claims[uint64(r.Sequence)], c)
				}
			}
		}
		if err := readErasures(ctx, from, visit(1)); err != nil {
			return nil, err
		}
		if !left[from.Info.Config.Name] {
			continue
		}
		// A fact that has left its stream may name messages that another stream lacks.
		if err := readLasting(ctx, js, from, visit(since)); err != nil {
			return nil, err
		}
	}
	for _, list := range claims {
		slices.SortStableFunc(list, func(a, b claim) int { return a.at.Compare(b.at) })
	}
	return claims, nil
}

// tellers returns the names of the streams with facts of erasures. left has the streams whose facts a retention
// may have removed. To open all streams for each partition would cost their square.
func tellers(ctx context.Context, js jetstream.JetStream) (names []string, left map[string]bool, err error) {
	streams, err := streamio.ReadStreams(ctx, js)
	if err == nil {
		left, err = retention.HaveLeft(ctx, js)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, s := range streams {
		has, err := hasErasures(ctx, js, s.Name)
		if err != nil {
			return nil, nil, err
		}
		if has || left[s.Name] {
			names = append(names, s.Name)
		}
	}
	return names, left, nil
}

// readLasting is readErasures for the facts that a retention has removed from a stream.
func readLasting(ctx context.Context, js jetstream.JetStream, s streamio.Source, visit func(*schema.ErasureApplied, string, time.Time)) error {
	lasting, err := retention.Lasting(ctx, js, &s)
	for _, m := range lasting {
		visitErasure(m, visit)
	}
	return err
}

// visitErasure calls visit if a message is a valid fact of an erasure.
func visitErasure(m *streamio.Message, visit func(*schema.ErasureApplied, string, time.Time)) {
	e := decode.One(m)
	if fact, ok := e.Fact.(*schema.ErasureApplied); ok && len(e.Violations) == 0 {
		visit(fact, e.Tenant, m.Position.RecordedAt)
	}
}

// hasErasures reports whether a stream has facts of erasures.
func hasErasures(ctx context.Context, js jetstream.JetStream, name string) (bool, error) {
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return false, fmt.Errorf("look up stream %s: %w", name, err)
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(erasureSubject))
	if err != nil {
		return false, fmt.Errorf("count the facts of erasures: %w", err)
	}
	return len(info.State.Subjects) > 0, nil
}

// readErasures calls visit with each fact of an erasure in a stream, the fact's tenant, and its
// time in the stream. readErasures skips invalid facts.
func readErasures(ctx context.Context, s streamio.Source, visit func(*schema.ErasureApplied, string, time.Time)) error {
	err := streamio.Each(ctx, s.Stream, streamio.Selection{Subject: erasureSubject}, func(msg jetstream.Msg, meta *jetstream.MsgMetadata) error {
		visitErasure(&streamio.Message{
			Subject: msg.Subject(), Header: msg.Headers(), Data: msg.Data(), Rules: s.Rules.At(meta.Sequence.Stream),
			Position: ledger.Position{Incarnation: s.Incarnation, StreamSeq: meta.Sequence.Stream, RecordedAt: meta.Timestamp.UTC()},
		}, visit)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the facts of erasures: %w", err)
	}
	return nil
}
