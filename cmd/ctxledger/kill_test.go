package main

import (
	"fmt"
	"reflect"
	"syscall"
	"testing"
	"time"
)

// TestKilledInTheMiddleOfAnImport kills the whole of `up` while an import goes
// on, starts it again, imports again, and asks for the same totals as if
// nothing had happened.
func TestKilledInTheMiddleOfAnImport(t *testing.T) {
	t.Parallel()
	want, logs := expectedAnswers(t), shared(t, "transcripts", "claude-code")
	calm := t.TempDir()
	up(t, calm)
	if stdout, stderr, code := ctxledger(t, "import", "claude-code", logs, "--data", calm); code != exitDone {
		t.Fatalf("import ended with %d\n%s%s", code, stdout, stderr)
	}
	undisturbed := everything(t, calm)

	for _, delay := range []time.Duration{60 * time.Millisecond, 200 * time.Millisecond, 350 * time.Millisecond, 500 * time.Millisecond, 800 * time.Millisecond} {
		t.Run(fmt.Sprint(delay), func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			first, _ := beginUp(t, data)
			importing := command("import", "claude-code", logs, "--data", data).begin(t)
			time.Sleep(delay)
			if err := first.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if code := importing.code(t, 30*time.Second); code != exitDone && importing.stderr.Len() == 0 {
				t.Errorf("the import ended with %d and said nothing", code)
			}
			t.Logf("the import ended with %d: %s", importing.ProcessState.ExitCode(), &importing.stderr)

			second, _ := beginUp(t, data) // waits for the engine of the first
			if stdout, stderr, code := ctxledger(t, "import", "claude-code", logs, "--data", data); code != exitDone {
				t.Fatalf("the second import ended with %d\n%s%s", code, stdout, stderr)
			}
			checkAnswers(t, data, want)
			if got := everything(t, data); !reflect.DeepEqual(got, undisturbed) {
				t.Errorf("the facts are not those of an undisturbed import:\n got %v\nwant %v", got, undisturbed)
			}
			if err := second.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if code := second.code(t, 15*time.Second); code != exitDone {
				t.Errorf("up ended with %d on SIGTERM\n%s", code, &second.stderr)
			}
			nothingRunsOn(t, data, time.Second)
		})
	}
}

// TestSignalsEndUp: both signals that ask a program to end do, in order.
func TestSignalsEndUp(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		data := t.TempDir()
		p, _ := beginUp(t, data)
		began := time.Now()
		if err := p.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if code := p.code(t, 10*time.Second); code != exitDone {
			t.Errorf("up ended with %d on %s\n%s", code, signal, &p.stderr)
		}
		t.Logf("%s ended up in %s", signal, time.Since(began).Round(time.Millisecond))
		nothingRunsOn(t, data, 0)
	}
}

// TestKilledUpLeavesNoEngine: the engine ends by itself when up is killed.
func TestKilledUpLeavesNoEngine(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p, _ := beginUp(t, data)
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.code(t, 5*time.Second)
	nothingRunsOn(t, data, 15*time.Second)
}
