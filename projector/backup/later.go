package backup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/projector/streamio"
)

// readLater calls visit for each message of a stream after s.After, up to s.Last.
func readLater(ctx context.Context, js jetstream.JetStream, s Stream, visit func(record) error) error {
	stream, err := js.Stream(ctx, s.Name)
	if err != nil {
		return fmt.Errorf("look up stream %s: %w", s.Name, err)
	}
	err = streamio.Each(ctx, stream, streamio.Selection{After: s.After}, func(msg jetstream.Msg, meta *jetstream.MsgMetadata) error {
		if meta.Sequence.Stream > s.Last {
			return errEnough
		}
		return visit(record{sequence: meta.Sequence.Stream, at: meta.Timestamp, subject: msg.Subject(), header: headerText(msg.Headers()), data: msg.Data()})
	})
	if err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("read the stream after %d: %w", s.After, err)
	}
	return nil
}

// headerText returns headers in the format of the protocol of NATS. They are in the order of their names,
// and are read as the same headers again.
func headerText(headers nats.Header) []byte {
	if len(headers) == 0 {
		return nil
	}
	text := []byte("NATS/1.0\r\n")
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		for _, value := range headers[name] {
			text = fmt.Appendf(text, "%s: %s\r\n", name, value)
		}
	}
	return append(text, "\r\n"...)
}
