package projector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/internal/steps"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// serverWithoutStreams is a separate JetStream without streams.
func serverWithoutStreams(t *testing.T) jetstream.JetStream {
	t.Helper()
	needsServers(t)
	return embeddedtest.NATS(t).JetStream(t)
}

// newFleetFixture is newFixture with the events in n streams.
func newFleetFixture(t *testing.T, n schema.Partitions) *fixture {
	t.Helper()
	js := serverWithoutStreams(t)
	if _, err := streamio.Ensure(t.Context(), js, streamio.Layout{Partitions: n}); err != nil {
		t.Fatal(err)
	}
	return newFixtureOn(t, js.Conn().ConnectedUrl(), migrated.Installation(t))
}

// sharedNames returns the names of the shared streams.
func sharedNames(n schema.Partitions) (names []string) {
	for _, s := range n.EventStreams() {
		names = append(names, s.Name)
	}
	return names
}

func (f *fixture) fleet(owner string, n schema.Partitions) *Fleet {
	f.t.Helper()
	c := testConfig(f.js, f.ledger)
	c.Owner = owner
	c.Log = slog.New(slog.NewTextHandler(f.t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo})).With("fleet", owner)
	fleet, err := NewFleet(c, sharedNames(n))
	f.must(err)
	fleet.config.Timing = quickTiming
	return fleet
}

// start runs a fleet until the test ends or stop is called.
func (f *fixture) start(fleet *Fleet) (stop func() error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.t.Context()))
	done := make(chan error, 1)
	go func() { done <- fleet.Run(ctx) }()
	stop = func() error {
		cancel()
		err := await(f.t, done, "the fleet's end")
		done <- err
		return err
	}
	f.t.Cleanup(func() { stop() })
	return stop
}

// publishTo sends count events of a session, numbered from first on.
func (f *fixture) publishTo(session string, first, count int) {
	f.t.Helper()
	for i := first; i < first+count; i++ {
		e, err := schema.NewEvent(&schema.ItemRemoved{ItemID: fmt.Sprint("item-", i)}, fmt.Sprintf("%s-%d", session, i), "urn:fleet",
			time.Unix(int64(i), 0), schema.Correlation{SessionID: session})
		f.must(err)
		e.Sequence = new(int64(i + 1))
		f.publish(e.Binary())
	}
}

// owners returns the holders of the streams' leases.
func (f *fixture) owners(n schema.Partitions) []string {
	f.t.Helper()
	kv, err := lease.OpenBucket(f.t.Context(), f.js)
	f.must(err)
	var list []string
	for _, s := range n.EventStreams() {
		_, entry, err := lease.ReadEntry(f.t.Context(), kv, lease.KeyOf(s.Name))
		f.must(err)
		list = append(list, entry.Owner)
	}
	return list
}

// spread waits until the owners have the expected numbers of leases.
func (f *fixture) spread(n schema.Partitions, want map[string]int) {
	f.t.Helper()
	f.await(fmt.Sprint("the leases are spread ", want), func() bool {
		got := make(map[string]int)
		for _, owner := range f.owners(n) {
			got[owner]++
		}
		for owner, leases := range want {
			if got[owner] != leases {
				return false
			}
		}
		return true
	})
}

// awaitAll waits until all streams are in the ledger.
func (f *fixture) awaitAll(n schema.Partitions) {
	f.t.Helper()
	f.flush()
	for _, s := range n.EventStreams() {
		f.await(s.Name+" is in the ledger", func() bool {
			stream, incarnation, err := streamio.OpenStream(f.t.Context(), f.js, s.Name)
			if err != nil {
				return false
			}
			last, _, err := f.ledger.LastCommit(f.t.Context(), incarnation)
			return err == nil && last.Last == stream.CachedInfo().State.LastSeq
		})
	}
}

// exactly checks that the ledger has each session's events once and in order.
func (f *fixture) exactly(sessions, items int) {
	f.t.Helper()
	for _, final := range []string{"", "FINAL"} {
		if n := f.count("SELECT count() FROM events " + final); n != uint64(sessions*items) {
			f.t.Errorf("%d events %s, not %d", n, final, sessions*items)
		}
	}
	wrong := f.count(fmt.Sprintf(`SELECT count() FROM (
		SELECT session_id, groupArray(sequence) AS order, uniqExact(incarnation) AS streams FROM (SELECT * FROM events ORDER BY incarnation, stream_seq)
		GROUP BY session_id HAVING order != arrayMap(i -> toInt64(i), range(1, %d)) OR streams != 1)`, items+1))
	if wrong > 0 {
		f.t.Errorf("%d sessions are not whole and in order", wrong)
	}
	if n := f.count("SELECT count() FROM duplicates") + f.count("SELECT count() FROM quarantine"); n > 0 {
		f.t.Errorf("%d duplicates and refused", n)
	}
}

