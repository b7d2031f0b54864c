package streamio

import (
	"errors"
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/schema"
)

// emptyServer is a separate JetStream without streams.
func emptyServer(t *testing.T) jetstream.JetStream {
	t.Helper()
	return embeddedtest.NATS(t).JetStream(t)
}

func TestEnsureSeveralPartitions(t *testing.T) {
	t.Parallel()
	js := emptyServer(t)
	if _, err := ReadPartitions(t.Context(), js); !errors.Is(err, ErrNoStream) {
		t.Fatal(err)
	}
	created, err := Ensure(t.Context(), js, Layout{Partitions: 4})
	if err != nil || !slices.Contains(created, "created stream CTX_3") || slices.Contains(created, "created stream CTX") {
		t.Fatal(created, err)
	}
	var incarnations []string
	for _, s := range schema.Partitions(4).EventStreams() {
		_, incarnation, err := OpenStream(t.Context(), js, s.Name)
		if err != nil || slices.Contains(incarnations, incarnation.String()) {
			t.Fatalf("%s: %v %v", s.Name, incarnation, err)
		}
		incarnations = append(incarnations, incarnation.String())
	}
	for _, n := range []schema.Partitions{0, 4} {
		if created, err := Ensure(t.Context(), js, Layout{Partitions: n}); err != nil || len(created) > 0 {
			t.Errorf("%d again: %v %v", n, created, err)
		}
	}
	for _, n := range []schema.Partitions{1, 2, 8, 3} {
		if created, err := Ensure(t.Context(), js, Layout{Partitions: n}); !errors.Is(err, ErrPartitions) || len(created) > 0 {
			t.Errorf("%d of 4: %v %v", n, created, err)
		}
	}
	// The state after an interrupted set-up.
	if err := js.DeleteStream(t.Context(), "CTX_1"); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPartitions(t.Context(), js); !errors.Is(err, ErrNoStream) {
		t.Error(err)
	}
	if created, err := EnsureStreams(t.Context(), js); err != nil || !slices.Equal(created, []string{"created stream CTX_1"}) {
		t.Error(created, err)
	}
	if n, err := ReadPartitions(t.Context(), js); err != nil || n != 4 {
		t.Error(n, err)
	}
}

func TestEnsureOnePartition(t *testing.T) {
	t.Parallel()
	js := emptyServer(t)
	if created, err := Ensure(t.Context(), js, Layout{Partitions: 3}); err == nil || len(created) > 0 {
		t.Errorf("3: %v %v", created, err)
	}
	if _, err := EnsureStreams(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), schema.EventStream)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := stream.CachedInfo().Config.Metadata[schema.PartitionsKey]; ok {
		t.Error("the metadata of the only stream names several partitions")
	}
	if n, err := ReadPartitions(t.Context(), js); err != nil || n != 1 {
		t.Error(n, err)
	}
	if _, err := Ensure(t.Context(), js, Layout{Partitions: 2}); !errors.Is(err, ErrPartitions) {
		t.Error(err)
	}
}
