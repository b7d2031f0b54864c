package site

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/source"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/view"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
)

// shared lets pages that follow the same session ask once. Without it ten open tabs would ask the
// ledger ten times for each new fact, and twenty times a second whether there is one. It is safe for
// concurrent use.
type shared struct {
	group singleflight.Group

	mu   sync.Mutex // guards seen
	seen map[source.Place]look
}

// look is the number of events of a session at a time.
type look struct {
	at     time.Time
	events uint64
}

// events returns the number of events of a session, see [read.Reader.EventRows], as it was at most
// half of lookEvery ago. It is 0 for a session that is not known, or that the ledger cannot tell
// about. The place has the tenant of the request, see [site.secure], so tenants share nothing.
func (s *shared) events(ctx context.Context, open func(context.Context) (context.Context, *ledger.Ledger, error), p source.Place) uint64 {
	s.mu.Lock()
	last, known := s.seen[p]
	s.mu.Unlock()
	if known && time.Since(last.at) < lookEvery/2 {
		return last.events
	}
	asked := time.Now()
	n, err, _ := s.group.Do(fmt.Sprintf("events %q", p), func() (any, error) {
		ctx, cancel := alone(ctx)
		defer cancel()
		ctx, l, err := open(ctx)
		if err == nil {
			l, err = answer.Of(ctx, l, p.Session)
		}
		if err != nil {
			return uint64(0), err
		}
		return read.Of(l).EventRows(ctx, p.Tenant, p.Session)
	})
	events, _ := n.(uint64)
	if err == nil {
		s.keep(p, look{asked, events})
	}
	return events
}

// keep remembers a look, and forgets those of sessions that no page follows any more.
func (s *shared) keep(p source.Place, l look) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = make(map[source.Place]look)
	}
	for place, old := range s.seen {
		if time.Since(old.at) > 10*lookEvery {
			delete(s.seen, place)
		}
	}
	s.seen[p] = l
}

// page begins to read the content of a session's page, and returns a function that waits for it.
// Requests at the same time that found the same number of events share it. known has the results of
// [source.Known].
func (s *shared) page(ctx context.Context, l *ledger.Ledger, p source.Place, events uint64, known func() (answer.Row, error), within view.Range) func() (any, error) {
	done := s.group.DoChan(fmt.Sprintf("page %q %d %v", p, events, within), func() (any, error) {
		ctx, cancel := alone(ctx)
		defer cancel()
		return sessionPage(ctx, l, p, known, within)
	})
	return func() (any, error) {
		result := <-done
		return result.Val, result.Err
	}
}

// alone returns a context with the bounds of a request that goes on when the request ends, because
// other requests wait for the answer.
func alone(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), patience)
}
