package projector

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/metrics"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// State is what a projector is at.
type State string

const (
	Starting   State = "starting"   // looks for its stream
	Standby    State = "standby"    // waits for the lease, which another may hold
	Recovering State = "recovering" // holds the lease and brings ledger and stream to agreement
	Projecting State = "projecting" // commits what comes
	Stopped    State = "stopped"    // Run has returned
)

// Health is how a projector is.
type Health struct {
	State State
	// Stuck says that there is work and that no step of it began, ended or
	// failed for about two minutes. A step that fails and is tried again is not
	// stuck; see Waiting. Ending the process is the cure.
	Stuck bool
	// Waiting is the step that failed last and is tried again, with who failed it
	// and the code, such as "write: clickhouse 252". Empty when none.
	Waiting string
	// Reason is why Run gave up: stream_forked, events_expired, newer_rules or failed. A
	// projector that follows on the same stream with the same Metrics keeps it
	// until it projects. Empty otherwise.
	Reason string
}

// Health returns how the projector is; safe to call at any time from any
// goroutine. It asks no server.
func (p *Projector) Health() Health {
	h := Health{State: Starting, Stuck: p.pulse.stuck()}
	if state := p.state.Load(); state != nil {
		h.State = *state
	}
	if h.State == Recovering && p.ready.Load() {
		h.State = Projecting
	}
	if waiting := p.waiting.Load(); waiting != nil {
		h.Waiting = *waiting
	}
	if reason := p.reason.Load(); reason != nil && h.State != Projecting {
		h.Reason = *reason
	}
	return h
}

// health is how a projector is, and what it has done. Safe for concurrent use.
type health struct {
	pulse     pulse
	state     atomic.Pointer[State]
	waiting   atomic.Pointer[string]
	reason    atomic.Pointer[string]
	held      atomic.Pointer[lease.Lease] // the lease while it is held
	lag       metrics.LagMeter
	ready     atomic.Bool
	committed atomic.Uint64 // last committed sequence
	counts    counts
}

// Stream returns the name of the stream that is projected.
func (p *Projector) Stream() string { return p.config.Stream }

func (p *Projector) enter(s State) { p.state.Store(&s) }

// observe watches the projector until ctx ends or stop is called, which returns
// once nothing is watched any more.
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
	}
	return func() {
		cancel()
		watchers.Wait()
	}
}

// meter counts what happens to the stream.
func (s *shared) meter() metrics.Meter { return s.config.Metrics.Of(s.config.Stream) }

// lagSource says how the lag of the projector is measured.
func (p *Projector) lagSource() metrics.LagSource {
	return metrics.LagSource{
		JetStream: p.config.JetStream, Stream: p.config.Stream, Ledger: p.config.Ledger,
		Committed: func() (uint64, bool) { return p.committed.Load(), p.ready.Load() },
	}
}

// gauges are how the projector is, for the metrics.
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

// busy reports whether the projector has something to do that it does not wait
// for another with.
func (p *Projector) busy() bool {
	switch p.Health().State {
	case Recovering:
		return true
	case Projecting:
		return p.pulse.open.Load() > 0 || p.lag.Behind()
	}
	return false
}

// holds notes that the lease is held, or with nil that it no longer is.
func (p *Projector) holds(l *lease.Lease) {
	p.held.Store(l)
	if l != nil {
		p.config.Log.Info("holds the lease", "event", "lease_acquired", "epoch", l.Epoch())
	}
}

// leave notes the end of Run.
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

// failed notes an attempt at a step that is made again.
func (s *shared) failed(step string, err error) {
	f := metrics.FailureOf(err)
	s.pulse.beat()
	s.meter().Retry(f)
	waiting := step + ": " + f.String()
	s.waiting.Store(&waiting)
	s.config.Log.Warn("will try again", "event", "retry", "step", step, "cause", f.Who, "code", f.Code, "error", err)
}

// leaseFailed notes an attempt to get or to keep the lease that is made again.
func (s *shared) leaseFailed(step string, err error) {
	f := metrics.LeaseFailure(err)
	s.meter().Retry(f)
	s.config.Log.Warn("will try again", "event", "retry", "step", step, "cause", f.Who, "code", f.Code, "error", err)
}

// succeeded notes the end of a step's attempts.
func (s *shared) succeeded() {
	s.pulse.beat()
	s.waiting.Store(nil)
}

// counted notes a batch that is committed. A hole in its sequences is what
// somebody has deleted, or what the stream has lost.
func (s *shared) counted(b batch, rows map[string]uint64) {
	next := s.committed.Load() + 1
	holes := b.Last + 1 - min(next, b.First) - b.Messages
	if holes > 0 {
		s.config.Log.Warn("the stream no longer has some of its messages", "event", "sequence_gap", "missing", holes, "after", next-1, "last", b.Last)
	}
	s.meter().Commit(metrics.Commit{Messages: b.Messages, Bytes: b.bytes, Rows: rows, Holes: holes, Quarantined: b.quarantined})
}

// pulse tells a projector that makes steps from one that is stuck, by counting
// and not by the clock: whoever looks counts how often in a row it found work
// and no beat. A process that was stopped and wakes has not looked meanwhile,
// so that its pause counts for nothing. Safe for concurrent use, but for look.
type pulse struct {
	beats atomic.Uint64
	open  atomic.Int64 // batches that are being committed

	seen  uint64 // beats at the last look
	still atomic.Int64
}

// stuckAfter is how many looks without a beat are too many; they are a second
// apart. Every server's answer has a shorter limit.
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
