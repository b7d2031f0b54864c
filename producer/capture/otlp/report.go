package otlp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ctxledger/ctxledger/producer/capture"
	"github.com/ctxledger/ctxledger/schema"
)

// Errors of [Reporter.Report] besides [ErrMalformed].
var (
	// ErrBusy means that the recorder has no room, or that neither the stream nor the outbox had
	// the facts in time. Some calls may be recorded; send the body again.
	ErrBusy = errors.New("the calls are not recorded yet")
	// ErrTenant means that the recorder records for another tenant.
	ErrTenant = errors.New("telemetry is recorded for another tenant")
)

const (
	// remembered is the number of calls that a Reporter remembers.
	remembered = 20_000
	// storeTimeout limits the wait for the stream or the outbox.
	storeTimeout = 10 * time.Second
)

// Reporter records the model calls of OTLP bodies. Safe for concurrent use.
type Reporter struct {
	recorder *capture.Recorder
	tenant   string

	mu    sync.Mutex // guards the fields below
	seen  map[string]bool
	order []string // keys of seen, oldest first
}

// NewReporter returns a Reporter for a recorder and its tenant.
func NewReporter(recorder *capture.Recorder, tenant string) *Reporter {
	return &Reporter{recorder: recorder, tenant: schema.TenantOf(tenant), seen: make(map[string]bool)}
}

// Report records the model calls of one body. logs says that the body has log records, not spans.
// It returns the number of refused records, and a sentence for the emitter if there is something
// to say. The stream or the recorder's outbox has the facts when Report returns without an error.
func (r *Reporter) Report(ctx context.Context, tenant string, logs, fromJSON bool, body []byte) (refused int, message string, err error) {
	if schema.TenantOf(tenant) != r.tenant {
		return 0, "", ErrTenant
	}
	read := Traces
	if logs {
		read = Logs
	}
	found, err := read(body, fromJSON)
	if err != nil {
		return 0, "", err
	}
	unnamed, err := r.record(ctx, found.Calls)
	if err != nil {
		return 0, "", err
	}
	switch {
	case found.Refused > 0:
		message = fmt.Sprintf("%d model calls cannot be read: they have neither a conversation nor a trace, or no messages of a known form", found.Refused)
	case unnamed > 0:
		message = fmt.Sprintf("%d model calls name no conversation; their session is trace_<trace id>. Set gen_ai.conversation.id", unnamed)
	}
	return found.Refused, message, nil
}

// record records calls and waits for the stream or the outbox. It returns the number of calls
// without a conversation.
func (r *Reporter) record(ctx context.Context, calls []Call) (unnamed int, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	stored := make(chan error, len(calls))
	waiting := 0
	for i := range calls {
		call := &calls[i]
		if !r.begin(call.Key) {
			continue
		}
		if !r.recorder.Report(capture.Report{
			Exchange: call.Exchange, Session: call.Session, Agent: call.Agent, At: call.At, Partial: call.Partial,
			Done: func(err error) {
				if err != nil && !errors.Is(err, capture.ErrInMemory) {
					r.forget(call.Key) // the body comes again
				}
				stored <- err
			},
		}) {
			r.forget(call.Key)
			return 0, ErrBusy
		}
		waiting++
		if call.Unnamed {
			unnamed++
		}
	}
	if waiting < len(calls) { // an earlier body had the call, which may still wait
		if err := r.recorder.Flush(ctx); err != nil {
			return 0, fmt.Errorf("%w: %w", ErrBusy, err)
		}
	}
	for range waiting {
		select {
		case err := <-stored:
			if err != nil {
				return 0, fmt.Errorf("%w: %w", ErrBusy, err)
			}
		case <-ctx.Done():
			return 0, fmt.Errorf("%w: %w", ErrBusy, ctx.Err())
		}
	}
	return unnamed, nil
}

// begin reports whether the call is new. A call without a key always is.
func (r *Reporter) begin(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if key == "" {
		return true
	}
	if r.seen[key] {
		return false
	}
	r.seen[key] = true
	if r.order = append(r.order, key); len(r.order) > remembered {
		delete(r.seen, r.order[0])
		r.order = r.order[1:]
	}
	return true
}

func (r *Reporter) forget(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, key)
}
