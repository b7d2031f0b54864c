package record_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
)

// terminal returns both ends of a new terminal.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return person, program
}

// TestAloneOffersLogs: on a terminal, `ctxledger` alone shows the logs of this machine's clients. A no
// imports nothing and starts nothing. A yes imports them. Without a terminal or logs there is the help.
func TestAloneOffersLogs(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	home, data := t.TempDir(), filepath.Join(t.TempDir(), "data")
	alone := func(answer string) (string, int) {
		t.Helper()
		person, end := terminal(t)
		p := clitest.Command("--data", data)
		p.Env = append(os.Environ(), "HOME="+home, "CLAUDE_CONFIG_DIR=", "CODEX_HOME=", "TERM=dumb")
		p.Stdin, p.Stdout, p.Stderr = end, end, end
		p.Begin(t)
		if _, err := io.WriteString(person, answer+"\n"); err != nil {
			t.Fatal(err)
		}
		code := p.Code(t, clitest.StartPatience)
		end.Close()
		text, _ := io.ReadAll(person) // ends with an error, when nobody has the other end
		return strings.ReplaceAll(string(text), "\r\n", "\n"), code
	}
	if said, code := alone(""); code != cli.ExitDone || !strings.Contains(said, "Usage:") || strings.Contains(said, "session logs:") {
		t.Errorf("without logs: %d %s", code, said)
	}
	for client, to := range map[string]string{"claude-code": ".claude/projects/p", "codex": ".codex/sessions"} {
		if err := os.CopyFS(filepath.Join(home, to), os.DirFS(clitest.Shared(t, "transcripts", client))); err != nil {
			t.Fatal(err)
		}
	}
	said, code := alone("n")
	if code != cli.ExitDone || !strings.Contains(said, "Claude Code       3 logs") || !strings.Contains(said, "Codex             2 logs") ||
		!strings.Contains(said, "ctxledger import auto "+home+"/.claude/projects "+home+"/.codex/sessions") {
		t.Errorf("no: %d %s", code, said)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("a no made the data folder")
	}
	said, code = alone("y")
	if code != cli.ExitDone || !strings.Contains(said, "in the tables: 4797 new events") || !strings.Contains(said, "ctxledger query sessions --data "+data) {
		t.Errorf("yes: %d %s", code, said)
	}
	piped := exec.CommandContext(t.Context(), os.Args[0])
	piped.Args[0], piped.Env = "ctxledger", append(os.Environ(), "HOME="+home)
	if out, err := piped.CombinedOutput(); err != nil || !strings.Contains(string(out), "Usage:") {
		t.Errorf("in a pipe: %v %s", err, out)
	}
	clitest.Up(t, data)
	if said, code = alone("yes"); code != cli.ExitDone || !strings.Contains(said, "everything was there already") {
		t.Errorf("with a running ledger: %d %s", code, said)
	}
}
