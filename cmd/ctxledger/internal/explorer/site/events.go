package site

import (
	"fmt"
	"net/http"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/access"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
)

const (
	mostStreams = 64                     // open event streams; more are refused
	lookEvery   = 500 * time.Millisecond // how often a stream looks for new facts
	writeWithin = 5 * time.Second        // a browser that stops reading loses its stream
)

// follow sends an event each time a session has new facts. The event has the number of facts. A
// comment every look keeps the connection open and shows whether the browser still reads.
func (s *site) follow(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too many pages follow sessions: close some", http.StatusServiceUnavailable)
		return
	}
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	arguments := map[string]string{"session_id": r.PathValue("session"), "tenant": r.URL.Query().Get("tenant")}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var seen int64
	for access.Still(r.Context()) {
		text := ":\n\n"
		if l, err := s.Open(r.Context()); err == nil {
			rows, err := answer.Ask(r.Context(), l, "sessions", arguments)
			if err == nil && len(rows) == 1 {
				if n := rows[0].Count("events"); n != seen {
					if seen != 0 {
						text = fmt.Sprintf("event: change\ndata: %d\n\n", n)
					}
					seen = n
				}
			}
		}
		if err := out.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
			return
		}
		if _, err := w.Write([]byte(text)); err != nil {
			return
		}
		if err := out.Flush(); err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}
