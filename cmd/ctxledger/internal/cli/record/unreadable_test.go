package record_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
)

// TestImportWithoutPermission imports as a user who may not read everything:
// whoever runs the tests, or nobody if that is root, who may read all.
func TestImportWithoutPermission(t *testing.T) {
	t.Parallel()
	found := clitest.Up(t, t.TempDir())
	root, err := os.MkdirTemp("", "ctxledger-unreadable-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command("chmod", "-R", "u+rwx", root).Run()
		os.RemoveAll(root)
	})
	logs := filepath.Join(root, "logs")
	const line = `{"type":"user","uuid":"u-1","sessionId":"s-readable","timestamp":"2026-01-02T03:00:00Z","message":{"role":"user","content":"x"}}` + "\n"
	for _, file := range []string{"closed/a.jsonl", "open/b.jsonl", "open/secret.jsonl"} {
		path := filepath.Join(logs, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(line), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := clitest.Command("import", "claude-code", logs)
	p.Env = append(os.Environ(), "CTXLEDGER_NATS_URL="+found.NATSURL, "CTXLEDGER_CLICKHOUSE_DSN="+found.ClickHouseDSN, "CTXLEDGER_DATA="+filepath.Join(root, "data"))
	p.Dir = root
	if os.Getuid() == 0 {
		const nobody = 65534
		p.Path = copyOf(t, p.Path, filepath.Join(root, "ctxledger"))
		p.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		if err := os.Chown(root, nobody, nobody); err != nil {
			clitest.Skip(t, err.Error())
		}
	}
	for path, mode := range map[string]os.FileMode{"closed": 0, "open/secret.jsonl": 0} {
		if err := os.Chmod(filepath.Join(logs, path), mode); err != nil {
			t.Fatal(err)
		}
	}
	p.Begin(t)
	if code := p.Code(t, 30*time.Second); code != cli.ExitRefused {
		t.Errorf("import ended with %d, want %d", code, cli.ExitRefused)
	}
	for _, want := range []string{
		filepath.Join(logs, "closed") + ": unreadable_folder: permission denied",
		filepath.Join(logs, "open", "secret.jsonl") + ": unreadable_file: permission denied",
	} {
		if !strings.Contains(p.Messages.String(), want+"\n") {
			t.Errorf("standard error lacks %q", want)
		}
	}
	if !strings.Contains(p.Results.String(), "in the tables: ") || strings.Contains(p.Results.String(), ": 0 new events") {
		t.Error("the readable log is not in the tables")
	}
	if t.Failed() {
		t.Logf("%s%s", &p.Results, &p.Messages)
	}
}

// copyOf copies the program to where any user may execute it.
func copyOf(t *testing.T, from, to string) string {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return to
}
