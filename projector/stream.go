package projector

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/schema"
)

// The names of what ctxledger keeps in JetStream.
const (
	StreamName           = schema.EventStream
	QuarantineStreamName = schema.QuarantineStream
	LeaseBucket          = "ctxledger_leases"
)

// incarnationKey is the stream metadata that tells this stream from one that
// had the same name before.
const incarnationKey = "ctxledger_incarnation"

// ErrNoStream means that the stream does not exist: run migrate.
var ErrNoStream = errors.New("the stream " + StreamName + " does not exist: run `ctxledger migrate`")

var (
	errNoIncarnation = errors.New("the stream " + StreamName + " has no incarnation in its metadata: run `ctxledger migrate`")
	errNoBucket      = errors.New("the bucket " + LeaseBucket + " does not exist: run `ctxledger migrate`")
)

// EnsureStreams creates the streams and the lease bucket where they are
// missing, and gives a stream that has none an incarnation. It changes nothing
// else of a stream that exists: its limits belong to the operator. It returns
// the names of what it created.
func EnsureStreams(ctx context.Context, js jetstream.JetStream) ([]string, error) {
	var created []string
	for _, stream := range schema.Streams() {
		made, err := ensureStream(ctx, js, streamConfig(stream))
		if err != nil {
			return created, err
		}
		if made {
			created = append(created, "stream "+stream.Name)
		}
	}
	made, err := ensureBucket(ctx, js)
	if err != nil {
		return created, err
	}
	if made {
		created = append(created, "bucket "+LeaseBucket)
	}
	return created, nil
}

// streamConfig turns the contract's words into the server's. The stream of
// events has an incarnation.
func streamConfig(s schema.Stream) jetstream.StreamConfig {
	c := jetstream.StreamConfig{
		Name: s.Name, Subjects: []string{s.Subject}, Description: s.Description, AllowAtomicPublish: s.AtomicPublish, Duplicates: s.Duplicates,
	}
	if s.DiscardNew {
		c.Discard = jetstream.DiscardNew
	}
	if s.Name == StreamName {
		c.Metadata = map[string]string{incarnationKey: uuid.NewString()}
	}
	return c
}

func ensureBucket(ctx context.Context, js jetstream.JetStream) (made bool, err error) {
	_, err = js.KeyValue(ctx, LeaseBucket)
	if err == nil {
		return false, nil
	}
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return false, fmt.Errorf("look up bucket %s: %w", LeaseBucket, err)
	}
	_, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: LeaseBucket, Description: "ctxledger leases and journals", History: 1})
	if err != nil && !errors.Is(err, jetstream.ErrBucketExists) {
		return false, fmt.Errorf("create bucket %s: %w", LeaseBucket, err)
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
	id, needsID := want.Metadata[incarnationKey]
	if !needsID || have.Metadata[incarnationKey] != "" {
		return false, nil
	}
	have.Metadata = maps.Clone(have.Metadata)
	if have.Metadata == nil {
		have.Metadata = make(map[string]string)
	}
	have.Metadata[incarnationKey] = id
	if _, err := js.UpdateStream(ctx, have); err != nil {
		return false, fmt.Errorf("give stream %s an incarnation: %w", want.Name, err)
	}
	return false, nil
}

// openStream returns the stream and its incarnation.
func openStream(ctx context.Context, js jetstream.JetStream) (jetstream.Stream, uuid.UUID, error) {
	stream, err := js.Stream(ctx, StreamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, uuid.Nil, ErrNoStream
	}
	if err != nil {
		return nil, uuid.Nil, fmt.Errorf("look up stream %s: %w", StreamName, err)
	}
	incarnation, err := uuid.Parse(stream.CachedInfo().Config.Metadata[incarnationKey])
	if err != nil {
		return nil, uuid.Nil, errNoIncarnation
	}
	return stream, incarnation, nil
}
