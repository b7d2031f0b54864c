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

// refusals replaces events that the server refuses permanently while it accepts others.
// These events are too large for the server's limits, or their subject is not permitted or
// belongs to no stream.
//
// A context.facts.dropped takes the event's place, with the event's id, sequence, time and
// correlation ids. The sequences therefore have no holes, and a repeated attempt finds the
// record under the event's id. An event is dropped only after the stream has stored the
// record. The stored record proves that the event itself causes the error.
//
// The senders of several streams share one refusals. Safe for concurrent use.
type refusals struct {
	lost atomic.Int64

	mu       sync.Mutex // guards subjects
	subjects map[string]refusedSubject
}

// refusedSubject is a refused subject. The refusal is remembered for a while, because each
// detection takes seconds.
type refusedSubject struct {
	reason string
	until  time.Time
}

const (
	refusedFor = time.Minute
	// soloTimeout is the wait for a single event. After this time, and after a permission
	// error of the server, the subject counts as not permitted.
	soloTimeout = 2 * time.Second
)

// headerExceedsMaximum has no name in the server's client.
const headerExceedsMaximum jetstream.ErrorCode = 10097

// lossObject ends the subject of the record of a loss.
var lossObject = func() string {
	object, verb := schema.TypeFactsDropped.ObjectVerb()
	return object + "." + verb
}()

// possible reports whether one event of a batch may have caused the batch's error.
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

// denied returns the server's last permission error, or nil. The server sends this error
// separately, and the acknowledgment never arrives.
func denied(nc *nats.Conn) error {
	if err := nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) {
		return err
	}
	return nil
}

// reason returns the reason why the server refuses m permanently, or "".
func (r *refusals) reason(ctx context.Context, js jetstream.JetStream, m *nats.Msg, err error) string {
	switch {
	case tooLargeForServer(err):
		return fmt.Sprintf("larger than the server takes (%d bytes)", messageBytes(m))
	case timedOut(err):
		if said := denied(js.Conn()); said != nil && strings.Contains(said.Error(), `"`+m.Subject+`"`) {
			return "the server does not permit its subject"
		}
	case noResponders(err):
		// A server that is starting also gives no answer. The server has started when it
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

// replaceKnown replaces events on recently refused subjects by records of their loss, and
// returns the number of these events.
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

// settle publishes the record of the loss of m, which failed with err, or returns err.
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

// lossOf returns the record that takes the place of an event.
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

// Refused returns the number of refused events with a record of their loss in the stream.
func (p *Publisher) Refused() int64 {
	if p.sender.refusals == nil {
		return 0
	}
	return p.sender.refusals.lost.Load()
}
