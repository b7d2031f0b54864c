package otlp

import (
	"errors"
	"fmt"
	"sync"

	"github.com/ctxledger/ctxledger/producer/capture"
	"github.com/ctxledger/ctxledger/schema"
)

// Errors of [Reporter.Report] besides [ErrMalformed].
var (
	// ErrBusy means that the recorder has no room. Some calls may be recorded; send the body again.
	ErrBusy = errors.New("too many calls wait to be recorded")
	// ErrTenant means that the recorder records for another tenant.
	ErrTenant = errors.New("telemetry is recorded for another tenant")
)

// remembered is the number of calls that a Reporter remembers.
const remembered = 20_000

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
// to say. The facts are in the recorder's outbox or stream some moments later.
func (r *Reporter) Report(tenant string, logs, fromJSON bool, body []byte) (refused int, message string, err error) {
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
	unnamed := 0
	for i := range found.Calls {
		call := &found.Calls[i]
		if !r.begin(call.Key) {
			continue
		}
		if !r.recorder.Report(capture.Report{Exchange: call.Exchange, Session: call.Session, Agent: call.Agent, At: call.At, Partial: call.Partial}) {
			r.forget(call.Key)
			return 0, "", ErrBusy
		}
		if call.Unnamed {
			unnamed++
		}
	}
	switch {
	case found.Refused > 0:
		message = fmt.Sprintf("%d model calls cannot be read: they have neither a conversation nor a trace, or no messages of a known form", found.Refused)
	case unnamed > 0:
		message = fmt.Sprintf("%d model calls name no conversation; their session is trace_<trace id>. Set gen_ai.conversation.id", unnamed)
	}
	return found.Refused, message, nil
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
