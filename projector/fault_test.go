package projector

import (
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/deploy/embedded"
)

func TestClickHouseKilledInABacklog(t *testing.T) {
	t.Parallel()
	s := embedded.StartTest(t)
	f := newFixtureOn(t, s.NATSURL(), s)
	f.publishMix(0, 500)
	p := f.projector()
	stop := f.follow(p)
	for kills := range 2 {
		from := p.Status().Committed
		f.await("it has committed more", func() bool { return p.Status().Committed > from+100 })
		f.must(syscall.Kill(s.EnginePID(), syscall.SIGKILL))
		f.await("ClickHouse is back", func() bool { return s.Restarts() > kills })
	}
	f.await("all is committed", func() bool { return p.Status().Committed == 500 })
	f.must(stop())
	f.exact("")
	f.exact("FINAL")
}

func TestNATSRestarted(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	dir := t.TempDir()
	start := func() *embedded.Servers {
		return embedded.StartTest(t, func(c *embedded.Config) { c.NoClickHouse, c.Dir, c.NATSPort = true, dir, port })
	}
	s := start()
	f := newFixtureOn(t, s.NATSURL(), embedded.SharedClickHouse(t))
	f.publishMix(0, 300)
	p := f.projector()
	stop := f.follow(p)
	f.await("it is under way", func() bool { return p.Status().Committed > 100 })
	f.must(s.Close())
	time.Sleep(testTiming.expiry + testTiming.expiry/2) // longer than the lease lasts
	s = start()
	f.await("all is committed", func() bool { return p.Status().Committed == 300 })
	f.publishMix(1000, 30)
	f.await("what came since is committed", func() bool { return p.Status().Committed == 330 })
	f.must(s.Close()) // and once more while it waits for messages
	start()
	f.publishMix(2000, 30)
	f.await("what came since is committed", func() bool { return p.Status().Committed == 360 })
	f.must(stop())
	f.exact("")
}

// A server forgets the consumer of a client that was busy elsewhere for long.
func TestConsumerForgotten(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 40)
	p := f.projector()
	stop := f.follow(p)
	f.awaitLevel()
	for round := range 2 {
		consumers := f.stream().ConsumerNames(t.Context())
		for name := range consumers.Name() {
			f.must(f.stream().DeleteConsumer(t.Context(), name))
		}
		f.publishMix(1000*(round+1), 40)
		f.awaitLevel()
	}
	f.must(stop())
	f.exact("")
}

func TestPermanentErrorEndsRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 10)
	f.must(f.sql.Exec(t.Context(), "ALTER TABLE log_items DROP COLUMN name"))
	err := f.run(f.projector())
	if err == nil || transient(err) {
		t.Errorf("ended with %v", err)
	}
	t.Log(err)
	f.must(f.sql.Exec(t.Context(), "ALTER TABLE log_items ADD COLUMN name LowCardinality(String) AFTER role"))
	f.project()
	f.exact("")
}
