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
// siblings are therefore left out. A redaction applies to all partitions once its projector has
// committed it.
//
// A tenant's own streams are the exception: the shared streams have earlier events of the tenant, and
// get no more. Its own streams therefore begin after these events are in the ledger, and know them.
type siblings struct {
	kv           jetstream.KeyValue
	tenant       string                 // whose own stream this is; "" for a shared one
	incarnations []uuid.UUID            // of the streams whose events are not known here
	several      bool                   // the stream has other partitions
	earlier      []streamio.EventStream // the shared streams, for a tenant's own stream
	heard        uint64                 // the revision of the key that the fingerprints include
	listened     time.Time              // the time of the last check of the key
}

// listenEvery is the shortest interval between two loads of fingerprints. A redaction of one
// stream is unknown in the other streams until its commit, and for up to this interval.
const listenEvery = time.Second

// redactionsKey is a key of the lease bucket, used where there are several partitions. Every
// commit of a redaction changes the entry. The value of the entry is empty.
const redactionsKey = "redactions"

// key is the key of the partitions of the stream.
func (s *siblings) key() string {
	if s.tenant == "" {
		return redactionsKey
	}
	return redactionsKey + "." + s.tenant
}

// open finds the siblings of a stream, and reports whether they have changed.
func (s *siblings) open(ctx context.Context, js jetstream.JetStream, stream jetstream.Stream) (changed bool, err error) {
	streams, err := streamio.ReadStreams(ctx, js)
	if err != nil {
		return false, err
	}
	name := stream.CachedInfo().Config.Name
	s.tenant, _, _ = schema.ParseStreamName(name)
	s.several, s.earlier = false, nil
	var found []uuid.UUID
	for _, other := range streams {
		switch {
		case other.Name == name:
		case s.tenant != "" && other.Tenant == "":
			s.earlier = append(s.earlier, other)
		case other.Incarnation != uuid.Nil: // without one it has no projected events
			found = append(found, other.Incarnation)
			s.several = s.several || other.Tenant == s.tenant
		}
	}
	changed = !slices.Equal(found, s.incarnations)
	s.incarnations = found
	return changed, nil
}

// errEarlier means that the shared streams have events of the tenant that are not in the ledger yet.
var errEarlier = errors.New("a shared stream has earlier events of the tenant that are not in the ledger: the stream of the tenant waits until they are projected")

// awaitEarlier returns an error until the tenant's events of the shared streams are in the ledger, or in those of the
// other shards. The shared streams get no more of them. An event that is repeated in the tenant's own stream is then
// known, and a value that was redacted is withheld.
func (rc *recovery) awaitEarlier(ctx context.Context) error {
	for _, shared := range rc.siblings.earlier {
		stream, err := rc.config.JetStream.Stream(ctx, shared.Name)
		if err != nil {
			return fmt.Errorf("look up stream %s: %w", shared.Name, err)
		}
		newest, err := stream.GetLastMsgForSubject(ctx, schema.TenantSubjects(rc.siblings.tenant))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("look for events of tenant %s in stream %s: %w", rc.siblings.tenant, shared.Name, err)
		}
		through, err := rc.store.CommittedAnywhere(ctx, shared.Incarnation)
		if err != nil {
			return err
		}
		if through < newest.Sequence {
			return fmt.Errorf("%w (%s, sequence %d)", errEarlier, shared.Name, newest.Sequence)
		}
	}
	return nil
}

// brought reports whether an event with this incarnation belongs to a sibling.
func (s *siblings) brought(incarnation uuid.UUID) bool {
	return slices.Contains(s.incarnations, incarnation)
}

// news reports whether a redaction was committed since the fingerprints were loaded.
func (s *siblings) news(ctx context.Context) (bool, error) {
	if !s.several || time.Since(s.listened) < listenEvery {
		return false, nil
	}
	s.listened = time.Now()
	revision, err := s.revision(ctx)
	return revision != s.heard, err
}

// revision returns the revision of the key, and 0 if no redaction was committed.
func (s *siblings) revision(ctx context.Context) (uint64, error) {
	if !s.several {
		return 0, nil
	}
	entry, err := s.kv.Get(ctx, s.key())
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("look for redactions of other streams: %w", err)
	}
	return entry.Revision(), nil
}

// tell notifies the siblings of a committed redaction.
func (s *siblings) tell(ctx context.Context) error {
	if !s.several {
		return nil
	}
	if _, err := s.kv.Put(ctx, s.key(), nil); err != nil {
		return fmt.Errorf("tell other streams of redactions: %w", err)
	}
	return nil
}

// hearSiblings loads the fingerprints again when another projector has committed redactions.
// The goroutine that builds batches calls it.
func (b *builder) hearSiblings(ctx context.Context) error {
	var news bool
	err := b.persist(ctx, "look for redactions", func() (err error) {
		news, err = b.siblings.news(ctx)
		return err
	})
	if err != nil || !news {
		return err
	}
	if err := b.awaitCommits(ctx); err != nil {
		return err
	}
	return b.loadWithheld(ctx)
}

// tellSiblings runs after a commit of redactions. tellSiblings also runs at every start on a ledger with commits
// of the stream, because an earlier projector may have ended between the two steps.
func (s *shared) tellSiblings(ctx context.Context) error {
	return s.persist(ctx, "tell of redactions", func() error { return s.siblings.tell(ctx) })
}
