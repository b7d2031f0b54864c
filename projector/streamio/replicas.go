package streamio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/schema"
)

// ErrReplicas means that streams cannot have the number of replicas. Nothing was changed.
var ErrReplicas = errors.New("replicas_refused")

// The codes of the server for streams that it cannot place.
const (
	codeNoPeers      jetstream.ErrorCode = 10005 // too few servers answer
	codeNoLeader     jetstream.ErrorCode = 10008 // most servers of a stream do not answer
	codeResources    jetstream.ErrorCode = 10023 // no server has the room
	codeNotInCluster jetstream.ErrorCode = 10074 // the server is alone
)

// maxReplicas is the limit of the server.
const maxReplicas = 5

// bucketStream returns the stream of a bucket.
func bucketStream(bucket string) string { return "KV_" + bucket }

// allStreams returns the names of all streams of an installation, also those of buckets.
func allStreams(n schema.Partitions, l layout) (names []string) {
	for _, s := range n.EventStreams() {
		names = append(names, s.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(l.found)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return append(names, otherStreams()...)
}

// otherStreams returns the names of the streams that hold no events, also those of buckets.
func otherStreams() (names []string) {
	for _, s := range schema.OtherStreams() {
		names = append(names, s.Name)
	}
	for _, b := range buckets() {
		names = append(names, bucketStream(b.Bucket))
	}
	return append(names, TextsStream)
}

// replicasOf returns the number of replicas of a stream, and 1 if there is no stream.
func (e *ensure) replicasOf(ctx context.Context, name string) (int, error) {
	stream, err := e.js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 1, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look up stream %s: %w", name, err)
	}
	return max(stream.CachedInfo().Config.Replicas, 1), nil
}

// checkReplicas returns an error if the number cannot be, before anything is changed.
func (e *ensure) checkReplicas(ctx context.Context, names []string) error {
	if e.replicas < 1 || e.replicas > maxReplicas {
		return fmt.Errorf("%w: %d replicas: want a number from 1 to %d", ErrReplicas, e.replicas, maxReplicas)
	}
	for _, name := range names {
		have, err := e.replicasOf(ctx, name)
		if err != nil {
			return err
		}
		if have > e.replicas {
			return fmt.Errorf("%w: the stream %s has %d replicas, and migrate removes none: use the client of NATS to lower a number", ErrReplicas, name, have)
		}
	}
	return nil
}

// raise gives the stream of what the number of replicas, if it has fewer.
func (e *ensure) raise(ctx context.Context, what, name string) (raised bool, err error) {
	stream, err := e.js.Stream(ctx, name)
	if err != nil {
		return false, fmt.Errorf("look up stream %s: %w", name, err)
	}
	config := stream.CachedInfo().Config
	if config.Replicas >= e.replicas {
		return false, nil
	}
	config.Replicas = e.replicas
	if _, err := e.js.UpdateStream(ctx, config); err != nil {
		return false, fmt.Errorf("raise the replicas of %s: %w", what, refusedReplicas(err, e.replicas))
	}
	e.done = append(e.done, fmt.Sprintf("raised %s to %d replicas", what, e.replicas))
	return true, nil
}

// settle waits until a bucket answers that was just raised. A bucket is small; until its new
// replicas have it, some of the server's answers do not come.
func (e *ensure) settle(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		stream, err := e.js.Stream(ctx, name)
		if err == nil && ReplicasIn(stream.CachedInfo()).Healthy() {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the replicas of %s: %w; run the command again", name, cmp.Or(err, ctx.Err()))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// refusedReplicas explains an error of the server that the number of replicas caused.
func refusedReplicas(err error, replicas int) error {
	var refused *jetstream.APIError
	if replicas == 1 || !errors.As(err, &refused) {
		return err
	}
	var reason string
	switch refused.ErrorCode {
	case codeNotInCluster:
		reason = "the server is not part of a cluster"
	case codeNoPeers:
		reason = "fewer servers with JetStream answer: start the others, or ask for fewer replicas"
	case codeResources:
		reason = "not enough servers have room for them: see max_file_store of each server"
	default:
		return err
	}
	return fmt.Errorf("%w: %d replicas: %s (%w)", ErrReplicas, replicas, reason, err)
}

// Replicas is the state of the replicas of a stream.
type Replicas struct {
	Stream  string
	Want    int    // replicas in its configuration
	Cluster string // empty where the server is alone
	Leader  string // server; empty if there is none
	Behind  []Replica
}

// Replica is a replica that does not have all messages.
type Replica struct {
	Server  string
	Offline bool
	Lag     uint64 // operations that it lacks
}

// Healthy reports whether the stream has a leader, and all of its replicas have all messages.
func (r Replicas) Healthy() bool {
	return r.Cluster == "" || r.Leader != "" && len(r.Behind) == 0
}

// Alone reports whether a cluster keeps the stream on one server.
func (r Replicas) Alone() bool { return r.Cluster != "" && r.Want == 1 }

// String returns one sentence.
func (r Replicas) String() string {
	switch {
	case r.Cluster == "":
		return fmt.Sprintf("%s has one replica", r.Stream)
	case r.Leader == "":
		return fmt.Sprintf("%s has no leader: most of its servers do not answer", r.Stream)
	case len(r.Behind) == 0:
		return fmt.Sprintf("%s has %d replicas, led by %s", r.Stream, r.Want, r.Leader)
	}
	b := r.Behind[0]
	if b.Offline {
		return fmt.Sprintf("%s: %d of %d replicas are behind: %s does not answer", r.Stream, len(r.Behind), r.Want, b.Server)
	}
	return fmt.Sprintf("%s: %d of %d replicas are behind: %s lacks %d operations", r.Stream, len(r.Behind), r.Want, b.Server, b.Lag)
}

// ReadReplicas reads the state of the replicas of all streams and buckets that exist, as the leader of
// each stream sees it. Where most servers of the cluster do not answer, nobody knows, and the error
// is one of the connection.
func ReadReplicas(ctx context.Context, js jetstream.JetStream) ([]Replicas, error) {
	names, err := readNames(ctx, js, holdsEvents)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, ErrNoStream
	}
	var list []Replicas
	for _, name := range append(names, otherStreams()...) {
		stream, err := js.Stream(ctx, name)
		var refused *jetstream.APIError
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			continue
		case errors.As(err, &refused) && refused.ErrorCode == codeNoLeader:
			list = append(list, Replicas{Stream: name, Cluster: js.Conn().ConnectedClusterName()})
			continue
		case err != nil:
			return list, fmt.Errorf("look up stream %s: %w", name, err)
		}
		list = append(list, ReplicasIn(stream.CachedInfo()))
	}
	return list, nil
}

// ReplicasIn reads what the leader of a stream says in its state.
func ReplicasIn(info *jetstream.StreamInfo) Replicas {
	r := Replicas{Stream: info.Config.Name, Want: max(info.Config.Replicas, 1)}
	if info.Cluster == nil || info.Cluster.Name == "" {
		return r
	}
	r.Cluster, r.Leader = info.Cluster.Name, info.Cluster.Leader
	for _, peer := range info.Cluster.Replicas {
		if peer.Offline || !peer.Current {
			r.Behind = append(r.Behind, Replica{peer.Name, peer.Offline, peer.Lag})
		}
	}
	// a server that has just been chosen is not in the list yet
	for missing := r.Want - 1 - len(info.Cluster.Replicas); missing > 0; missing-- {
		r.Behind = append(r.Behind, Replica{Server: "a new server"})
	}
	return r
}
