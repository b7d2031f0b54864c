package streamio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/schema"
)

// Layout says how an installation lies on the NATS servers. A zero member keeps what is there; a new
// installation then has one partition and one replica.
type Layout struct {
	Partitions schema.Partitions
	Replicas   int // servers that keep each stream and bucket, from 1 to 5
}

// EnsureStreams is [Ensure] with the layout that is there.
func EnsureStreams(ctx context.Context, js jetstream.JetStream) ([]string, error) {
	return Ensure(ctx, js, Layout{})
}

// Ensure creates missing streams and buckets, and raises the number of replicas of those that
// have fewer than the layout. It sets the incarnation of a stream of events without one: the
// incarnation of its journal, or a new one. Ensure changes nothing else of an existing stream,
// because the limits belong to the operator. Ensure returns what it did, such as "created stream
// CTX". It does not wait for new replicas; see [ReadReplicas]. Ensure may be repeated, also after
// an interruption, which includes an interruption of [EnsureTenant].
//
// Errors: [ErrPartitions] if the existing streams have another number, [ErrReplicas] if the
// servers cannot keep that many replicas, or if an existing stream has more.
func Ensure(ctx context.Context, js jetstream.JetStream, want Layout) ([]string, error) {
	l, err := readLayout(ctx, js)
	if err != nil && !errors.Is(err, ErrNoStream) {
		return nil, err
	}
	n := cmp.Or(l.partitions[""], max(want.Partitions, 1))
	if want.Partitions > 0 && n != want.Partitions {
		return nil, fmt.Errorf("%w: the events are in %d, not in %d", ErrPartitions, n, want.Partitions)
	}
	if err := n.Validate(); err != nil {
		return nil, err
	}
	e := ensure{js: js, replicas: want.Replicas}
	if want.Replicas == 0 {
		if e.replicas, err = e.replicasOf(ctx, n.Stream(0).Name); err != nil {
			return nil, err
		}
	} else if err := e.checkReplicas(ctx, allStreams(n, l)); err != nil {
		return nil, err
	}
	tenants := l.sharing()
	for i, stream := range n.EventStreams() {
		stream.Subjects = subjectsOf(n, i, tenants)
		if err := e.stream(ctx, withOrigin(streamConfig(stream))); err != nil {
			return e.done, err
		}
	}
	for _, stream := range schema.OtherStreams() {
		if err := e.stream(ctx, streamConfig(stream)); err != nil {
			return e.done, err
		}
	}
	if err := e.stream(ctx, textsConfig()); err != nil {
		return e.done, err
	}
	for _, config := range buckets() {
		if err := e.bucket(ctx, config); err != nil {
			return e.done, err
		}
	}
	if l, err = readLayout(ctx, js); err != nil {
		return e.done, err
	}
	for _, tenant := range l.tenants()[1:] {
		if err := e.completeTenant(ctx, l, tenant); err != nil {
			return e.done, err
		}
	}
	return e.done, fenceOff(ctx, js)
}

// buckets returns the configuration of all buckets.
func buckets() []jetstream.KeyValueConfig {
	return []jetstream.KeyValueConfig{lease.BucketConfig(), importsConfig()}
}

// ensure is one call of [Ensure].
type ensure struct {
	js       jetstream.JetStream
	replicas int      // of what is created, and at least of what is there
	done     []string // what was created or changed
}

// streamConfig converts a stream of the contract into the server's configuration.
func streamConfig(s schema.Stream) jetstream.StreamConfig {
	c := jetstream.StreamConfig{
		Name: s.Name, Subjects: s.Subjects, Description: s.Description, AllowAtomicPublish: s.AtomicPublish, Duplicates: s.Duplicates,
		Metadata: s.Metadata, MaxAge: s.MaxAge, MaxMsgs: s.MaxMessages, MaxMsgsPerSubject: s.MaxPerSubject,
	}
	if c.MaxMsgs == 0 {
		c.MaxMsgs = -1
	}
	if c.MaxMsgsPerSubject == 0 {
		c.MaxMsgsPerSubject = -1
	}
	if s.DiscardNew {
		c.Discard = jetstream.DiscardNew
	}
	return c
}

