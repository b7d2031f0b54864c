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

// siblings are the other streams of events, none where there is one stream. What
// an event counts for is settled within its own stream, because only that has an
// order: the identities of siblings are left out. What a redaction withholds is
// withheld in all of them, from when its projector has committed it.
type siblings struct {
	kv           jetstream.KeyValue
	incarnations []uuid.UUID
	heard        uint64    // revision of redactionsKey that the fingerprints are of
	listened     time.Time // when that was asked for
}

// listenEvery is how often fingerprints are loaded anew at most: for so long, and
// until its commit, a redaction of one stream is not known in the others.
const listenEvery = time.Second

// redactionsKey is the entry of the lease bucket that every commit of a redaction
// changes, where there are several streams. Its value says nothing.
const redactionsKey = "redactions"

// open looks for the siblings of a stream, and reports whether they are others
// than before.
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
			continue // nothing is projected from it
		case err != nil:
			return false, err
		}
		found = append(found, incarnation)
	}
	changed = !slices.Equal(found, s.incarnations)
	s.incarnations = found
	return changed, nil
}

// brought reports whether an event of the ledger came by a sibling.
func (s *siblings) brought(incarnation uuid.UUID) bool {
	return slices.Contains(s.incarnations, incarnation)
}

// news reports whether a redaction was committed since it was last asked.
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

// tell lets the siblings know that a redaction is committed.
func (s *siblings) tell(ctx context.Context) error {
	if len(s.incarnations) == 0 {
		return nil
	}
	if _, err := s.kv.Put(ctx, redactionsKey, nil); err != nil {
		return fmt.Errorf("tell other streams of redactions: %w", err)
	}
	return nil
}

// hearSiblings loads the fingerprints anew when another projector has committed
// redactions. It belongs to the goroutine that builds batches.
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

// tellSiblings follows the commit of redactions, and comes at every start for
// those whose projector ended between the two.
func (s *shared) tellSiblings(ctx context.Context) error {
	return s.persist(ctx, "tell of redactions", func() error { return s.siblings.tell(ctx) })
}
