package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/instance"
)

// readiness is the body of /readyz.
type readiness struct {
	Ready       bool   `json:"ready"`      // all of the three
	NATS        bool   `json:"nats"`       // connected
	ClickHouse  bool   `json:"clickhouse"` // answers
	Projector   bool   `json:"projector"`  // holds the lease and has recovered
	Committed   uint64 `json:"committed"`  // last stream sequence that is in the tables
	Events      uint64 `json:"events"`     // projected since the start, like the next two
	Duplicates  uint64 `json:"duplicates"`
	Quarantined uint64 `json:"quarantined"`
}

func ready(ctx context.Context, i *instance.Instance) readiness {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s := i.Projector.Status()
	r := readiness{
		NATS: i.NATS.IsConnected(), ClickHouse: i.Ledger.Ping(ctx) == nil, Projector: s.Ready,
		Committed: s.Committed, Events: s.Events, Duplicates: s.Duplicates, Quarantined: s.Quarantined,
	}
	r.Ready = r.NATS && r.ClickHouse && r.Projector
	return r
}

// healthHandler answers /healthz while the process lives and /readyz with 200
// while events are projected, 503 while they are not.
func healthHandler(i *instance.Instance) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		state := ready(r.Context(), i)
		w.Header().Set("Content-Type", "application/json")
		if !state.Ready {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.MarshalWrite(w, state) // the client may have gone
	})
	return mux
}
