package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/schema"
)

// route sends batches to the streams of their messages. All events of a session are in one
// stream, so they keep the order of the batches. The part of a batch for one stream is
// stored as a whole or not at all. A route is for one goroutine at a time.
type route struct {
	js       jetstream.JetStream
	refusals *refusals // shared by all senders; nil returns refused messages to the caller
	taken    takenIDs
	homes    map[string]Home    // by tenant
	senders  map[string]*sender // by stream
	marked   uint64             // see mark
	stored   map[string]bool    // by stream: its part of the last batch is stored
}

func newRoute(js jetstream.JetStream) *route {
	return &route{js: js, homes: make(map[string]Home), senders: make(map[string]*sender)}
}

// try is [sender.try] for every stream of the batch's messages, concurrently. The error is
// the error of a failed stream. Other streams may have stored their part, and the
// next attempt leaves them out.
func (r *route) try(batch []*nats.Msg, again bool) error {
	if !again || r.stored == nil {
		r.stored = make(map[string]bool)
	}
	parts, err := r.split(batch, again)
	if err != nil {
		return err
	}
	errs := make(map[string]error, len(parts))
	var mu sync.Mutex // guards errs
	var sending sync.WaitGroup
	for name, part := range parts {
		if r.stored[name] {
			continue
		}
		s := r.senders[name]
		sending.Go(func() {
			err := s.try(part, again)
			mu.Lock()
			defer mu.Unlock()
			errs[name] = err
		})
	}
	sending.Wait()
	for name, failed := range errs {
		r.stored[name] = failed == nil
		err = cmp.Or(err, failed)
	}
	return err
}

// split returns the part of a batch for each stream. All streams of its tenants have a sender then.
func (r *route) split(batch []*nats.Msg, again bool) (map[string][]*nats.Msg, error) {
	asked := make(map[string]bool)
	parts := make(map[string][]*nats.Msg)
	for _, m := range batch {
		tenant := schema.SubjectTenant(m.Subject)
		if !asked[tenant] {
			if err := r.find(tenant, again); err != nil {
				return nil, err
			}
			r.open(tenant)
			asked[tenant] = true
		}
		name := r.homes[tenant].Stream(m.Subject)
		parts[name] = append(parts[name], m)
	}
	return parts, nil
}

// locate records the ends of the streams, with those of a batch, as [sender.locate] does, and reports whether
// it did so for any stream.
func (r *route) locate(batch []*nats.Msg) bool {
	if _, err := r.split(batch, false); err != nil {
		return false
	}
	var noted bool
	for _, s := range r.senders {
		noted = s.locate() || noted
	}
	return noted
}

// mark sets the last sequence of an earlier process. No stream holds later messages of this
// producer at or below the sequence. 0 means unknown.
func (r *route) mark(sequence uint64) { r.marked = sequence }

// acked returns the sequence to mark: the lowest of the streams' last acknowledged
// sequences.
func (r *route) acked() uint64 {
	lowest, any := r.marked, false
	for _, s := range r.senders {
		if !any || s.acked < lowest {
			lowest, any = s.acked, true
		}
	}
	return lowest
}

// find finds out the streams of a tenant, once and again after each failure, because the
// streams may have changed. Without the right to read the streams, find returns no error:
// publishing gives one.
func (r *route) find(tenant string, again bool) error {
	if _, known := r.homes[tenant]; known && !again {
		return nil
	}
	up, stop := context.WithTimeout(context.Background(), connectTimeout)
	defer stop()
	if err := connected(up, r.js.Conn()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	home, err := FindHome(ctx, r.js, tenant)
	switch {
	case err == nil:
		r.homes[tenant] = home
	case !errors.Is(err, jetstream.ErrStreamNotFound) && !PublishOnly(err):
		return fmt.Errorf("find the streams: %w", err)
	case again && errors.Is(err, jetstream.ErrStreamNotFound):
		return fmt.Errorf("no stream takes the events of tenant %s: run `ctxledger migrate --tenant %[1]s`: %w", schema.TenantOf(tenant), nats.ErrNoResponders)
	}
	return nil
}

// open makes the senders for the streams of a tenant.
func (r *route) open(tenant string) {
	names := r.homes[tenant].names()
	for i, name := range names {
		if r.senders[name] == nil {
			subject := schema.Partitions(len(names)).SubjectsOf(i, schema.TenantOf(tenant))[0]
			r.senders[name] = &sender{js: r.js, subject: subject, refusals: r.refusals, taken: &r.taken, acked: r.marked, located: r.marked > 0}
		}
	}
}

// Home is the streams that take the events of a tenant. The zero value is the stream that all tenants
// share.
type Home struct{ streams []string } // by partition

// Stream returns the name of the stream of a subject.
func (h Home) Stream(subject string) string {
	names := h.names()
	return names[schema.Partitions(len(names)).Of(subject)]
}

var one = []string{schema.EventStream}

func (h Home) names() []string {
	if len(h.streams) == 0 {
		return one
	}
	return h.streams
}

// FindHome asks the server for the streams of a tenant. Without any stream it returns the zero value
// with the error.
func FindHome(ctx context.Context, js jetstream.JetStream, tenant string) (Home, error) {
	name, err := js.StreamNameBySubject(ctx, schema.TenantSubjects(tenant))
	if err != nil || name == schema.EventStream {
		return Home{}, err
	}
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return Home{}, err
	}
	n, err := schema.ParsePartitions(stream.CachedInfo().Config.Metadata[schema.PartitionsKey])
	if err != nil {
		return Home{}, fmt.Errorf("stream %s: %w", name, err)
	}
	owner, _, _ := schema.ParseStreamName(name)
	h := Home{make([]string, n)}
	for i := range h.streams {
		h.streams[i] = n.StreamName(owner, i)
	}
	return h, nil
}
