package capture

import (
	"time"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
)

// Report is an exchange that telemetry tells of.
type Report struct {
	Exchange dialect.Exchange
	Session  string // required
	Agent    string // name of the client
	At       time.Time
	Partial  []string // reasons why the exchange is known only partly
}

// Report records an exchange with the fidelity reported. It never waits, and returns false if
// there is no room: nothing of the exchange is recorded then, and the caller may try again. The
// caller does not change the exchange afterwards.
func (r *Recorder) Report(p Report) bool {
	t := &Tap{r: r, exchange: p.Exchange, at: p.At, partial: p.Partial, reported: true}
	t.head.session, t.head.agent = clean(p.Session), agentOf(p.Agent)
	return r.backlog.put(t)
}
