package status

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/storage"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/schema"
)

// A Projector is one projector of the process.
type Projector interface {
	Stream() string
	Health() projector.Health
	Status() projector.Status
}

// Process gives access to the parts of the process whose state is reported.
type Process struct {
	Projectors func() []Projector
	NATS       func(context.Context) error // returns why NATS stores nothing, as a reason; see [Connected]
	ClickHouse func(context.Context) error // returns an error if ClickHouse does not answer
	Metrics    prometheus.Gatherer
	Pages      http.Handler // answers all other paths; nil for none
	// Guard lets requests to all paths through, or refuses them. Nil lets all through.
	Guard func(http.Handler) http.Handler
}

// Readiness is the body of /readyz.
type Readiness struct {
	Ready       bool                `json:"ready"`              // all of the next three
	NATS        bool                `json:"nats"`               // NATS is connected, and says of itself that it stores
	ClickHouse  bool                `json:"clickhouse"`         // ClickHouse answers
	Projector   bool                `json:"projector"`          // every stream is projected here without failures, or awaited as standby
	Reasons     []string            `json:"reasons,omitempty"`  // why the process is not ready
	Warnings    []string            `json:"warnings,omitempty"` // what does not make the process unready: streams near their limits
	Streams     map[string]Progress `json:"streams"`
	Events      uint64              `json:"events"` // projected since the start, like the next two
	Duplicates  uint64              `json:"duplicates"`
	Quarantined uint64              `json:"quarantined"`
	LostFacts   uint64              `json:"lost_facts"`   // numbered facts of producers that did not arrive; see check_sequence_gaps
	UnknownKeys uint64              `json:"unknown_keys"` // missing keys that redactions name: their values are not recognised
}

// Progress is the state of the projector of one stream.
type Progress struct {
	State     projector.State `json:"state"`
	Committed uint64          `json:"committed"`         // the last committed sequence of the stream
	Waiting   string          `json:"waiting,omitempty"` // the step that is repeated, with the failed server
}

// liveness is the body of /healthz.
type liveness struct {
	Alive bool     `json:"alive"`
	Stuck []string `json:"stuck,omitempty"` // streams whose projector has work and makes no step
}

// patience is the time in which each server must answer a probe.
const patience = 1500 * time.Millisecond

// maxFailing is how long steps may fail without a commit in a process that is ready.
const maxFailing = 10 * time.Second

// ask begins a probe. The returned function waits for its answer, but no longer than patience. The client of
// a server that hangs may wait for a new connection beyond the end of its context.
func ask(ctx context.Context, probe func(context.Context) error) (answer func() error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	answered := make(chan error, 1)
	go func() { answered <- probe(ctx) }()
	return func() error {
		defer cancel()
		select {
		case err := <-answered:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ready asks both servers and every projector. ready takes at most about patience.
func (p Process) ready(ctx context.Context) Readiness {
	nats, clickhouse := ask(ctx, p.NATS), ask(ctx, p.ClickHouse)
	why := nats()
	r := Readiness{NATS: why == nil, ClickHouse: clickhouse() == nil, Projector: true, Streams: make(map[string]Progress)}
	if why != nil {
		r.Reasons = append(r.Reasons, why.Error())
	}
	if !r.ClickHouse {
		r.Reasons = append(r.Reasons, "ClickHouse does not answer")
	}
	for _, one := range p.Projectors() {
		r.add(one.Stream(), one.Health(), one.Status())
	}
	r.Ready = r.NATS && r.ClickHouse && r.Projector
	return r
}

// ofTenant names the tenant of a stream that one tenant has for its own.
func ofTenant(stream string) string {
	if tenant, _, _ := schema.ParseStreamName(stream); tenant != "" {
		return " of tenant " + tenant
	}
	return ""
}

func (r *Readiness) add(stream string, h projector.Health, s projector.Status) {
	r.Streams[stream] = Progress{h.State, s.Committed, h.Waiting}
	r.Events += s.Events
	r.Duplicates += s.Duplicates
	r.Quarantined += s.Quarantined
	r.LostFacts += s.Lost
	r.UnknownKeys = max(r.UnknownKeys, s.UnknownKeys)
	if near := float64(h.Bytes) > storage.NearLimit*float64(h.Limit); near && h.Limit > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("stream %s%s has %d of the %d bytes of its limit, and refuses events at the limit", stream, ofTenant(stream), h.Bytes, h.Limit))
	}
	reason := ""
	switch {
	case h.State != projector.Projecting && h.State != projector.Standby:
		reason = fmt.Sprintf("the projector of %s is %s", stream, h.State)
		if why := cmp.Or(h.Reason, h.Waiting); why != "" {
			reason += ": " + why
		}
	case h.Failing >= maxFailing:
		reason = fmt.Sprintf("the projector of %s has repeated a failed step for %s: %s", stream, h.Failing.Truncate(time.Second), h.Waiting)
	case s.UnknownKeys > 0:
		reason = fmt.Sprintf("the projector of %s lacks %d keys that redactions name, and does not recognise their values: add the key files that the log names", stream, s.UnknownKeys)
	default:
		return
	}
	r.Projector = false
	r.Reasons = append(r.Reasons, reason)
}

// alive asks the projectors and no server.
func (p Process) alive() liveness {
	var l liveness
	for _, one := range p.Projectors() {
		if one.Health().Stuck {
			l.Stuck = append(l.Stuck, one.Stream())
		}
	}
	l.Alive = len(l.Stuck) == 0
	return l
}

// Alive reports whether no projector is stuck, as /healthz does.
func (p Process) Alive() bool { return p.alive().Alive }

// Handler serves the three paths, and the pages behind all others.
func Handler(p Process) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		l := p.alive()
		answer(w, l.Alive, l)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		state := p.ready(r.Context())
		answer(w, state.Ready, state)
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(p.Metrics, promhttp.HandlerOpts{}))
	if p.Pages != nil {
		mux.Handle("/", p.Pages)
	}
	if p.Guard != nil {
		return p.Guard(mux)
	}
	return mux
}

// Serve answers requests on a listener until the returned server is closed.
func Serve(l net.Listener, p Process) *http.Server {
	server := &http.Server{Handler: Handler(p), ReadHeaderTimeout: 5 * time.Second}
	go server.Serve(l) // Serve ends only with Close
	return server
}

func answer(w http.ResponseWriter, well bool, body any) {
	w.Header().Set("Content-Type", "application/json")
	if !well {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.MarshalWrite(w, body, json.Deterministic(true)) // the client may be gone
}
