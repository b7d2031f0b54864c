package site

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/access"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/source"
)

const (
	mostStreams = 64                     // open event streams; more are refused
	lookEvery   = 500 * time.Millisecond // how often a stream looks for new events
)

// pace is the timing of event streams.
type pace struct {
	look   time.Duration // between two looks for new events
	write  time.Duration // a browser that does not read for so long loses its stream
	ending time.Duration // of each stream: a browser that is still there opens the next one by itself
}

var defaultPace = pace{lookEvery, 5 * time.Second, 10 * time.Minute}

// follow sends an event each time a session has new events. It has their number. The address has the
// number that the page knows, so that no event between page and stream is missed. Without a number, or with
// 0, the stream begins with an event if the session has any. A comment every look keeps the connection open.
// The comments of a stream fit into the buffers of a connection for hours, so its end, too, frees the place
// of a browser that stopped reading.
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
	place := source.Place{Tenant: r.URL.Query().Get("tenant"), Session: r.PathValue("session")}
	tick := time.NewTicker(s.pace.look)
	defer tick.Stop()
	end := time.NewTimer(s.pace.ending)
	defer end.Stop()
	seen, _ := strconv.ParseUint(r.URL.Query().Get("events"), 10, 64)
	for access.Still(r.Context()) {
		text := ":\n\n"
		if n := s.shared.events(r.Context(), s.open, place); n != 0 && n != seen {
			text, seen = fmt.Sprintf("event: change\ndata: %d\n\n", n), n
		}
		if err := out.SetWriteDeadline(time.Now().Add(s.pace.write)); err != nil {
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
		case <-end.C:
			return
		case <-tick.C:
		}
	}
}
