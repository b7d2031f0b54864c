package shardmap

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// Tables are the ledgers of all partitions: one plain ledger, or the shards of a cluster. Every error of a
// shard names it. Safe for concurrent use.
type Tables struct {
	plain  *ledger.Ledger
	shards *cluster.Ledgers
	shard  Map
}

// Plain returns the tables of a plain ledger.
func Plain(l *ledger.Ledger) Tables { return Tables{plain: l} }

// Tables returns the tables of a cluster. The map must have passed Check.
func (m Map) Tables(shards *cluster.Ledgers) Tables { return Tables{shards: shards, shard: m} }

// OnCluster reports whether the tables are on the shards of a cluster.
func (t Tables) OnCluster() bool { return t.shards != nil }

// Ledgers returns the ledger of each stream, in the order of the streams.
func (t Tables) Ledgers(streams []string) []*ledger.Ledger {
	list := make([]*ledger.Ledger, len(streams))
	for i, stream := range streams {
		list[i] = t.Of(stream)
	}
	return list
}

// A Part is one of the ledgers of the tables.
type Part struct {
	Number     uint32 // of the shard; 0 for a plain ledger
	Shard      string // the shard, for messages; empty for a plain ledger
	Ledger     *ledger.Ledger
	partitions []int
}

// Has reports whether a stream of events is projected to the part. A plain ledger has all.
func (p Part) Has(stream string) bool {
	return p.Number == 0 || slices.Contains(p.partitions, PartitionOf(stream))
}

// Of returns the streams among these that are projected to the part.
func (p Part) Of(streams []string) []string {
	return slices.DeleteFunc(slices.Clone(streams), func(s string) bool { return !p.Has(s) })
}

// All returns all ledgers, in the order of the numbers of the shards.
func (t Tables) All() (list []Part) {
	if t.shards == nil {
		return []Part{{Ledger: t.plain}}
	}
	for i, l := range t.shards.All() {
		part := Part{Number: t.shards.Shards[i].Number, Shard: t.shards.Shards[i].String(), Ledger: l}
		for partition, number := range t.shard.Shards {
			if number == t.shards.Shards[i].Number {
				part.partitions = append(part.partitions, partition)
			}
		}
		list = append(list, part)
	}
	return list
}

// Others returns the ledgers of all shards but one. A plain ledger has none.
func (t Tables) Others(but *ledger.Ledger) []*ledger.Ledger {
	if t.shards == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.shards.All()), func(l *ledger.Ledger) bool { return l == but })
}

// Of returns the ledger of a stream of events.
func (t Tables) Of(stream string) *ledger.Ledger {
	if t.shards == nil {
		return t.plain
	}
	return t.shards.Of(t.shard.Shards[PartitionOf(stream)])
}

// Each does the same on every ledger, one after the other, up to the first error.
func (t Tables) Each(do func(l *ledger.Ledger) error) error {
	if t.shards == nil {
		return do(t.plain)
	}
	for i, l := range t.shards.All() {
		if err := do(l); err != nil {
			return t.shards.Shards[i].Failed(err)
		}
	}
	return nil
}

// Failed returns an error of one of the ledgers. That of a shard names it.
func (t Tables) Failed(l *ledger.Ledger, err error) error {
	if t.shards == nil || err == nil {
		return err
	}
	return t.shards.Shards[slices.Index(t.shards.All(), l)].Failed(err)
}

// RecordedRules implements [streamio.CommittedRules] with the commits of all ledgers. One of them has the
// commits of a stream.
func (t Tables) RecordedRules(ctx context.Context, incarnations []uuid.UUID) (map[uuid.UUID][]ledger.RecordedRules, error) {
	all := make(map[uuid.UUID][]ledger.RecordedRules)
	err := t.Each(func(l *ledger.Ledger) error {
		found, err := l.RecordedRules(ctx, incarnations)
		for incarnation, list := range found {
			all[incarnation] = append(all[incarnation], list...)
		}
		return err
	})
	return all, err
}

// AwaitCommit waits as [streamio.AwaitCommit] does, for all ledgers at the same time. The error of a shard
// that is not level wraps late and names the shard.
func (t Tables) AwaitCommit(ctx context.Context, js jetstream.JetStream, heads streamio.LastSequences, patience time.Duration, late error) error {
	if t.shards == nil {
		level, err := streamio.AwaitCommit(ctx, js, t.plain, heads, patience, nil)
		if err == nil && !level {
			err = late
		}
		return err
	}
	level, err := t.shard.AwaitCommit(ctx, js, t.shards, heads, patience)
	for i, ok := range level {
		if err == nil && !ok {
			err = fmt.Errorf("%w (%s is behind its streams)", late, t.shards.Shards[i])
		}
	}
	return err
}