func TestFleetOfOneStream(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishTo("s", 0, 50)
	f.flush()
	fleet := f.fleet("one", 1)
	fleet.config.UntilCaughtUp = true
	f.must(fleet.Run(t.Context()))
	if s := fleet.Status(); s.Events != 50 || s.Committed != 50 {
		t.Errorf("%+v", s)
	}
	f.exactly(1, 50)
	kv, err := lease.OpenBucket(t.Context(), f.js)
	f.must(err)
	keys, err := kv.Keys(t.Context())
	if f.must(err); !slices.Equal(keys, []string{schema.EventStream, lease.KeyOf(schema.EventStream)}) {
		t.Errorf("the bucket has %v", keys)
	}
}

func TestFleetUntilCaughtUp(t *testing.T) {
	t.Parallel()
	const n = 4
	f := newFleetFixture(t, n)
	for i := range 40 {
		f.publishTo(fmt.Sprint("session-", i), 0, 10)
	}
	f.flush()
	fleet := f.fleet("all", n)
	fleet.config.UntilCaughtUp = true
	f.must(fleet.Run(t.Context()))
	f.exactly(40, 10)
	if s := fleet.Status(); s.Events != 400 || s.Committed != 400 {
		t.Errorf("%+v", s)
	}
	kv, err := lease.OpenBucket(t.Context(), f.js)
	f.must(err)
	if _, err := kv.Get(t.Context(), redactionsKey); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("streams without commits told of redactions, and the others loaded the fingerprints again: %v", err)
	}
}

// TestFleetTakesTurns: streams that are behind have few large batches instead of many small ones. A batch that
// fails gives its turn back, and one that is committed its memory, too.
func TestFleetTakesTurns(t *testing.T) {
	t.Parallel()
	const n, sessions, items, full = 4, 60, 400, 2 * minBatchMessages
	f := newFleetFixture(t, n)
	for i := range sessions {
		f.publishTo(fmt.Sprint("session-", i), 0, items)
	}
	f.flush()
	fleet := f.fleet("all", n)
	fails := &failingWrites{left: 2 * maxTurns}
	fleet.config.UntilCaughtUp, fleet.config.BatchMessages, fleet.config.Linger, fleet.config.Steps = true, full, time.Second, fails
	f.must(fleet.Run(t.Context()))
	f.exactly(sessions, items)
	large := f.count(fmt.Sprintf("SELECT uniqExact(incarnation) FROM commits FINAL WHERE messages = %d", full))
	if large < n || fails.left > 0 || len(fleet.turns.free) < maxTurns {
		f.t.Errorf("%d streams have large batches, %d writes did not fail, %d turns are taken", large, fails.left, maxTurns-len(fleet.turns.free))
	}
	if first, second := <-fleet.turns.free, <-fleet.turns.free; first == nil && second == nil {
		f.t.Error("no turn has the memory of a batch")
	}
}

// failingWrites fails the first writes of batches.
type failingWrites struct {
	mu   sync.Mutex
	left int
}

