package projector

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/metrics"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// State is the phase that a projector is in.
type State string

const (
	Starting   State = "starting"   // opens its stream
	Standby    State = "standby"    // waits for the lease, which another projector may hold
	Recovering State = "recovering" // holds the lease and brings ledger and stream to agreement
	Projecting State = "projecting" // commits new messages
	Stopped    State = "stopped"    // Run has returned
)

// Health is the state of a projector for probes and metrics.
type Health struct {
	State State
	// Stuck is true when there is work, and no step began, ended or failed for about two
	// minutes. A step that fails and is repeated is not stuck; see Waiting. End the process to
	// recover.
	Stuck bool
	// Waiting is the step that failed last and is repeated, with the server and its code, such
	// as "write: clickhouse 252" or "renew the lease: lease 10023 (no room left)". For an
	// interrupted restore it names the backup and the next step. Empty if no step failed.
	Waiting string
	// Failing is how long steps have failed without a commit, or the age of a lease that was due for
	// renewal long ago. 0 if Waiting is empty.
	Failing time.Duration
	// Bytes and Limit are the size of the stream and its own limit at the last measurement for Metrics.
	// Limit is 0 if there is none, or if it is unknown.
	Bytes, Limit uint64
	// Reason is why Run gave up: stream_forked, events_expired, newer_rules or failed. The next
	// projector of the same stream and Metrics keeps the reason until it projects. Empty
	// otherwise.
	Reason string
}

// Health returns the health of the projector. Health is safe for concurrent use and asks no server.
func (p *Projector) Health() Health {
	h := Health{State: Starting, Stuck: p.pulse.stuck()}
	if state := p.state.Load(); state != nil {
		h.State = *state
	}
	if h.State == Recovering && p.ready.Load() {
		h.State = Projecting
	}
	if lag, known := p.lag.Now(); known && lag.Limit > 0 {
		h.Bytes, h.Limit = lag.Bytes, uint64(lag.Limit)
	}
	if waiting := p.waiting.Load(); waiting != nil {
		h.Waiting = *waiting
		if failing := p.failing.Load(); failing != nil {
			h.Failing = time.Since(failing.since)
		}
	}
	if trouble := p.leaseTrouble.Load(); h.Waiting == "" && trouble != nil && !p.overcame(*trouble) {
		h.Waiting, h.Failing = trouble.step, time.Since(trouble.since)
	}
	if own := p.held.Load(); own != nil { // a full store may let each attempt wait for many seconds
		if age := time.Since(own.Renewed()); age >= p.config.Timing.Expiry {
			h.Waiting, h.Failing = cmp.Or(h.Waiting, "renew the lease"), max(h.Failing, age)
		}
	}
	if reason := p.reason.Load(); reason != nil && h.State != Projecting {
		h.Reason = *reason
	}
	return h
}

// health is the state and the counters of a projector. Safe for concurrent use.
type health struct {
	pulse     pulse
	state     atomic.Pointer[State]
	waiting   atomic.Pointer[string]
	failing   atomic.Pointer[failing]
	reason    atomic.Pointer[string]
	held      atomic.Pointer[lease.Lease] // the lease while it is held
	lag       metrics.LagMeter
	ready     atomic.Bool
	committed atomic.Uint64 // last committed sequence
	counts    counts
	// leaseTrouble is kept after its end; see overcame.
	leaseTrouble atomic.Pointer[leaseTrouble]
}

// leaseTrouble is a series of failed attempts to get or to keep the lease, such as in a full store.
type leaseTrouble struct {
	since, last time.Time
	step        string // the step that failed last, with its cause
}

// overcame reports whether the lease was changed since the last failure, or nothing failed for a
// minute.
func (h *health) overcame(t leaseTrouble) bool {
	if own := h.held.Load(); own != nil && own.Renewed().After(t.last) {
		return true
	}
	return time.Since(t.last) > time.Minute
}

// Stream returns the name of the stream that is projected.
func (p *Projector) Stream() string { return p.config.Stream }

func (p *Projector) enter(s State) { p.state.Store(&s) }

// observe watches the projector until ctx ends or stop is called. stop returns after the
// watchers have ended.
func (p *Projector) observe(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	watchers.Go(func() { p.watchPulse(ctx) })
	if p.config.Metrics != nil {
		if reason := p.meter().Reason(); reason != "" {
			p.reason.Store(&reason) // until this one projects
		}
		p.meter().Attach(p.gauges)
		watchers.Go(func() { p.lag.Follow(ctx, p.lagSource(), p.config.Timing.Poll) })
		watchers.Go(func() { p.watchBatches(ctx) })
	}
	return func() {
		cancel()
		watchers.Wait()
	}
}

// meter counts the events of the stream for the metrics.
func (s *shared) meter() metrics.Meter { return s.config.Metrics.Of(s.config.Stream) }

// lagSource tells the meter how to measure the lag of the projector.
func (p *Projector) lagSource() metrics.LagSource {
	return metrics.LagSource{
		JetStream: p.config.JetStream, Stream: p.config.Stream, Ledger: p.config.Ledger,
		Committed: func() (uint64, bool) { return p.committed.Load(), p.ready.Load() },
	}
}

