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
	senders  []*sender // one for each partition, in order
	known    bool      // the number of partitions is known
	marked   uint64    // see mark
	stored   []bool    // by partition: its part of the last batch is stored
}

func newRoute(js jetstream.JetStream) *route { return &route{js: js} }

// try is [sender.try] for every stream of the batch's messages, concurrently. The error is
// the error of the first failed stream. Other streams may have stored their part, and the
// next attempt leaves them out.
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

// locate records the ends of the streams, as [sender.locate] does, and reports whether it
// did so for any stream.
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

// mark sets the last sequence of an earlier process. No stream holds later messages of this
// producer at or below the sequence. 0 means unknown.
func (r *route) mark(sequence uint64) { r.marked = sequence }

// acked returns the sequence to mark: the lowest of the streams' last acknowledged
// sequences.
func (r *route) acked() uint64 {
	lowest := r.marked
	for i, s := range r.senders {
		if i == 0 || s.acked < lowest {
			lowest = s.acked
		}
	}
	return lowest
}

// find finds out the number of streams, once and again after each failure, because the
// streams may have changed. Without streams, or without the right to read them, find
// returns no error: publishing gives one.
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
	n, err := FindPartitions(ctx, r.js)
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

// FindPartitions asks the server for the number of streams with events. Without any stream it
// returns 1 with the error.
func FindPartitions(ctx context.Context, js jetstream.JetStream) (schema.Partitions, error) {
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