func (w *failingWrites) Walk(ctx context.Context, list []steps.Step, take func(context.Context, steps.Step) error) error {
	for _, s := range list {
		if s.Verb == "write" && w.fails() {
			return &steps.Error{Verb: s.Verb, Err: nats.ErrTimeout}
		}
		if err := take(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (w *failingWrites) fails() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left == 0 {
		return false
	}
	w.left--
	return true
}

// gate lets a projector pass a step once it is opened.
type gate struct {
	verb string
	open chan struct{}
}

func (g gate) Walk(ctx context.Context, list []steps.Step, take func(context.Context, steps.Step) error) error {
	for _, s := range list {
		if s.Verb == g.verb {
			<-g.open
		}
		if err := take(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// TestCaughtUpByAnother: a projector that waits for a lease until the ledger is level does not take the lease that
// another one released once it was level. It takes that of one that failed.
func TestCaughtUpByAnother(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	kv, err := lease.OpenBucket(t.Context(), f.js)
	f.must(err)
	// both runs a projector that stops at a step until another one waits, and returns how they end.
	both := func(verb string) (first, second error, epoch uint64) {
		one, other, log := f.projector(), f.projector(), new(logbook)
		one.config.Owner, other.config.Owner = "one", "other"
		at := gate{verb, make(chan struct{})}
		one.config.Steps, other.config.Log = at, slog.New(slog.NewTextHandler(log, nil))
		ends := [2]chan error{make(chan error, 1), make(chan error, 1)}
		go func() { ends[0] <- one.Run(t.Context()) }()
		f.await("the first one holds the lease", func() bool { return one.held.Load() != nil })
		go func() { ends[1] <- other.Run(t.Context()) }()
		f.await("the other waits", func() bool { return strings.Contains(log.String(), "waiting for the lease") })
		close(at.open)
		first, second = await(t, ends[0], "the end of the first"), await(t, ends[1], "the end of the other")
		_, entry, err := lease.ReadEntry(t.Context(), kv, lease.KeyOf(schema.EventStream))
		f.must(err)
		return first, second, entry.Epoch
	}
	f.publishTo("s", 0, 10)
	f.flush()
	if first, second, epoch := both("write"); first != nil || second != nil || epoch != 1 {
		t.Errorf("they ended with %v and %v, in epoch %d", first, second, epoch)
	}
	f.exactly(1, 10)
	f.must(f.sql.Exec(t.Context(), "ALTER TABLE commits UPDATE digest = repeat('x', 32) WHERE 1 SETTINGS mutations_sync = 1"))
	first, second, epoch := both("verify the last commit")
	if !errors.Is(first, streamio.ErrStreamForked) || !errors.Is(second, streamio.ErrStreamForked) || epoch != 3 {
		t.Errorf("on another stream they ended with %v and %v, in epoch %d", first, second, epoch)
	}
}

// New processes get their share. The remaining processes get the share of a process that ends.
func TestFleetsShare(t *testing.T) {
	t.Parallel()
	const n = 8
	f := newFleetFixture(t, n)
	stopA := f.start(f.fleet("a", n))
	f.spread(n, map[string]int{"a": 8})
	f.start(f.fleet("b", n))
	f.spread(n, map[string]int{"a": 4, "b": 4})
	f.start(f.fleet("c", n))
	f.spread(n, map[string]int{"a": 3, "b": 3, "c": 2})
	for i := range 30 {
		f.publishTo(fmt.Sprint("session-", i), 0, 5)
	}
	f.must(stopA())
	f.spread(n, map[string]int{"b": 4, "c": 4})
	f.awaitAll(n)
	f.exactly(30, 5)
}

// Three processes project under load. One at a time is killed, or stopped for longer than its
// leases last.
func TestFleetsTakeOver(t *testing.T) {
	t.Parallel()
	const n, sessions = 4, 24
	for name, end := range map[string]func(*exec.Cmd){
		"killed":  func(cmd *exec.Cmd) { cmd.Process.Kill(); cmd.Wait() },
		"stopped": func(cmd *exec.Cmd) { cmd.Process.Signal(syscall.SIGSTOP) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleetFixture(t, n)
			children := make([]*exec.Cmd, 3)
			begin := func(i int) {
				children[i] = f.child(childFleet + "=4")
				f.must(children[i].Start())
				t.Cleanup(func() { children[i].Process.Kill() })
			}
			for i := range children {
				begin(i)
			}
			owner := func(i int) string { return fmt.Sprint("fleet-", children[i].Process.Pid) }
			items, stop := f.load(sessions)
			for range 3 {
				f.await("all streams have a living owner, each process at least one", func() bool {
					owners := f.owners(n)
					return slices.Contains(owners, owner(0)) && slices.Contains(owners, owner(1)) && slices.Contains(owners, owner(2))
				})
				victim := rand.IntN(len(children))
				dead := owner(victim)
				time.Sleep(rand.N(300 * time.Millisecond))
				end(children[victim])
				f.await("its streams are taken over", func() bool {
					owners := f.owners(n)
					return !slices.Contains(owners, dead) && !slices.Contains(owners, "")
				})
				if name == "stopped" {
					children[victim].Process.Signal(syscall.SIGCONT)
					continue
				}
				begin(victim)
			}
			stop()
			f.awaitAll(n)
			f.exactly(sessions, *items)
		})
	}
}

// load publishes to the sessions in rotation until stop is called.
func (f *fixture) load(sessions int) (items *int, stop func()) {
	items = new(int)
	ended := make(chan struct{})
	var publishing sync.WaitGroup
	publishing.Go(func() {
		for {
			for s := range sessions {
				f.publishTo(fmt.Sprint("session-", s), *items, 1)
			}
			*items++
			select {
			case <-ended:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	return items, func() {
		close(ended)
		publishing.Wait()
	}
}

// A stream that cannot be projected is given up. The other streams continue.
func TestFleetGivesOneStreamUp(t *testing.T) {
	t.Parallel()
	const n = 2
	f := newFleetFixture(t, n)
	for i := range 20 {
		f.publishTo(fmt.Sprint("session-", i), 0, 5)
	}
	f.flush()
	all := f.fleet("first", n)
	all.config.UntilCaughtUp = true
	f.must(all.Run(t.Context()))
	stream, err := f.js.Stream(t.Context(), "CTX_1")
	f.must(err)
	config := stream.CachedInfo().Config
	f.must(f.js.DeleteStream(t.Context(), "CTX_1"))
	f.await("the stream is made anew", func() bool {
		_, err := f.js.CreateStream(t.Context(), config)
		return err == nil
	})
	fleet := f.fleet("second", n)
	stop := f.start(fleet)
	f.await("one stream is given up", func() bool {
		return fleet.Projectors()[1].Health().Reason == "stream_forked" && !fleet.Status().Ready
	})
	f.publishTo("another", 0, 5) // of CTX_0 or of CTX_1
	f.publishTo("yet-another", 0, 5)
	f.await("the other goes on", func() bool { return fleet.Projectors()[0].Health().State == Projecting })
	if err := stop(); err == nil || !strings.Contains(err.Error(), "CTX_1") {
		t.Error(err)
	}
}

// An event whose producer changes its session is two events, because identity and order apply
// only within a stream.
func TestSameIdentityInTwoStreams(t *testing.T) {
	t.Parallel()
	const n = 2
	f := newFleetFixture(t, n)
	sessions := sessionsOf(n)
	for range 2 {
		for _, session := range sessions {
			e, err := schema.NewEvent(&schema.ItemRemoved{ItemID: "i"}, "same", "urn:fleet", time.Unix(1, 0), schema.Correlation{SessionID: session})
			f.must(err)
			f.publish(e.Binary())
		}
	}
	f.flush()
	for _, stream := range []int{0, 1} { // one after the other, so that the second stream could know the event
		c := testConfig(f.js, f.ledger)
		c.Stream, c.UntilCaughtUp = schema.Partitions(n).Stream(stream).Name, true
		p, err := New(c)
		f.must(err)
		f.must(p.Run(t.Context()))
	}
	if events, again := f.count("SELECT count() FROM events"), f.count("SELECT count() FROM duplicates"); events != 2 || again != 2 {
		t.Errorf("%d events and %d duplicates, not 2 and 2", events, again)
	}
}

// sessionsOf returns a session of each partition.
func sessionsOf(n schema.Partitions) []string {
	list := make([]string, n)
	for i, found := 0, 0; found < int(n); i++ {
		session := fmt.Sprint("session-", i)
		of := n.Of(schema.Subject{Tenant: "t", Runtime: "r", Bucket: schema.Bucket(session), Object: "o", Verb: "v"}.String())
		if list[of] == "" {
			list[of] = session
			found++
		}
	}
	return list
}

// A value that one stream withholds is withheld in the other streams, without a restart.
func TestRedactionReachesOtherStreams(t *testing.T) {
	t.Parallel()
	const n = 2
	f := newFleetFixture(t, n)
	fleet := f.fleet("all", n)
	fleet.config.Keys = projectortest.Keys(t)
	f.start(fleet)
	f.await("both streams are projected", func() bool {
		for _, p := range fleet.Projectors() {
			if p.Health().State != Projecting {
				return false
			}
		}
		return true
	})
	withheld := projectortest.Redaction(t, 1, projectortest.Secret)
	home := schema.Partitions(n).Of(schema.SubjectOf(withheld).String())
	other := sessionsOf(n)[1-home]
	f.publish(withheld.Binary())
	f.awaitAll(n)
	id := 0
	bring := func() {
		id++
		e, err := schema.NewEvent(&schema.ItemRemoved{ItemID: "see " + projectortest.Secret}, fmt.Sprint("back-", id), "urn:fleet", time.Unix(1, 0),
			schema.Correlation{Tenant: "acme", SessionID: other})
		f.must(err)
		f.publish(e.Binary())
		f.awaitAll(n)
	}
	refused := func() uint64 { return f.count("SELECT count() FROM quarantine WHERE code = 'redaction_reintroduced'") }
	f.await("the other stream knows", func() bool {
		bring()
		return refused() > 0
	})
	before := refused()
	for range 3 {
		bring()
	}
	if got := refused() - before; got != 3 {
		t.Errorf("%d of 3 are refused", got)
	}
}
