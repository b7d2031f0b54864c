package projector

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/lease"
)

// The simulation runs unchanged projectors, from Run on, on simulated servers in virtual time.
// All random choices come from one seed, the kind of the action and its count. A seed therefore
// repeats its schedule.
//
// Two parts are not simulated. The swap of a rebuild exchanges tables on the server, and a fake
// server would not show its faults. Real rebuilds are killed at each point instead
// (TestRebuildKilledAtEveryPoint). The request of a rebuild for leases is simulated, as "lease
// asked for". The roster is not simulated either: every process asks for every lease, which has
// more failures. See TestFleetsTakeOver.

// world is one schedule: the two servers, and the processes that use them.
type world struct {
	tb    testing.TB
	seed  uint64
	odds  odds
	over  chan struct{} // closed at the end, to end all waits
	plant func(*Projector)

	mu      sync.Mutex // guards everything below, and the servers
	rolls   map[string]uint64
	calm    bool // no more faults
	streams []*simStream
	all     map[simPlace]*simContent // every message that ever existed, in any stream
	copies  map[simPlace]bool        // messages with a copy in the quarantine stream
	bucket  *simBucket
	tables  *simLedger
	down    map[string]time.Time // servers that do not answer, with the end of the failure
	faults  map[string]int       // the faults of the schedule, with their counts
	broken  []string             // violated promises
}

// odds are the chances of random faults in one call, 0 to 1.
type odds struct {
	lost    float64 // the request is lost
	mute    float64 // the request is executed and its reply is lost
	refused float64 // the ledger has no room, no memory or no time
	late    float64 // the client gives up an insert, which is executed later
	missed  float64 // a message of the stream does not arrive
}

func newWorld(tb testing.TB, seed uint64) *world {
	w := &world{
		tb: tb, seed: seed, over: make(chan struct{}), rolls: make(map[string]uint64), down: make(map[string]time.Time),
		all: make(map[simPlace]*simContent), copies: make(map[simPlace]bool), bucket: newSimBucket(), faults: make(map[string]int),
	}
	w.tables = newSimLedger(w)
	return w
}

// roll returns the random numbers for the next action of a kind.
func (w *world) roll(kind string) *rand.Rand {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rollLocked(kind)
}

func (w *world) rollLocked(kind string) *rand.Rand {
	w.rolls[kind]++
	h := fnv.New64a()
	fmt.Fprint(h, kind, w.rolls[kind])
	return rand.New(rand.NewPCG(w.seed, h.Sum64()))
}

// breaks records a violated promise. The caller holds mu.
func (w *world) breaks(format string, args ...any) {
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

var (
	errSimLost = errors.New("the connection was lost")
	errSimDead = errors.New("this process is dead")
)

// process is one projector. A process can die, and can be suspended for a while.
type process struct {
	w      *world
	name   string
	stream int
	cancel context.CancelFunc
	done   chan struct{}
	err    error // of Run, once done

	mu      sync.Mutex
	dead    bool
	paused  bool          // was suspended at least once
	stopped chan struct{} // closed when it continues; nil while it runs
}

var simTiming = lease.Timing{Heartbeat: 3 * time.Second, Expiry: 10 * time.Second, Poll: time.Second}

// newProcess makes the process that projects a stream under a name.
func (w *world) newProcess(name string, stream int) *process {
	return &process{w: w, name: fmt.Sprint(name, "/", stream), stream: stream, done: make(chan struct{})}
}

// projector makes the projector of a process. Its clock is up to a tenth too fast or too slow.
func (c *process) projector(owner string) *Projector {
	w := c.w
	r := w.roll("start " + c.name)
	config := DefaultConfig(simJetStream{process: c}, &ledger.Ledger{})
	config.Stream, config.Owner, config.Keys = w.streams[c.stream].name, owner, projectortest.Keys(w.tb)
	config.BatchMessages, config.Linger = 3+r.IntN(12), time.Duration(r.IntN(400))*time.Millisecond
	if *simLogged {
		config.Log = slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug})).With("who", c.name)
	}
	p, err := New(config)
	if err != nil {
		panic(err)
	}
	p.store, p.config.Timing = simStore{c}, simTiming
	p.config.Timing.Expiry += time.Duration((r.Float64() - 0.5) * 0.2 * float64(simTiming.Expiry))
	p.clock = simClock{c}
	if w.plant != nil {
		w.plant(p)
	}
	return p
}

// simClock draws the random choices of a process.
type simClock struct{ *process }

func (c simClock) jitter(below time.Duration) time.Duration {
	return time.Duration(c.w.roll("jitter " + c.name).Int64N(int64(below)))
}

// run runs a process until its end.
func (c *process) run(what func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	go func() {
		defer close(c.done)
		c.err = what(ctx)
	}()
}

// kill ends a process like kill -9: only requests in transit still have an effect.
func (c *process) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
	c.wake()
}

func (c *process) wasPaused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.paused
}

func (c *process) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = true
	if c.stopped == nil {
		c.stopped = make(chan struct{})
	}
}

func (c *process) goOn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake()
}

func (c *process) wake() {
	if c.stopped != nil {
		close(c.stopped)
		c.stopped = nil
	}
}

// gate blocks a suspended process until it continues, and a dead one for ever.
func (c *process) gate() error {
	for {
		c.mu.Lock()
		dead, stopped := c.dead, c.stopped
		c.mu.Unlock()
		switch {
		case dead:
			<-c.w.over
			return errSimDead
		case stopped == nil:
			return nil
		}
		<-stopped
	}
}

// travel waits for the time that a message is in transit.
func travel(ctx context.Context, r *rand.Rand) error {
	return pause(ctx, time.Duration(1+r.Int64N(int64(20*time.Millisecond))))
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// call is one request to a server and its reply. do runs under the world's lock, at most once.
// do does not run if the request is lost.
func (c *process) call(ctx context.Context, server, kind string, do func(r *rand.Rand) error) error {
	r := c.w.roll(c.name + kind)
	lost, mute, timeout := r.Float64(), r.Float64(), time.Duration(r.Int64N(int64(2*time.Second)))
	if err := c.gate(); err != nil {
		return err
	}
	if err := travel(ctx, r); err != nil {
		return err
	}
	err, answered := c.arrive(server, lost, mute, r, do)
	if !answered {
		if err := pause(ctx, timeout); err != nil {
			return err
		}
	} else if err := travel(ctx, r); err != nil {
		return err
	}
	if err := c.gate(); err != nil {
		return err
	}
	if !answered {
		return fmt.Errorf("%s: %w", kind, errSimLost)
	}
	return err
}

func (c *process) arrive(server string, lost, mute float64, r *rand.Rand, do func(r *rand.Rand) error) (err error, answered bool) {
	w := c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	odds := w.odds
	if w.calm {
		odds = struct{ lost, mute, refused, late, missed float64 }{}
	}
	if time.Now().Before(w.down[server]) || lost < odds.lost {
		return nil, false
	}
	err = do(r)
	return err, mute >= odds.mute
}

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
