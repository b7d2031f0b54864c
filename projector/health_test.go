package projector

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
)

func TestPulse(t *testing.T) {
	t.Parallel()
	var p pulse
	looks := func(n int, busy bool) {
		for range n {
			p.look(busy)
		}
	}
	p.beat()
	if looks(10*stuckAfter, false); p.stuck() {
		t.Error("who has nothing to do is stuck")
	}
	if looks(stuckAfter-1, true); p.stuck() {
		t.Error("stuck too soon")
	}
	if looks(1, true); !p.stuck() {
		t.Error("not stuck though no step was made")
	}
	if looks(1, false); p.stuck() {
		t.Error("stuck without work")
	}
	for range 2 * stuckAfter {
		p.beat()
		looks(stuckAfter-1, true)
	}
	if p.stuck() {
		t.Error("slow is stuck")
	}
}

// Unfinished steps are work. Waits for messages or for the lease are not.
func TestBusy(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	hanging, goOn := make(chan struct{}), make(chan struct{})
	p := f.projector()
	p.config.Steps = atEach(func(point string) {
		if point == pointJournalled {
			close(hanging)
			<-goOn
		}
	})
	f.follow(p)
	f.await("it waits for messages", func() bool { return p.Health().State == Projecting && !p.busy() })
	f.publishMix(0, 3)
	await(t, hanging, "the journal")
	if !p.busy() {
		t.Error("a batch in hand is no work")
	}
	close(goOn)
	f.awaitLevel()
	f.await("it waits again", func() bool { return !p.busy() })
}

func TestStates(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.projector()
	if h := first.Health(); h != (Health{State: Starting}) {
		t.Errorf("before Run: %+v", h)
	}
	stop := f.follow(first)
	f.await("the first projects", func() bool { return first.Health().State == Projecting })
	second := f.projector()
	second.config.Owner = "second"
	stopSecond := f.follow(second)
	f.await("the second stands by", func() bool { return second.Health().State == Standby })
	f.must(stop())
	if h := first.Health(); h != (Health{State: Stopped}) {
		t.Errorf("after Run: %+v", h)
	}
	f.await("the second projects", func() bool { return second.Health().State == Projecting })
	f.must(stopSecond())
}

// TestFullStoreIsNoGoodHealth: the lease lies in the store of the events. A projector that cannot
// renew its lease says so, and no longer does so when the store has room again.
func TestFullStoreIsNoGoodHealth(t *testing.T) {
	t.Parallel()
	bus := embeddedtest.Start(t, func(c *embedded.Config) { c.NoClickHouse, c.JetStreamMaxStore = true, 4<<20 })
	f := newFixtureOn(t, bus.NATSURL(), migrated.ClickHouse(t))
	f.publishMix(0, 3)
	p := f.projector()
	p.config.Timing.Heartbeat = 50 * time.Millisecond
	f.follow(p)
	f.awaitLevel()
	if h := p.Health(); h.Waiting != "" {
		t.Errorf("before the store is full: %+v", h)
	}
	other, err := f.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "OTHER", Subjects: []string{"other"}})
	f.must(err)
	full := func() bool {
		for size := 256 << 10; size > 0; size /= 2 {
			for err = nil; err == nil; _, err = f.js.Publish(t.Context(), "other", make([]byte, size)) {
			}
		}
		return strings.HasPrefix(p.Health().Waiting, "renew the lease: lease 100")
	}
	f.await("the lease cannot be renewed", full)
	if h := p.Health(); h.State != Projecting || h.Failing <= 0 {
		t.Errorf("in a full store: %+v", h)
	}
	f.must(other.Purge(t.Context()))
	f.await("the lease is renewed", func() bool { return p.Health().Waiting == "" })
}

// TestOldLeaseIsNoGoodHealth: a store that hangs does not fail, but the lease is not renewed.
func TestOldLeaseIsNoGoodHealth(t *testing.T) {
	t.Parallel()
	needsServers(t)
	n := startNATSProcess(t, t.TempDir())
	r := linked(newFixtureOn(t, n.url, migrated.ClickHouse(t)))
	r.publishMix(0, 3)
	p, _ := r.followed()
	r.catchUp()
	r.must(n.cmd.Process.Signal(syscall.SIGSTOP))
	r.await("the lease is old", func() bool { h := p.Health(); return h.Waiting == "renew the lease" && h.Failing >= quickTiming.Expiry })
	r.must(n.cmd.Process.Signal(syscall.SIGCONT))
	r.await("the lease is renewed", func() bool { return p.Health().Waiting == "" })
}
