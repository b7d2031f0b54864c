// Package clitest runs `ctxledger` in tests: command lines in this process, programs in processes of
// their own, and the facts, servers and answers that tests of several groups of commands share.
package clitest

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/root"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/serve"
	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
)

// Main runs the tests of a package. Where the binary of the tests is executed as `ctxledger`, it is that
// program, so that tests have processes of their own to kill. programs are what the binary is under other names.
func Main(m *testing.M, programs map[string]func()) {
	embeddedtest.Main()
	switch name := filepath.Base(os.Args[0]); {
	case programs[name] != nil:
		programs[name]()
	case name == "ctxledger":
		root.Main(Sources)
	}
	for _, name := range []string{"CTXLEDGER_NATS_URL", "CTXLEDGER_NATS_CONTEXT", "CTXLEDGER_CLICKHOUSE_DSN", "CTXLEDGER_DATA", "CTXLEDGER_CONFIG"} {
		os.Unsetenv(name) // the settings of whoever runs the tests
		os.Unsetenv(name + "_FILE")
	}
	os.Unsetenv("GOGC") // tests measure the memory of the programs that they start
	m.Run()
}

// StartPatience is how long a start may take on a machine that does much else.
const StartPatience = 2 * time.Minute

// Sources are the files that the demo's agent reads.
var Sources = os.DirFS(Repository("cmd", "ctxledger"))

// RunContext runs one command line in this process, and returns its exit code.
func RunContext(ctx context.Context, args []string, in io.Reader, out, stderr io.Writer) int {
	return root.Run(ctx, Sources, args, in, out, stderr)
}

// FetchEngine fetches the engine once.
var FetchEngine = sync.OnceValues(func() (string, error) { return embedded.Fetch(context.Background(), nil) })

// NeedEngine fetches the engine once, and skips the test where it cannot be
// had, or fails it in CI. The short form of the tests skips it.
func NeedEngine(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs servers: run without -short")
	}
	if _, err := FetchEngine(); err != nil {
		embeddedtest.GiveUp(t, err)
	}
}

// Shared returns a path in the shared folder, which the product does not ship.
func Shared(t testing.TB, path ...string) string {
	t.Helper()
	root := os.Getenv("CTXLEDGER_SHARED")
	if root == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("CTXLEDGER_SHARED does not name the shared folder")
		}
		t.Skip("set CTXLEDGER_SHARED to the shared folder to test against real session logs")
	}
	return filepath.Join(append([]string{root}, path...)...)
}

// A Program is one `ctxledger` in a process of its own: this test binary,
// executed again.
type Program struct {
	*exec.Cmd
	Results, Messages bytes.Buffer
	Done              chan struct{} // closed when it has ended
}

// Command prepares `ctxledger args…`.
func Command(args ...string) *Program {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	p := &Program{Cmd: exec.Command(self, args...), Done: make(chan struct{})}
	p.Args[0] = "ctxledger"
	p.Stdout, p.Stderr = &p.Results, &p.Messages
	return p
}

// Begin starts it; it is killed with the test if it still runs then.
func (p *Program) Begin(t *testing.T) *Program {
	t.Helper()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.Wait() // its end is in ProcessState
		close(p.Done)
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.Done
		if i := slices.Index(p.Args, "--data"); i > 0 && p.Args[1] == "up" && !p.ProcessState.Exited() {
			awaitEngine(t, p.Args[i+1])
		}
	})
	return p
}

// awaitEngine waits until the engine of a killed program has ended. Until then it writes into the folder
// that the test removes. An engine locks its file of status.
func awaitEngine(t *testing.T, data string) {
	t.Helper()
	f, err := os.Open(filepath.Join(data, "clickhouse", "data", "status"))
	if err != nil {
		return // no engine
	}
	defer f.Close()
	for deadline := time.Now().Add(time.Minute); unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil; {
		if time.Sleep(20 * time.Millisecond); time.Now().After(deadline) {
			t.Errorf("the engine of %s does not end", data)
			return
		}
	}
}

// Ended reports whether it has ended.
func (p *Program) Ended() bool {
	select {
	case <-p.Done:
		return true
	default:
		return false
	}
}

