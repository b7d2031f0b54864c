package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/ctxledger/ctxledger/schema"
)

// refusals takes events out of the way that the server refuses for themselves
// and for ever, while it takes others: ones too large for its limits, or on a
// subject that it does not permit or that no stream takes.
//
// The record of such a loss, a context.facts.dropped, takes the event's place:
// its id, its sequence, its time and its correlation ids. So the order and the
// sequences stay whole, and a repeat finds the one as it would have found the
// other. An event is only given up once the stream has taken that record, which
// proves that the stream is there and the fault the event's own.
//
// The senders of several streams share one. Safe for concurrent use.
type refusals struct {
	lost atomic.Int64

	mu       sync.Mutex // guards subjects
	subjects map[string]refusedSubject
}

// refusedSubject is remembered for a while, because it takes seconds to learn.
type refusedSubject struct {
	reason string
	until  time.Time
}

const (
	refusedFor = time.Minute
	// soloTimeout is how long a single event is waited for before the server is
	// taken not to permit it, if it also said so.
	soloTimeout = 2 * time.Second
)

// headerExceedsMaximum has no name in the server's client.
const headerExceedsMaximum jetstream.ErrorCode = 10097

// lossObject ends the subject of the record of a loss.
var lossObject = func() string {
	object, verb := schema.TypeFactsDropped.ObjectVerb()
	return object + "." + verb
}()

// possible reports whether an error of a batch may be that of one event in it.
func (r *refusals) possible(err error, nc *nats.Conn) bool {
	return err != nil && (tooLargeForServer(err) || errors.Is(err, jetstreamext.ErrBatchPublishIncomplete) || noResponders(err) || timedOut(err) && denied(nc) != nil)
}

func tooLargeForServer(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, nats.ErrMaxPayload) ||
		errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamMessageExceedsMaximum || api.ErrorCode == headerExceedsMaximum)
}

func noResponders(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse)
}

func timedOut(err error) bool {
	return errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded)
}

// denied returns what the server said last about permissions, or nil. It says so
// beside the acknowledgement, which never comes.
func denied(nc *nats.Conn) error {
	if err := nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) {
		return err
	}
	return nil
}

// reason says why the server refuses m for itself and for ever, or "".
func (r *refusals) reason(ctx context.Context, js jetstream.JetStream, m *nats.Msg, err error) string {
	switch {
	case tooLargeForServer(err):
		return fmt.Sprintf("larger than the server takes (%d bytes)", messageBytes(m))
	case timedOut(err):
		if said := denied(js.Conn()); said != nil && strings.Contains(said.Error(), `"`+m.Subject+`"`) {
			return "the server does not permit its subject"
		}
	case noResponders(err):
		// While the server starts nobody answers either; it has started when it
		// knows the stream.
		if _, err := js.StreamNameBySubject(ctx, subjectScope(m.Subject)+lossObject); err != nil {
			return ""
		}
		if _, err := js.StreamNameBySubject(ctx, m.Subject); errors.Is(err, jetstream.ErrStreamNotFound) {
			return "no stream takes its subject"
		}
	}
	return ""
}

// replaceKnown puts records in the place of events on subjects that were refused
// lately, and returns how many.
func (r *refusals) replaceKnown(batch []*nats.Msg) (replaced []*nats.Msg, lost int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.subjects) == 0 {
		return batch, 0
	}
	replaced = slices.Clone(batch)
	for i, m := range batch {
		known, ok := r.subjects[m.Subject]
		switch {
		case !ok:
		case time.Now().After(known.until):
			delete(r.subjects, m.Subject)
		default:
			if record, err := lossOf(m, known.reason); err == nil {
				replaced[i] = record
				lost++
			}
		}
	}
	return replaced, lost
}

// settle publishes the record of the loss of m, which failed with err, or
// returns err.
func (r *refusals) settle(ctx context.Context, s *sender, m *nats.Msg, err error) (*jetstream.PubAck, error) {
	reason := r.reason(ctx, s.js, m, err)
	if reason == "" {
		return nil, err
	}
	record, parseErr := lossOf(m, reason)
	if parseErr != nil {
		return nil, err
	}
	ack, recordErr := s.publishOne(ctx, record)
	if recordErr != nil {
		return nil, err
	}
	r.lost.Add(1)
	if !tooLargeForServer(err) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.subjects == nil {
			r.subjects = make(map[string]refusedSubject)
		}
		r.subjects[m.Subject] = refusedSubject{reason, time.Now().Add(refusedFor)}
	}
	return ack, nil
}

// lossOf is the record that takes the place of an event.
func lossOf(m *nats.Msg, reason string) (*nats.Msg, error) {
	lost, err := schema.ParseMessage(m.Header, m.Data)
	if err != nil {
		return nil, err
	}
	fact := &schema.FactsDropped{DropID: "drop:" + lost.ID, Count: new(int64(1)), Reason: string(lost.EventType()) + ": " + reason}
	if lost.Sequence != nil {
		fact.Sequences = []schema.SequenceRanges{{Source: lost.Source, Ranges: [][2]int64{{*lost.Sequence, *lost.Sequence}}}}
	}
	e, err := schema.NewEvent(fact, lost.ID, lost.Source, lost.Time, lost.Correlation)
	if err != nil {
		return nil, err
	}
	e.Sequence, e.TraceParent, e.TraceState = lost.Sequence, lost.TraceParent, lost.TraceState
	record := e.Binary()
	return &nats.Msg{Subject: record.Subject, Header: record.Header, Data: record.Data}, nil
}

// Refused counts what the server refused and the record of the loss replaced.
func (p *Publisher) Refused() int64 {
	if p.sender.refusals == nil {
		return 0
	}
	return p.sender.refusals.lost.Load()
}
