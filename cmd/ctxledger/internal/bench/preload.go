package bench

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/bench/mix"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// Preloaded describes the events in the stream. Sizes are in bytes per event.
type Preloaded struct {
	Events  int     `json:"events"`
	Seed    uint64  `json:"seed"`
	Data    float64 `json:"data_bytes"`    // mean size of the data
	Headers float64 `json:"header_bytes"`  // mean size of the headers, with the headers of the batch
	Stored  float64 `json:"stored_bytes"`  // stored bytes, with subject and frame
	Subject int     `json:"subject_count"` // distinct subjects
}

// preload publishes n events of a seed's mix into the stream, in atomic batches. preload returns
// when all are stored. Missing streams are created. progress may be nil.
func preload(ctx context.Context, js jetstream.JetStream, seed uint64, n int, progress Progress) (Preloaded, error) {
	p := Preloaded{Events: n, Seed: seed}
	if _, err := streamio.EnsureStreams(ctx, js); err != nil {
		return p, err
	}
	publisher, generator := publish.New(js, 0), mix.New(seed)
	var data, headers int
	for i := range n {
		if i%1000 == 0 && progress != nil {
			progress("publishing", int64(i), int64(n))
		}
		m := generator.Next().Binary()
		data += len(m.Data)
		for name, values := range m.Header {
			headers += len(name) + len(": \r\n") + len(values[0])
		}
		if err := publisher.Send(ctx, m); err != nil {
			return p, fmt.Errorf("preload: %w", err)
		}
	}
	if err := publisher.Flush(ctx); err != nil {
		return p, fmt.Errorf("preload: %w", err)
	}
	stream, err := js.Stream(ctx, schema.EventStream)
	if err != nil {
		return p, fmt.Errorf("read the stream's state: %w", err)
	}
	state := stream.CachedInfo().State
	p.Data, p.Headers = float64(data)/float64(n), float64(headers)/float64(n)
	p.Stored, p.Subject = float64(state.Bytes)/float64(state.Msgs), int(state.NumSubjects)
	return p, nil
}
