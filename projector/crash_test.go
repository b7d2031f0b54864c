package projector

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
)

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// killed runs a child process until it kills itself.
func (f *fixture) killed(env ...string) {
	f.t.Helper()
	if err := f.child(env...).Run(); exitCode(err) != -1 {
		f.t.Fatalf("the child was not killed: %v", err)
	}
}

var (
	pointsOfRecovery = []string{pointOpened, pointSwapped, pointKilled, pointVerified, pointLoaded, pointWalkedBack, pointSettled}
	pointsOfABatch   = []string{pointBuilt, pointUnmoved, pointJournalled, pointQuarantined, pointWritten, pointCommitted, pointDeleted}
)

// TestKilledOnce is the short form of the fault matrix.
func TestKilledOnce(t *testing.T) {
	t.Parallel()
	embeddedtest.Smoke(t)
	s := migrated.Installation(t)
	f := newFixtureOn(t, s.NATSURL(), s)
	f.publishMix(0, 60)
	f.killed(childPoint+"="+pointWritten, childVisit+"=2")
	f.project()
	f.exact("")
	f.exact("FINAL")
}

// The child is killed in the second batch, and again right after that batch is finished.
func killedInABatch(t *testing.T) {
	r := newRig(t)
	for i, point := range pointsOfABatch {
		r.publishMix(2000*i, 90)
		r.killed(childPoint+"="+point, childVisit+"=2")
		if point != pointUnmoved { // a range that is finished does not reach this point
			r.killed(childPoint+"="+point, childVisit+"=1")
		}
		r.publishMix(2000*i+1000, 10) // so that the next batch would have another cut
		r.project()
		r.settled()
		if t.Failed() {
			t.Fatalf("the first faults are after %q", point)
		}
	}
	r.faultless()
}

// Each start after a crash is killed one state later than the start before.
func killedInRecovery(t *testing.T) {
	r := newRig(t)
	r.publishMix(0, 90)
	r.killed(childPoint+"="+pointWritten, childVisit+"=2")
	for _, point := range pointsOfRecovery {
		r.killed(childPoint+"="+point, childVisit+"=1")
	}
	r.project()
	r.faultless()
}

// The projector is killed when the server has a part of an insert: a part of its text, or of
// its rows.
func killedMidSend(t *testing.T) {
	random := seeded(t)
	r := newRig(t)
	for round := range times(4, 60) {
		r.publishMix(1000*round, 60)
		table := []string{"events", "log_items", "quarantine", "duplicates", "commits"}[round%5]
		held := r.holdRows(table, random.IntN(40))
		if random.IntN(3) == 0 { // or of the statement, before its end
			held = r.toLedger.requests.holdAfter("INSERT INTO "+table, random.IntN(40))
		}
		cmd := r.child()
		r.must(cmd.Start())
		await(t, held, "an insert into "+table)
		r.must(cmd.Process.Kill())
		cmd.Wait()
		r.toLedger.mend()
	}
	r.project()
	r.faultless()
}

// The projector is killed after the server has accepted rows, or the row of commits, and before
// the reply arrives.
func killedBeforeTheReply(t *testing.T) {
	r := newRig(t)
	for round := range times(4, 40) {
		r.publishMix(1000*round, 60)
		table := []string{"events", "log_items", "duplicates", "commits"}[round%4]
		before := r.count("SELECT count() FROM " + table)
		r.keepReply(table)
		cmd := r.child()
		r.must(cmd.Start())
		r.await("the table has the rows", func() bool { return r.count("SELECT count() FROM "+table) > before })
		r.must(cmd.Process.Kill())
		cmd.Wait()
		r.toLedger.mend()
	}
	r.project()
	r.faultless()
}

// testPatience is the time limit of a test's wait. Only a wait for a condition that never holds
// reaches the limit.
const testPatience = 4 * time.Minute