// Code waits for its end and returns the exit code.
func (p *Program) Code(t *testing.T, within time.Duration) int {
	t.Helper()
	select {
	case <-p.Done:
	case <-time.After(within):
		t.Fatalf("ctxledger %s still runs after %s\n%s%s", strings.Join(p.Args[1:], " "), within, &p.Results, &p.Messages)
	}
	return p.ProcessState.ExitCode()
}

// AnyPorts keeps the servers of tests, which run at once, off the ports of others.
var AnyPorts = []string{"--nats-port", "0", "--clickhouse-port", "0", "--clickhouse-http-port", "0", "--http-port", "0", "--capture-port", "0"}

// BeginUp starts `ctxledger up` on a data folder and returns when it is ready.
func BeginUp(t *testing.T, data string, args ...string) (*Program, serve.UpAddresses) {
	t.Helper()
	NeedEngine(t)
	p := Command(slices.Concat([]string{"up", "--json", "--data", data}, AnyPorts, args)...)
	r, w := io.Pipe()
	p.Stdout = w
	p.Begin(t)
	return p, readAddresses(t, r, func() string { return p.Messages.String() })
}

// readAddresses reads the line that `up --json` prints once all is ready.
func readAddresses(t *testing.T, r io.Reader, stderr func() string) (found serve.UpAddresses) {
	t.Helper()
	line := make(chan []byte, 1)
	go func() {
		text, _ := bufio.NewReader(r).ReadBytes('\n')
		line <- text
		_, _ = io.Copy(io.Discard, r)
	}()
	select {
	case text := <-line:
		if err := json.Unmarshal(text, &found); err != nil {
			t.Fatalf("up printed %q: %v\n%s", text, err, stderr())
		}
	case <-time.After(StartPatience):
		t.Fatalf("up is not ready\n%s", stderr())
	}
	return found
}

// Up runs `ctxledger up` in this process until the test ends.
func Up(t *testing.T, data string) serve.UpAddresses {
	t.Helper()
	NeedEngine(t)
	ctx, stop := context.WithCancel(context.Background())
	r, w := io.Pipe()
	var stderr bytes.Buffer // read once up has ended
	code := make(chan int, 1)
	go func() {
		code <- RunContext(ctx, append([]string{"up", "--json", "--data", data}, AnyPorts...), nil, w, &stderr)
		w.Close()
	}()
	t.Cleanup(func() {
		stop()
		if got := <-code; got != cli.ExitDone {
			t.Errorf("up ended with %d\n%s", got, &stderr)
		}
	})
	return readAddresses(t, r, func() string { return "" })
}

// Run runs one command line in this process.
func Run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	code = RunContext(t.Context(), args, strings.NewReader(""), &out, &err)
	return out.String(), err.String(), code
}

// Ask runs a query of the command line and returns its rows.
func Ask(t *testing.T, data string, args ...string) (list []map[string]any) {
	t.Helper()
	stdout, stderr, code := Run(t, append([]string{"query", "--data", data, "-o", "json"}, args...)...)
	if code != cli.ExitDone {
		t.Fatalf("query %v ended with %d: %s", args, code, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &list); err != nil {
		t.Fatalf("query %v printed %q: %v", args, stdout, err)
	}
	return list
}

// Skip skips the test where a part of it is absent, and fails it in CI.
func Skip(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// processesOn returns the command lines of the processes that name the folder.
func processesOn(t *testing.T, folder string) (found []string) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(names) == 0 {
		Skip(t, "there is no /proc to look for processes in")
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err == nil && bytes.Contains(text, []byte(folder)) {
			found = append(found, string(bytes.ReplaceAll(text, []byte{0}, []byte{' '})))
		}
	}
	return found
}

// NothingRunsOn fails the test if a process on the folder outlives patience.
func NothingRunsOn(t *testing.T, folder string, patience time.Duration) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		left := processesOn(t, folder)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still running after %s: %s", patience, strings.Join(left, "\n"))
		}
		time.Sleep(50 * time.Millisecond)
	}
}
