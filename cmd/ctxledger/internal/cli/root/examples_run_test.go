package root_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
)

// examplesNotRun are examples that TestEveryExampleRuns only parses, by their beginning, with
// the reason.
var examplesNotRun = map[string]string{
	"ctxledger demo":                          "TestDemo runs it",
	"ctxledger project":                       "it needs servers without a projector; the tests of project and the scripts run it",
	"ctxledger rebuild":                       "it takes seconds each; rebuild.txtar runs it",
	"ctxledger backup":                        "it writes to folders outside of the test; backup.txtar runs it",
	"ctxledger bench":                         "it takes minutes; bench.txtar runs small sizes",
	"ctxledger migrate":                       "it changes the number of streams; partitions.txtar runs it",
	"ctxledger conformance":                   "it takes long; package conformance runs it",
	"ctxledger redaction revoke":              "it needs a redaction in force; reintroduced.txtar runs it",
	"ctxledger quarantine replay":             "it needs a quarantined message; quarantine.txtar runs it",
	"ctxledger quarantine show":               "it needs a quarantined message; quarantine.txtar runs it",
	"ctxledger shards":                        "it needs a cluster; TestPartitionMoves runs it",
	"ctxledger proof witness":                 "it needs a state folder of a witness; proof.txtar runs it",
	"ctxledger proof consistency":             "it needs signed heads of two days; proof.txtar runs it",
	"ctxledger run":                           "it needs an agent; run.txtar has one",
	"ctxledger serve --listen 127.0.0.1:8443": "it needs a certificate; TestDemo serves with one",
	"ctxledger import":                        "it needs session logs; import.txtar and TestReadmeRuns run it",
	"ctxledger prices import":                 "it needs a price list; query.txtar runs it",
	"ctxledger evidence verify pack --key ledger.pub --head": "it needs a head of the time of the export; evidence.txtar runs it",
	"ctxledger evidence verify pack.zip":                     "it needs the key file of a tenant; evidence_verify.txtar has one",
}

// exampleCodes are exit codes other than 0.
var exampleCodes = map[string]int{
	"ctxledger window --turn turn-1 --as-of 10m": cli.ExitFailed, // the demo ran a moment ago
}

// placeholders are what an example leaves to the reader, and what stands for it here.
var placeholders = strings.NewReplacer(
	"my-runtime --facts", "cat events.ndjson", "mail -s head auditor@example.org", "cat", "jq .type", "cat",
	"CTXLEDGER_NATS_URL=nats://… CTXLEDGER_CLICKHOUSE_DSN=clickhouse://… ", "", " --secrets node/secrets", "",
)

// TestEveryExampleRuns runs the examples of every command as a user pastes them into a shell,
// after `ctxledger demo`. All of them share one installation with the data of the demo.
func TestEveryExampleRuns(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	home := t.TempDir()
	data := filepath.Join(home, "data")
	if _, stderr, code := clitest.Run(t, "demo", "--keep", data); code != cli.ExitDone {
		t.Fatalf("demo ended with %d: %s", code, stderr)
	}
	clitest.Up(t, data)
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(home, "ctxledger"))
	}
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "HOME="+home, "CTXLEDGER_DATA="+data, "PATH="+home+":"+os.Getenv("PATH"))
	sh := func(dir, line string) (string, int) {
		ctx, cancel := context.WithTimeout(t.Context(), clitest.StartPatience)
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-c", line)
		cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, time.Second
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatalf("%s: %v", line, err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	given := filepath.Join(home, "given")
	if err := os.Mkdir(given, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"ctxledger proof keygen >ledger.pub", "ctxledger evidence export --session demo-session --turn turn-1 --out pack",
		"ctxledger token create --file tokens --name bob --role read", `ctxledger schema show context.item.added -o example | tr -d '\n' >events.ndjson`,
	} {
		if out, code := sh(given, line); code != cli.ExitDone {
			t.Fatalf("%s: ended with %d: %s", line, code, out)
		}
	}
	eachExample(func(c *cobra.Command, line string) {
		if c.Hidden {
			return
		}
		for beginning := range examplesNotRun {
			if commandLine := placeholders.Replace(line); strings.HasPrefix(commandLine, beginning) || strings.Contains(commandLine, "| "+beginning) {
				return
			}
		}
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(given)); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(line, "ctxledger evidence export") {
			if err := os.RemoveAll(filepath.Join(dir, "pack")); err != nil {
				t.Fatal(err)
			}
		}
		if slices.Contains([]string{"up", "serve", "capture"}, c.Name()) || c.Name() == "tail" && !strings.Contains(line, "--no-follow") {
			out, code := interrupted(t, dir, env, line)
			if code != cli.ExitDone {
				t.Errorf("%s: ended with %d after an interruption: %s", line, code, out)
			}
			return
		}
		if out, code := sh(dir, placeholders.Replace(line)); code != exampleCodes[line] {
			t.Errorf("%s: ended with %d, not %d: %.600s", line, code, exampleCodes[line], out)
		}
	})
}

// interrupted runs an example that does not end by itself, interrupts it after its first
// output, and returns what it wrote on standard error and its exit code.
func interrupted(t *testing.T, dir string, env []string, line string) (stderr string, code int) {
	t.Helper()
	line, _, _ = strings.Cut(line, " | ")
	line = strings.ReplaceAll(line, "/mnt/elsewhere", dir)
	args := commandsOf(line)[0]
	if slices.Contains([]string{"serve", "capture"}, args[0]) {
		args = append(args, "--listen", "127.0.0.1:0") // the example's port may be in use
	}
	p := clitest.Command(args...)
	p.Dir, p.Env = dir, env
	if strings.HasPrefix(line, "ctxledger up") {
		p.Env = append(env, "CTXLEDGER_DATA="+filepath.Join(dir, "data"))
	}
	r, w := io.Pipe()
	p.Stdout = w
	p.Begin(t)
	go func() {
		_, _ = r.Read(make([]byte, 1))
		_ = p.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, r)
	}()
	code = p.Code(t, clitest.StartPatience)
	return p.Messages.String(), code
}
