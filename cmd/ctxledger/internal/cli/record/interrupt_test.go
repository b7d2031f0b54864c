package record_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
)

// TestPublishFromAPipeThatStaysOpen: what was written is in the tables while
// the pipe is open, and an interruption ends the command at once.
func TestPublishFromAPipeThatStaysOpen(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	clitest.Up(t, data)
	p := clitest.Command("publish", "--data", data)
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	p.Begin(t)
	if _, err := io.WriteString(in, clitest.OneEvent); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); len(clitest.Ask(t, data, "event-types")) == 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the event is not in the tables while the pipe is open")
		}
	}
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := p.Code(t, 30*time.Second); code != cli.ExitFailed {
		t.Errorf("an interrupted publish ended with %d", code)
	}
	if want := "interrupted: 1 accepted, 0 refused so far; publish the input again, and nothing is stored twice"; !strings.Contains(p.Messages.String(), want) {
		t.Errorf("it said %q", &p.Messages)
	}
}

// TestInterrupted: a command that was to finish and did not says so and fails;
// one that runs until it is interrupted ends well.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	clitest.Up(t, data)
	log := filepath.Join(t.TempDir(), "session.jsonl")
	if err := os.WriteFile(log, []byte(`{"type":"user","uuid":"u-1","sessionId":"s","timestamp":"2026-01-02T03:00:00Z","message":{"role":"user","content":"x"}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args  []string
		code  int
		wants string // on standard error
	}{
		{[]string{"import", "claude-code", log}, cli.ExitFailed, "interrupted: "},
		{[]string{"query", "sessions"}, cli.ExitFailed, "interrupted: "},
		{[]string{"window", "--turn", "t"}, cli.ExitFailed, "interrupted: "},
		{[]string{"migrate"}, cli.ExitFailed, "interrupted: "},
		{[]string{"demo"}, cli.ExitFailed, "interrupted: "},
		{[]string{"tail"}, cli.ExitDone, ""},
		{[]string{"project"}, cli.ExitDone, ""},
		{[]string{"query", "nosuch"}, cli.ExitUsage, "unknown query"},
	} {
		t.Run(c.args[0], func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			var stdout, stderr strings.Builder
			code := clitest.RunContext(ctx, append(c.args, "--data", data), strings.NewReader(""), &stdout, &stderr)
			if code != c.code || !strings.Contains(stderr.String(), c.wants) || c.wants == "" && stderr.Len() > 0 {
				t.Errorf("ended with %d and said %q, want %d and %q", code, &stderr, c.code, c.wants)
			}
		})
	}
}

// TestInterruptedImport interrupts a real one in its middle; importing again
// completes it.
func TestInterruptedImport(t *testing.T) {
	t.Parallel()
	want, logs := clitest.ExpectedAnswers(t), clitest.Shared(t, "transcripts", "claude-code")
	data := t.TempDir()
	clitest.Up(t, data)
	for _, delay := range []time.Duration{50 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(delay, cancel)
		var stdout, stderr strings.Builder
		code := clitest.RunContext(ctx, []string{"import", "claude-code", logs, "--data", data}, nil, &stdout, &stderr)
		cancel()
		if code != cli.ExitDone && (code != cli.ExitFailed || !strings.Contains(stderr.String(), "interrupted: ")) {
			t.Errorf("after %s import ended with %d and said %q", delay, code, &stderr)
		}
	}
	if stdout, stderr, code := clitest.Run(t, "import", "claude-code", logs, "--data", data); code != cli.ExitDone {
		t.Fatalf("import ended with %d\n%s%s", code, stdout, stderr)
	}
	clitest.CheckAnswers(t, data, want)
}