// fenceOff excludes older projectors from streams that no projector has read yet.
func fenceOff(ctx context.Context, js jetstream.JetStream) error {
	list, err := ReadStreams(ctx, js)
	if err != nil {
		return err
	}
	kv, err := lease.OpenBucket(ctx, js)
	if err != nil {
		return err
	}
	for _, s := range list {
		stream, err := js.Stream(ctx, s.Name)
		if err != nil {
			return fmt.Errorf("look up stream %s: %w", s.Name, err)
		}
		if stream.CachedInfo().Config.Metadata[RulesKey] == "" {
			continue // EnsureRules first takes the lease of its projector
		}
		if err := lease.EnsureFence(ctx, kv, s.Name); err != nil {
			return err
		}
	}
	return nil
}

// withOrigin adds a new incarnation and the newest rules to the configuration of a new stream.
func withOrigin(c jetstream.StreamConfig) jetstream.StreamConfig {
	c.Metadata = maps.Clone(c.Metadata)
	if c.Metadata == nil {
		c.Metadata = make(map[string]string)
	}
	c.Metadata[IncarnationKey], c.Metadata[RulesKey] = uuid.NewString(), NewRules().String()
	return c
}

// bucket creates a bucket, or raises its replicas.
func (e *ensure) bucket(ctx context.Context, want jetstream.KeyValueConfig) error {
	_, err := e.js.KeyValue(ctx, want.Bucket)
	if err == nil {
		raised, err := e.raise(ctx, "bucket "+want.Bucket, bucketStream(want.Bucket))
		if err != nil || !raised {
			return err
		}
		return e.settle(ctx, bucketStream(want.Bucket))
	}
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return fmt.Errorf("look up bucket %s: %w", want.Bucket, err)
	}
	want.Replicas = e.replicas
	_, err = e.js.CreateKeyValue(ctx, want)
	if errors.Is(err, jetstream.ErrBucketExists) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create bucket %s: %w", want.Bucket, refusedReplicas(err, e.replicas))
	}
	e.done = append(e.done, "created bucket "+want.Bucket)
	return nil
}

// stream creates a stream, or raises its replicas and gives it an incarnation where it needs one.
func (e *ensure) stream(ctx context.Context, want jetstream.StreamConfig) error {
	stream, err := e.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		want.Replicas = e.replicas
		if _, err := e.js.CreateStream(ctx, want); err != nil {
			return fmt.Errorf("create stream %s: %w", want.Name, refusedReplicas(err, e.replicas))
		}
		e.done = append(e.done, "created stream "+want.Name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up stream %s: %w", want.Name, err)
	}
	if _, err := e.raise(ctx, "stream "+want.Name, want.Name); err != nil {
		return err
	}
	have := stream.CachedInfo().Config
	id, needsID := want.Metadata[IncarnationKey]
	if !needsID || have.Metadata[IncarnationKey] != "" {
		return nil
	}
	have.Replicas = max(have.Replicas, e.replicas)
	have.Metadata = maps.Clone(have.Metadata)
	if have.Metadata == nil {
		have.Metadata = make(map[string]string)
	}
	// A stream without metadata counts as the stream that was projected. If it is another
	// stream, the projector reports a fork. A new incarnation would project every event twice.
	if journalled, err := lease.JournalledIncarnation(ctx, e.js, want.Name); err != nil {
		return err
	} else if journalled != "" {
		id = journalled
	}
	have.Metadata[IncarnationKey] = id
	if _, err := e.js.UpdateStream(ctx, have); err != nil {
		return fmt.Errorf("give stream %s an incarnation: %w", want.Name, err)
	}
	return nil
}
