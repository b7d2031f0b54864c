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

// route sends batches to the streams that their messages belong to. A session's
// events are all in one stream, so its order is that of the batches; what a
// batch holds for one stream is stored as a whole or not at all. It is for one
// goroutine at a time.
type route struct {
	js       jetstream.JetStream
	refusals *refusals // shared by all senders; nil leaves what is refused to the caller
	taken    takenIDs
	senders  []*sender // of the partitions, in order
	known    bool      // how many there are
	marked   uint64    // see mark
	stored   []bool    // by partition: it has its part of the batch that was tried last
}

func newRoute(js jetstream.JetStream) *route { return &route{js: js} }

// try is [sender.try] for every stream that the batch has messages for, at the
// same time. With an error, that of the first stream which failed, others may have
// taken their part; they are left out when the batch is tried again.
func (r *route) try(batch []*nats.Msg, again bool) error {
	if err := r.find(again); err != nil {
		return err
	}
	if !again || len(r.stored) != len(r.senders) {
		r.stored = make([]bool, len(r.senders))
	}
	parts := make([][]*nats.Msg, len(r.senders))
	for _, m := range batch {
		i := schema.Partitions(len(parts)).Of(m.Subject)
		parts[i] = append(parts[i], m)
	}
	errs := make([]error, len(parts))
	var sending sync.WaitGroup
	for i, part := range parts {
		if len(part) == 0 || r.stored[i] {
			continue
		}
		sending.Go(func() {
			errs[i] = r.senders[i].try(part, again)
			r.stored[i] = errs[i] == nil
		})
	}
	sending.Wait()
	return cmp.Or(errs...)
}

// locate notes where the streams end, as [sender.locate] does, and reports
// whether it did so for any of them.
func (r *route) locate() bool {
	if r.find(false) != nil {
		return false
	}
	var noted bool
	for _, s := range r.senders {
		noted = s.locate() || noted
	}
	return noted
}

// mark begins where an earlier process ended: no stream has anything of what is
// sent next at or below the sequence, 0 where that is not known.
func (r *route) mark(sequence uint64) { r.marked = sequence }

// acked is the sequence to mark: the lowest that a stream acknowledged last.
func (r *route) acked() uint64 {
	lowest := r.marked
	for i, s := range r.senders {
		if i == 0 || s.acked < lowest {
			lowest = s.acked
		}
	}
	return lowest
}

// find learns how many streams there are, once, and again after a failure: they
// may have been made anew. A server that has none, or does not let this account
// look, is left to say so to whoever publishes.
func (r *route) find(again bool) error {
	if r.known && !again {
		return nil
	}
	up, stop := context.WithTimeout(context.Background(), connectTimeout)
	defer stop()
	if err := connected(up, r.js.Conn()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	n, err := findPartitions(ctx, r.js)
	switch {
	case err == nil:
		r.known = true
	case !errors.Is(err, jetstream.ErrStreamNotFound) && !errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return fmt.Errorf("find the streams: %w", err)
	case len(r.senders) > 0:
		return nil
	default:
		n = 1
	}
	if len(r.senders) == int(n) {
		return nil
	}
	r.senders = make([]*sender, n)
	for i := range r.senders {
		r.senders[i] = &sender{js: r.js, subject: n.Stream(i).Subjects[0], refusals: r.refusals, taken: &r.taken, acked: r.marked, located: r.marked > 0}
	}
	return nil
}

// findPartitions asks the server in how many streams the events are.
func findPartitions(ctx context.Context, js jetstream.JetStream) (schema.Partitions, error) {
	name, err := js.StreamNameBySubject(ctx, schema.AllSubjects)
	if err != nil || name == schema.EventStream {
		return 1, err
	}
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return 0, err
	}
	n, err := schema.ParsePartitions(stream.CachedInfo().Config.Metadata[schema.PartitionsKey])
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", name, err)
	}
	return n, nil
}
