package streamio

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/schema"
)

// EnsureStreams creates missing streams and buckets. EnsureStreams sets the
// incarnation of a stream of events without one: the incarnation of its journal, or a new one.
// EnsureStreams changes nothing else of an existing stream, because the limits belong to the operator.
// EnsureStreams returns the names of the created streams and buckets. A new installation gets
// one partition; see [EnsurePartitions].
func EnsureStreams(ctx context.Context, js jetstream.JetStream) ([]string, error) {
	return EnsurePartitions(ctx, js, 0)
}

// EnsurePartitions is [EnsureStreams] with the events in n streams. 0 keeps the existing
// number. EnsurePartitions may be repeated, also after an interruption. Errors: [ErrPartitions]
// if the existing streams have another number.
func EnsurePartitions(ctx context.Context, js jetstream.JetStream, n schema.Partitions) ([]string, error) {
	have, _, err := readPartitions(ctx, js)
	switch {
	case errors.Is(err, ErrNoStream):
		have = max(n, 1)
	case err != nil:
		return nil, err
	}
	if n > 0 && have != n {
		return nil, fmt.Errorf("%w: the events are in %d, not in %d", ErrPartitions, have, n)
	}
	if err := have.Validate(); err != nil {
		return nil, err
	}
	var wanted []jetstream.StreamConfig
	for _, stream := range have.EventStreams() {
		wanted = append(wanted, withOrigin(streamConfig(stream)))
	}
	for _, stream := range schema.OtherStreams() {
		wanted = append(wanted, streamConfig(stream))
	}
	var created []string
	for _, config := range wanted {
		made, err := ensureStream(ctx, js, config)
		if err != nil {
			return created, err
		}
		if made {
			created = append(created, "stream "+config.Name)
		}
	}
	for _, config := range []jetstream.KeyValueConfig{lease.BucketConfig(), importsConfig()} {
		made, err := ensureBucket(ctx, js, config)
		if err != nil {
			return created, err
		}
		if made {
			created = append(created, "bucket "+config.Bucket)
		}
	}
	return created, fenceOff(ctx, js, have)
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
func fenceOff(ctx context.Context, js jetstream.JetStream, n schema.Partitions) error {
	kv, err := lease.OpenBucket(ctx, js)
	if err != nil {
		return err
	}
	for _, s := range n.EventStreams() {
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

func ensureBucket(ctx context.Context, js jetstream.JetStream, want jetstream.KeyValueConfig) (made bool, err error) {
	_, err = js.KeyValue(ctx, want.Bucket)
	if err == nil {
		return false, nil
	}
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return false, fmt.Errorf("look up bucket %s: %w", want.Bucket, err)
	}
	_, err = js.CreateKeyValue(ctx, want)
	if err != nil && !errors.Is(err, jetstream.ErrBucketExists) {
		return false, fmt.Errorf("create bucket %s: %w", want.Bucket, err)
	}
	return err == nil, nil
}

func ensureStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig) (made bool, err error) {
	stream, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if _, err := js.CreateStream(ctx, want); err != nil {
			return false, fmt.Errorf("create stream %s: %w", want.Name, err)
		}
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up stream %s: %w", want.Name, err)
	}
	have := stream.CachedInfo().Config
	id, needsID := want.Metadata[IncarnationKey]
	if !needsID || have.Metadata[IncarnationKey] != "" {
		return false, nil
	}
	have.Metadata = maps.Clone(have.Metadata)
	if have.Metadata == nil {
		have.Metadata = make(map[string]string)
	}
	// A stream without metadata counts as the stream that was projected. If it is another
	// stream, the projector reports a fork. A new incarnation would project every event twice.
	if journalled, err := lease.JournalledIncarnation(ctx, js, want.Name); err != nil {
		return false, err
	} else if journalled != "" {
		id = journalled
	}
	have.Metadata[IncarnationKey] = id
	if _, err := js.UpdateStream(ctx, have); err != nil {
		return false, fmt.Errorf("give stream %s an incarnation: %w", want.Name, err)
	}
	return false, nil
}