func await[T any](t testing.TB, what <-chan T, name string) (got T) {
	t.Helper()
	select {
	case got = <-what:
	case <-time.After(testPatience):
		t.Fatalf("timed out waiting for %s", name)
	}
	return got
}

// The projector is killed and started again at random moments, while messages are published.
func killedAtRandomMoments(t *testing.T) {
	random := seeded(t)
	r := newRig(t)
	r.publishMix(0, 200)
	kills := times(12, 300)
	for round := range kills {
		r.publishMix(1000*(1+round), 40)
		commits := r.count("SELECT count() FROM commits")
		cmd := r.child(childFollow + "=1")
		r.must(cmd.Start())
		if round%2 == 0 { // during start and recovery, or during projection
			r.await("the child commits", func() bool { return r.count("SELECT count() FROM commits") > commits })
		}
		time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond)
		r.must(cmd.Process.Kill())
		cmd.Wait()
	}
	commits := r.count("SELECT count() FROM commits")
	p := r.projector()
	p.config.BatchMessages = 1000
	r.must(r.run(p))
	t.Logf("killed %d times, with %d commits", kills, commits)
	r.faultless()
}

// A projector stops in the middle of a batch, for longer than the lease lasts. When it wakes,
// another projector has taken over.
func stoppedPastItsLease(t *testing.T) {
	r := newRig(t)
	r.publishMix(0, 200)
	cmd := r.child(childFollow + "=1")
	r.must(cmd.Start())
	defer cmd.Process.Kill()
	r.await("the child has committed", func() bool { return r.count("SELECT count() FROM commits") > 2 })
	r.must(cmd.Process.Signal(syscall.SIGSTOP))

	another := func() *Projector { p := r.projector(); p.config.Owner = "another"; return p }
	r.must(r.run(another()))
	r.exact("")
	r.publishMix(1000, 40)
	stop := r.follow(another())
	r.awaitLevel()
	r.must(cmd.Process.Signal(syscall.SIGCONT))
	if err := cmd.Wait(); exitCode(err) != exitLeaseLost {
		t.Errorf("the child that lost its lease ended with %v", err)
	}
	r.publishMix(2000, 40)
	r.awaitLevel()
	r.must(stop())
	r.epochsInOrder()
	r.faultless()
}

// epochsInOrder checks that no writer committed after its successor.
func (f *fixture) epochsInOrder() {
	f.t.Helper()
	if n := f.count("SELECT count() FROM commits c JOIN commits d ON c.last_seq > d.last_seq WHERE c.epoch < d.epoch"); n != 0 {
		f.t.Errorf("%d pairs of commits have an earlier epoch after a later one", n)
	}
}

// The projector stops during an insert. The bytes of the insert reach the server after another
// projector has finished the range and continued.
func stoppedMidSend(t *testing.T) {
	for _, table := range []string{"events", "log_items", "commits"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.publishMix(0, 100)
			held := r.holdRows(table, 10)
			cmd := r.child(childFollow + "=1")
			r.must(cmd.Start())
			defer cmd.Process.Kill()
			await(t, held, "an insert")
			r.must(cmd.Process.Signal(syscall.SIGSTOP))
			p := r.projector()
			p.config.Owner = "another"
			r.must(r.run(p))
			r.toLedger.requests.open()
			r.must(cmd.Process.Signal(syscall.SIGCONT))
			if err := cmd.Wait(); exitCode(err) != exitLeaseLost {
				t.Errorf("the child that lost its lease ended with %v", err)
			}
			r.epochsInOrder()
			r.faultless()
		})
	}
}

func twoAtOnce(t *testing.T) {
	f := newRig(t)
	var stops []func() error
	for i := range 3 {
		p := f.projector()
		p.config.Owner = fmt.Sprint("projector ", i)
		stops = append(stops, f.follow(p))
	}
	for round := range 3 {
		f.publishMix(round*1000, 60)
		f.awaitLevel()
		f.must(stops[round]()) // the holder of the lease may be any of them; the other projectors continue
	}
	f.epochsInOrder()
	f.faultless()
}
