package projector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// siblings are the other streams of events, or none for a single stream. The identity of an
// event applies within its own stream, because only one stream has an order. The identities of
// siblings are therefore left out. A redaction applies to all streams once its projector has
// committed it.
type siblings struct {
	kv           jetstream.KeyValue
	incarnations []uuid.UUID
	heard        uint64    // the revision of redactionsKey that the fingerprints include
	listened     time.Time // the time of the last check of redactionsKey
}

// listenEvery is the shortest interval between two loads of fingerprints. A redaction of one
// stream is unknown in the other streams until its commit, and for up to this interval.
const listenEvery = time.Second

// redactionsKey is a key of the lease bucket, used where there are several streams. Every
// commit of a redaction changes the entry. The value of the entry is empty.
const redactionsKey = "redactions"

// open finds the siblings of a stream, and reports whether they have changed.
func (s *siblings) open(ctx context.Context, js jetstream.JetStream, stream jetstream.Stream) (changed bool, err error) {
	config := stream.CachedInfo().Config
	n, err := schema.ParsePartitions(config.Metadata[schema.PartitionsKey])
	if err != nil {
		return false, fmt.Errorf("stream %s: %w", config.Name, err)
	}
	var found []uuid.UUID
	for _, other := range n.EventStreams() {
		if n == 1 || other.Name == config.Name {
			continue
		}
		_, incarnation, err := streamio.OpenStream(ctx, js, other.Name)
		switch {
		case errors.Is(err, streamio.ErrNoStream), errors.Is(err, streamio.ErrNoIncarnation):
			continue // this stream has no projected events
		case err != nil:
			return false, err
		}
		found = append(found, incarnation)
	}
	changed = !slices.Equal(found, s.incarnations)
	s.incarnations = found
	return changed, nil
}

// brought reports whether an event with this incarnation belongs to a sibling.
func (s *siblings) brought(incarnation uuid.UUID) bool {
	return slices.Contains(s.incarnations, incarnation)
}

// news reports whether a redaction was committed since the last call.
func (s *siblings) news(ctx context.Context) (bool, error) {
	if len(s.incarnations) == 0 || time.Since(s.listened) < listenEvery {
		return false, nil
	}
	s.listened = time.Now()
	var revision uint64
	entry, err := s.kv.Get(ctx, redactionsKey)
	switch {
	case err == nil:
		revision = entry.Revision()
	case !errors.Is(err, jetstream.ErrKeyNotFound):
		return false, fmt.Errorf("look for redactions of other streams: %w", err)
	}
	changed := revision != s.heard
	s.heard = revision
	return changed, nil
}

// tell notifies the siblings of a committed redaction.
func (s *siblings) tell(ctx context.Context) error {
	if len(s.incarnations) == 0 {
		return nil
	}
	if _, err := s.kv.Put(ctx, redactionsKey, nil); err != nil {
		return fmt.Errorf("tell other streams of redactions: %w", err)
	}
	return nil
}

// hearSiblings loads the fingerprints again when another projector has committed redactions.
// The goroutine that builds batches calls it.
func (b *builder) hearSiblings(ctx context.Context) error {
	heard := b.siblings.heard
	var news bool
	err := b.persist(ctx, "look for redactions", func() (err error) {
		news, err = b.siblings.news(ctx)
		return err
	})
	if err != nil || !news {
		return err
	}
	if err = b.awaitCommits(ctx); err == nil {
		err = b.loadWithheld(ctx)
	}
	if err != nil {
		b.siblings.heard = heard
	}
	return err
}

// tellSiblings runs after a commit of redactions. tellSiblings also runs at every start, because an
// earlier projector may have ended between the two steps.
func (s *shared) tellSiblings(ctx context.Context) error {
	return s.persist(ctx, "tell of redactions", func() error { return s.siblings.tell(ctx) })
}
