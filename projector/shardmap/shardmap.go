package shardmap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// Key is the key of the map in the lease bucket.
const Key = "shards"

// DefaultPartitions is the number of partitions of a new installation on a cluster. The number is
// fixed, and every later shard takes whole partitions.
const DefaultPartitions schema.Partitions = 16

var (
	// ErrNoMap means that the streams are not laid out for a cluster.
	ErrNoMap = errors.New("the lease bucket has no map of the shards: run `ctxledger migrate --cluster NAME`")
	// ErrWrongMap is wrapped by every error about a map that cannot be right. Nothing was written.
	ErrWrongMap = errors.New("the map of the shards is wrong (key " + Key + " of the bucket " + lease.Bucket + ")")
	// ErrTenant means that a tenant has another number of streams than there are shared ones. Its sessions would be
	// on several shards.
	ErrTenant = errors.New("on a cluster a tenant has as many streams of its own as there are shared ones")
)

// A Map names the shard of each partition. The streams of a partition are the shared one with its number, and
// that of each tenant with streams of its own. These have as many partitions as the shared streams: a session
// has one partition, whichever stream has its events.
type Map struct {
	Cluster string   `json:"cluster"`
	Shards  []uint32 `json:"shards"`         // number of a shard, by partition
	Move    *Move    `json:"move,omitempty"` // that has not ended

	revision uint64 // of the entry
}

// Read reads the map. Errors: [ErrNoMap], [ErrWrongMap] or an error of the server.
func Read(ctx context.Context, js jetstream.JetStream) (Map, error) {
	var m Map
	kv, err := lease.OpenBucket(ctx, js)
	if err != nil {
		return m, err
	}
	entry, err := kv.Get(ctx, Key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return m, ErrNoMap
	}
	if err != nil {
		return m, fmt.Errorf("read the map of the shards: %w", err)
	}
	if err := json.Unmarshal(entry.Value(), &m); err != nil {
		return m, fmt.Errorf("%w: %w", ErrWrongMap, err)
	}
	m.revision = entry.Revision()
	return m, nil
}

// Ensure reads the map, or makes it. A partition that was projected stays on its shard. The other
// partitions go to the shards in turn. Ensure reports whether it made the map. Two calls at the same
// time give the same map. Errors are those of [Map.Check].
func Ensure(ctx context.Context, js jetstream.JetStream, shards *cluster.Ledgers) (m Map, made bool, err error) {
	m, err = Read(ctx, js)
	if errors.Is(err, ErrNoMap) {
		if m, err = plan(ctx, js, shards); err != nil {
			return m, false, err
		}
		if made, err = create(ctx, js, m); err == nil && !made {
			m, err = Read(ctx, js)
		}
	}
	if err == nil {
		err = m.Check(ctx, js, shards)
	}
	return m, made, err
}

func create(ctx context.Context, js jetstream.JetStream, m Map) (bool, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return false, err
	}
	kv, err := lease.OpenBucket(ctx, js)
	if err != nil {
		return false, err
	}
	_, err = kv.Create(ctx, Key, text)
	if errors.Is(err, jetstream.ErrKeyExists) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("write the map of the shards: %w", err)
	}
	return true, nil
}

func plan(ctx context.Context, js jetstream.JetStream, shards *cluster.Ledgers) (Map, error) {
	m := Map{Cluster: shards.Cluster}
	streams, n, err := ReadStreams(ctx, js)
	if err != nil {
		return m, err
	}
	for partition := range n {
		m.Shards = append(m.Shards, shards.Shards[partition%len(shards.Shards)].Number)
	}
	for _, s := range slices.Backward(streams) { // a shared stream has the last word
		held, err := holders(ctx, js, shards, s.Name)
		if err != nil {
			return m, err
		}
		if len(held) > 0 {
			m.Shards[PartitionOf(s.Name)] = held[0].Number
		}
	}
	return m, nil
}

// PartitionOf returns the partition of a stream of events.
func PartitionOf(stream string) int {
	_, partition, _ := schema.ParseStreamName(stream)
	return partition
}

// ReadStreams reads all streams of events, and the number of partitions. Errors: [ErrTenant], or those of
// [streamio.ReadStreams].
func ReadStreams(ctx context.Context, js jetstream.JetStream) (list []streamio.EventStream, partitions int, err error) {
	if list, err = streamio.ReadStreams(ctx, js); err != nil {
		return nil, 0, err
	}
	own := make(map[string]int)
	for _, s := range list {
		own[s.Tenant]++
	}
	for _, s := range list {
		if n := own[s.Tenant]; n != own[""] {
			return nil, 0, fmt.Errorf("%w: tenant %s has %d, and there are %d", ErrTenant, s.Tenant, n, own[""])
		}
	}
	return list, own[""], nil
}

// holders returns the shards that have commits of a stream.
func holders(ctx context.Context, js jetstream.JetStream, shards *cluster.Ledgers, stream string) (held []cluster.Shard, err error) {
	_, incarnation, err := streamio.OpenStream(ctx, js, stream)
	if err != nil {
		return nil, err
	}
	for i, l := range shards.All() {
		_, found, err := l.LastCommit(ctx, incarnation)
		if err != nil {
			return nil, shards.Shards[i].Failed(err)
		}
		if found {
			held = append(held, shards.Shards[i])
		}
	}
	return held, nil
}

// Check compares the map with the streams, the shards and the commits on the shards. Errors:
// [ErrWrongMap], [ErrTenant], or an error of a server.
func (m Map) Check(ctx context.Context, js jetstream.JetStream, shards *cluster.Ledgers) error {
	streams, n, err := ReadStreams(ctx, js)
	if err != nil {
		return err
	}
	if m.Cluster != shards.Cluster {
		return fmt.Errorf("%w: it is of the cluster %q, and ClickHouse is of the cluster %q", ErrWrongMap, m.Cluster, shards.Cluster)
	}
	if len(m.Shards) != n {
		return fmt.Errorf("%w: it has %d partitions, and the streams have %d", ErrWrongMap, len(m.Shards), n)
	}
	for _, stream := range streams {
		partition := PartitionOf(stream.Name)
		if shards.Of(m.Shards[partition]) == nil {
			return fmt.Errorf("%w: stream %s is on shard %d, which the cluster %s does not have", ErrWrongMap, stream.Name, m.Shards[partition], m.Cluster)
		}
		held, err := holders(ctx, js, shards, stream.Name)
		if err != nil {
			return err
		}
		for _, s := range held {
			if s.Number != m.Shards[partition] && !m.Move.between(partition, s.Number) {
				return fmt.Errorf("%w: stream %s is on shard %d, but %s has its commits", ErrWrongMap, stream.Name, m.Shards[partition], s)
			}
		}
	}
	return nil
}

// AwaitCommit is [streamio.AwaitCommit] for each shard and its streams, at the same time. It reports for
// each shard of shards whether it has all messages. The map must have passed Check.
func (m Map) AwaitCommit(ctx context.Context, js jetstream.JetStream, shards *cluster.Ledgers, heads streamio.LastSequences, patience time.Duration) (level []bool, err error) {
	level = make([]bool, len(shards.Shards))
	err = shards.Each(func(at int, l *ledger.Ledger) (err error) {
		own := make(streamio.LastSequences)
		for stream, last := range heads {
			if m.Shards[PartitionOf(stream)] == shards.Shards[at].Number {
				own[stream] = last
			}
		}
		level[at], err = streamio.AwaitCommit(ctx, js, l, own, patience, nil)
		return err
	})
	return level, err
}
