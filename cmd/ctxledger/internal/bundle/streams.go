package bundle

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// stream is the configuration and the state of a stream, without its description and metadata.
type stream struct {
	Name       string     `json:"name"`
	Created    time.Time  `json:"created"`
	Storage    string     `json:"storage"`
	Retention  string     `json:"retention"`
	Discard    string     `json:"discard"`
	Replicas   int        `json:"replicas"`
	MaxBytes   int64      `json:"max_bytes"`
	MaxMsgs    int64      `json:"max_messages"`
	MaxAge     string     `json:"max_age"`
	Duplicates string     `json:"duplicate_window"`
	Messages   uint64     `json:"messages"`
	Bytes      uint64     `json:"bytes"`
	FirstSeq   uint64     `json:"first_sequence"`
	LastSeq    uint64     `json:"last_sequence"`
	LastTime   time.Time  `json:"last_time"`
	Deleted    int        `json:"deleted"`
	Leader     string     `json:"leader,omitempty"`
	Followers  []follower `json:"replicas_of_leader,omitempty"`
	Consumers  []consumer `json:"consumers,omitempty"`
}

type follower struct {
	Name    string `json:"name"`
	Current bool   `json:"current"`
	Offline bool   `json:"offline"`
	Lag     uint64 `json:"lag"`
}

type consumer struct {
	Name        string `json:"name"`
	AckPolicy   string `json:"ack_policy"`
	Delivered   uint64 `json:"delivered_sequence"`
	Acked       uint64 `json:"acknowledged_sequence"`
	Pending     uint64 `json:"pending"`
	Unacked     int    `json:"unacknowledged"`
	Redelivered int    `json:"redelivered"`
}

// Streams reads the streams of the account and their consumers.
func Streams(ctx context.Context, js jetstream.JetStream) (any, error) {
	var list []stream
	infos, err := streamio.ReadInfos(ctx, js, nil)
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		s := streamOf(info)
		if s.Consumers, err = consumersOf(ctx, js, s.Name); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

func streamOf(info *jetstream.StreamInfo) stream {
	c, state := info.Config, info.State
	s := stream{
		Name: c.Name, Created: info.Created, Storage: c.Storage.String(), Retention: c.Retention.String(), Discard: c.Discard.String(),
		Replicas: c.Replicas, MaxBytes: c.MaxBytes, MaxMsgs: c.MaxMsgs, MaxAge: c.MaxAge.String(), Duplicates: c.Duplicates.String(),
		Messages: state.Msgs, Bytes: state.Bytes, FirstSeq: state.FirstSeq, LastSeq: state.LastSeq, LastTime: state.LastTime, Deleted: state.NumDeleted,
	}
	if info.Cluster != nil {
		s.Leader = info.Cluster.Leader
		for _, r := range info.Cluster.Replicas {
			s.Followers = append(s.Followers, follower{r.Name, r.Current, r.Offline, r.Lag})
		}
	}
	return s
}

func consumersOf(ctx context.Context, js jetstream.JetStream, name string) (list []consumer, err error) {
	s, err := js.Stream(ctx, name)
	if err != nil {
		return nil, err
	}
	lister := s.ListConsumers(ctx)
	for info := range lister.Info() {
		list = append(list, consumer{
			Name: info.Name, AckPolicy: info.Config.AckPolicy.String(), Delivered: info.Delivered.Stream, Acked: info.AckFloor.Stream,
			Pending: info.NumPending, Unacked: info.NumAckPending, Redelivered: info.NumRedelivered,
		})
	}
	return list, lister.Err()
}

// leaseEntry is a key of the bucket of leases.
type leaseEntry struct {
	Key      string    `json:"key"`
	Revision uint64    `json:"revision"`
	Changed  time.Time `json:"changed"`
	Owner    string    `json:"owner,omitempty"`
	Epoch    uint64    `json:"epoch,omitempty"`
	First    uint64    `json:"pending_first,omitempty"`
	Last     uint64    `json:"pending_last,omitempty"`
}

// Leases reads the bucket of leases.
func Leases(ctx context.Context, js jetstream.JetStream) (any, error) {
	kv, err := lease.OpenBucket(ctx, js)
	if err != nil {
		return nil, err
	}
	keys, err := kv.Keys(ctx)
	if errors.Is(err, jetstream.ErrNoKeysFound) {
		return []leaseEntry{}, nil
	}
	if err != nil {
		return nil, err
	}
	var list []leaseEntry
	for _, key := range keys {
		value, err := kv.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		list = append(list, entryOf(value))
	}
	return list, nil
}

// entryOf takes the fields of a lease. Values of other keys stay out.
func entryOf(value jetstream.KeyValueEntry) leaseEntry {
	e := leaseEntry{Key: value.Key(), Revision: value.Revision(), Changed: value.Created()}
	var held lease.Entry
	if !strings.HasSuffix(e.Key, ".projection") || json.Unmarshal(value.Value(), &held) != nil {
		return e
	}
	e.Owner, e.Epoch = held.Owner, held.Epoch
	if held.Pending != nil {
		e.First, e.Last = held.Pending.First, held.Pending.Last
	}
	return e
}
