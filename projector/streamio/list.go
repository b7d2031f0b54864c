package streamio

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/schema"
)

// ReadInfos reads the streams of the account whose names are kept, in the order of the names. If keep is nil,
// all are. A stream that is deleted meanwhile is left out. A stream without a leader is an error of the
// connection: repeat the call.
//
// ReadInfos asks for the names, then for each stream. JetStream's own list of streams cannot be used:
// a cluster leaves out the streams whose leaders do not answer in 4 seconds, and the client does not
// tell which.
func ReadInfos(ctx context.Context, js jetstream.JetStream, keep func(name string) bool) ([]*jetstream.StreamInfo, error) {
	names, err := readNames(ctx, js, keep)
	if err != nil {
		return nil, err
	}
	var infos []*jetstream.StreamInfo
	for _, name := range names {
		stream, err := js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look up stream %s: %w", name, err)
		}
		infos = append(infos, stream.CachedInfo())
	}
	return infos, nil
}

// readNames reads the names of the streams of the account that are kept, in their order. A cluster has them all, also
// of streams without a leader.
func readNames(ctx context.Context, js jetstream.JetStream, keep func(name string) bool) (names []string, err error) {
	list := js.StreamNames(ctx)
	for name := range list.Name() {
		if keep == nil || keep(name) {
			names = append(names, name)
		}
	}
	if err := list.Err(); err != nil {
		return nil, fmt.Errorf("list the streams: %w", err)
	}
	return names, nil
}

// holdsEvents reports whether a stream with this name has events.
func holdsEvents(name string) bool {
	_, _, ok := schema.ParseStreamName(name)
	return ok
}
