package streamio

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/schema"
)

// ErrPartitions means that the number of streams of events differs from the requested number.
// The number is fixed when the streams are created.
var ErrPartitions = errors.New("the number of partitions cannot be changed")

// ReadPartitions reads the number of streams of events from the server. Errors: [ErrNoStream]
// if all or some of the streams are missing.
func ReadPartitions(ctx context.Context, js jetstream.JetStream) (schema.Partitions, error) {
	n, names, err := readPartitions(ctx, js)
	if err != nil {
		return 0, err
	}
	for _, s := range n.EventStreams() {
		if !slices.Contains(names, s.Name) {
			return 0, fmt.Errorf("%s, one of %d: %w", s.Name, n, ErrNoStream)
		}
	}
	return n, nil
}

// readPartitions returns the number of partitions in the streams' metadata, and the names of
// the existing streams.
func readPartitions(ctx context.Context, js jetstream.JetStream) (n schema.Partitions, names []string, err error) {
	list := js.ListStreams(ctx, jetstream.WithStreamListSubject(schema.AllSubjects))
	var found []*jetstream.StreamInfo
	for info := range list.Info() {
		found = append(found, info)
	}
	if err := list.Err(); err != nil {
		return 0, nil, fmt.Errorf("list the streams of events: %w", err)
	}
	for _, info := range found {
		of, err := schema.ParsePartitions(info.Config.Metadata[schema.PartitionsKey])
		if err != nil {
			return 0, nil, fmt.Errorf("stream %s: %w", info.Config.Name, err)
		}
		if n > 0 && of != n {
			return 0, nil, fmt.Errorf("%w: the streams %v are of %d, the stream %s is of %d", ErrPartitions, names, n, info.Config.Name, of)
		}
		n, names = of, append(names, info.Config.Name)
	}
	if n == 0 {
		return 0, nil, ErrNoStream
	}
	return n, names, nil
}