// gauges returns the current gauges for the metrics.
func (p *Projector) gauges() metrics.Gauges {
	g := metrics.Gauges{UnknownKeys: p.counts.unknownKeys.Load(), Ready: p.ready.Load(), Stuck: p.pulse.stuck(), Reason: p.Health().Reason}
	if lag, known := p.lag.Now(); known {
		g.Lag = &lag
	}
	if own := p.held.Load(); own != nil {
		g.LeaseHeld, g.LeaseEpoch, g.LeaseAge = true, own.Epoch(), time.Since(own.Renewed())
	}
	return g
}

func (p *Projector) watchPulse(ctx context.Context) {
	ticker := time.NewTicker(p.config.Timing.Poll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			p.pulse.look(p.busy())
		}
	}
}

// busy reports whether the projector has work that does not wait for another process.
func (p *Projector) busy() bool {
	switch p.Health().State {
	case Recovering:
		return true
	case Projecting:
		return p.pulse.open.Load() > 0 || p.lag.Behind()
	}
	return false
}

// holds records the lease that is held, or nil for no lease.
func (p *Projector) holds(l *lease.Lease) {
	p.held.Store(l)
	if l != nil {
		p.config.Log.Info("this projector holds the lease", "event", "lease_acquired", "epoch", l.Epoch())
	}
}

// leave records the end of Run.
func (p *Projector) leave(ctx context.Context, err error) error {
	p.enter(Stopped)
	if err = ended(ctx, err); err == nil || errors.Is(err, lease.ErrLost) {
		return err
	}
	reason := "failed"
	switch {
	case errors.Is(err, streamio.ErrStreamForked):
		reason = "stream_forked"
	case errors.Is(err, streamio.ErrEventsExpired):
		reason = "events_expired"
	case errors.Is(err, streamio.ErrNewerRules):
		reason = "newer_rules"
	}
	p.reason.Store(&reason)
	p.config.Log.Error("the projector has stopped", "event", reason, "error", err)
	return err
}

// failed records a failed attempt at a step that will be repeated.
func (s *shared) failed(step string, err error) {
	f := metrics.FailureOf(err)
	s.pulse.beat()
	s.meter().Retry(f)
	s.countFailure(time.Now())
	waiting := step + ": " + f.String()
	if errors.Is(err, shadow.ErrRestoring) {
		waiting = err.Error()
	}
	s.waiting.Store(&waiting)
	s.config.Log.Warn("a step failed and will be repeated", "event", "retry", "step", step, "cause", f.Who, "code", f.Code, "error", err)
}

// failing is a series of failed attempts. A commit or a minute without a failure ends the series.
// The recovery before each attempt does not end it, because it may succeed when writes fail.
type failing struct {
	since, last time.Time
	committed   uint64
}

func (h *health) countFailure(now time.Time) {
	series := failing{since: now, last: now, committed: h.committed.Load()}
	if f := h.failing.Load(); f != nil && f.committed == series.committed && now.Sub(f.last) < time.Minute {
		series.since = f.since
	}
	h.failing.Store(&series)
}

// leaseFailed records a failed attempt to get or to keep the lease, which will be repeated.
func (s *shared) leaseFailed(step string, err error) {
	f := metrics.LeaseFailure(err)
	s.meter().Retry(f)
	trouble := leaseTrouble{since: time.Now(), last: time.Now(), step: step + ": " + f.String()}
	if earlier := s.leaseTrouble.Load(); earlier != nil && !s.overcame(*earlier) {
		trouble.since = earlier.since
	}
	s.leaseTrouble.Store(&trouble)
	s.config.Log.Warn("a step of the lease failed and will be repeated", "event", "retry", "step", step, "cause", f.Who, "code", f.Code, "error", err)
}

// succeeded records the end of a step's attempts.
func (s *shared) succeeded() {
	s.pulse.beat()
	s.waiting.Store(nil)
}

// counted records a batch that is committed. A hole in its sequences is a deleted or lost
// message.
func (s *shared) counted(b batch, rows map[string]uint64) {
	next := s.committed.Load() + 1
	holes := b.Last + 1 - min(next, b.First) - b.Messages
	if min(next, b.First) <= s.retained {
		holes = 0 // a retention removed them before this ledger began
	}
	if holes > 0 {
		s.config.Log.Warn("the stream no longer has some of its messages", "event", "sequence_gap", "missing", holes, "after", next-1, "last", b.Last)
	}
	s.meter().Commit(metrics.Commit{Messages: b.Messages, Bytes: b.bytes, Rows: rows, Holes: holes, Quarantined: b.quarantined})
}

// pulse detects a projector that is stuck. pulse counts steps and does not use the clock: each
// look checks for work without a beat since the last look. A process that was suspended has not
// looked in the meantime, so its pause does not count. Safe for concurrent use, except look.
type pulse struct {
	beats atomic.Uint64
	open  atomic.Int64 // batches that are being committed

	seen  uint64 // beats at the last look
	still atomic.Int64
}

// stuckAfter is the limit of consecutive looks without a beat. Looks are a second apart. Every
// answer of a server has a shorter time limit.
const stuckAfter = 120

func (p *pulse) beat() { p.beats.Add(1) }

func (p *pulse) look(busy bool) {
	now := p.beats.Load()
	if busy && now == p.seen {
		p.still.Add(1)
		return
	}
	p.seen = now
	p.still.Store(0)
}

func (p *pulse) stuck() bool { return p.still.Load() >= stuckAfter }
