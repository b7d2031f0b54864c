package projector

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

func TestKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	for _, point := range []string{pointBuilt, pointJournalled, pointQuarantined, pointWritten, pointCommitted} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.publishMix(0, 90)
			// Killed in the second batch, and again at once where that one is finished.
			for _, visit := range []string{"2", "1"} {
				cmd := f.child(childPoint+"="+point, childVisit+"="+visit)
				if err := cmd.Run(); exitCode(err) != -1 {
					t.Fatalf("the child was not killed: %v", err)
				}
			}
			f.publishMix(1000, 10) // the next batch would be cut elsewhere
			f.project()
			f.exact("")
			f.exact("FINAL")
		})
	}
}

func TestKilledAtRandomMoments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 800)
	kills := 0
	for ; kills < 8; kills++ {
		cmd := f.child()
		f.must(cmd.Start())
		timer := time.AfterFunc(100*time.Millisecond+rand.N(300*time.Millisecond), func() { cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		if err == nil {
			break
		}
		if exitCode(err) != -1 {
			t.Fatal(err)
		}
	}
	t.Logf("killed %d times before it was done", kills)
	f.project()
	f.exact("")
	f.exact("FINAL")
}

// A projector that stops for longer than the lease lasts, in the middle of a
// batch, wakes up to find that another has taken over.
func TestStoppedPastItsLease(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 200)
	cmd := f.child(childFollow + "=1")
	f.must(cmd.Start())
	defer cmd.Process.Kill()
	f.await("the child has committed", func() bool { return f.count("SELECT count() FROM commits") > 2 })
	f.must(cmd.Process.Signal(syscall.SIGSTOP))

	p := f.projector()
	p.config.Owner = "another"
	f.must(f.run(p))
	f.exact("")
	f.publishMix(1000, 40)
	stop := f.follow(func() *Projector { p := f.projector(); p.config.Owner = "another"; return p }())
	f.awaitLevel()
	f.must(cmd.Process.Signal(syscall.SIGCONT))
	if err := cmd.Wait(); exitCode(err) != exitLeaseLost {
		t.Errorf("the child that lost its lease ended with %v", err)
	}
	f.publishMix(2000, 40)
	f.awaitLevel()
	f.must(stop())
	f.exact("")
	if n := f.count("SELECT count() FROM commits c JOIN commits d ON c.last_seq > d.last_seq WHERE c.epoch < d.epoch"); n != 0 {
		t.Errorf("%d pairs of commits have an earlier epoch after a later one", n)
	}
}

func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var stops []func() error
	for i := range 3 {
		p := f.projector()
		p.config.Owner = fmt.Sprint("projector ", i)
		stops = append(stops, f.follow(p))
	}
	for round := range 3 {
		f.publishMix(round*1000, 60)
		f.awaitLevel()
		f.must(stops[round]()) // whoever holds it; the rest go on
	}
	f.project()
	f.exact("")
}
