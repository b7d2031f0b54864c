package capture

import (
	"errors"
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
	// Done is called once: with nil when the stream or the outbox has the facts, or the exchange
	// cannot be read; else with the reason. Done must not wait, and may be nil.
	Done func(error)
}

// ErrInMemory means that the facts of an exchange wait in memory. They are sent later: the exchange
// must not be reported again to the same recorder. [Recorder.Flush] waits for them.
var ErrInMemory = errors.New("the facts wait in memory")

// Report records an exchange with the fidelity reported. It never waits, and returns false if
// there is no room: nothing of the exchange is recorded then, Done is not called, and the caller
// may try again. The caller does not change the exchange afterwards.
func (r *Recorder) Report(p Report) bool {
	t := &Tap{r: r, exchange: p.Exchange, at: p.At, partial: p.Partial, reported: true, done: p.Done}
	t.head.session, t.head.agent = clean(p.Session), agentOf(p.Agent)
	return r.backlog.put(t)
}
