package serve_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/serve"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	found := clitest.Up(t, data)
	if status, body := clitest.Readyz(t, found.Health); status != http.StatusOK || !body.Ready || !body.NATS || !body.ClickHouse || !body.Projector {
		t.Errorf("/readyz answers %d, %+v", status, body)
	}
	response, err := http.Get(strings.TrimSuffix(found.Health, "/readyz") + "/healthz")
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("/healthz answers %v, %v", response, err)
	}
	// The engine dies and comes back; events are projected again without help.
	killEngine(t, data)
	deadline := time.Now().Add(45 * time.Second)
	for status := 0; status != http.StatusOK; time.Sleep(20 * time.Millisecond) {
		if status, _ = clitest.Readyz(t, found.Health); time.Now().After(deadline) {
			t.Fatalf("/readyz still answers %d", status)
		}
	}
	file := filepath.Join(t.TempDir(), "events.ndjson")
	if err := os.WriteFile(file, []byte(clitest.OneEvent), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := clitest.Run(t, "publish", file, "--data", data); code != cli.ExitDone {
		t.Fatalf("publish ended with %d: %s", code, stderr)
	}
	for len(clitest.Ask(t, data, "event-types")) == 0 {
		if time.Sleep(50 * time.Millisecond); time.Now().After(deadline) {
			t.Fatal("nothing is projected after the engine came back")
		}
	}
}

// The projector of an instance has to stop: what is there is still answered, it is
// said what to do, and an interruption ends it as a failure.
func TestUpOutlivesItsProjector(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	first, found := clitest.BeginUp(t, data)
	file := filepath.Join(t.TempDir(), "events.ndjson")
	if err := os.WriteFile(file, []byte(clitest.OneEvent), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := clitest.Run(t, "publish", file, "--data", data); code != cli.ExitDone {
		t.Fatalf("publish ended with %d: %s", code, stderr)
	}
	sql := embeddedtest.Connect(t, found.ClickHouseDSN)
	var commits uint64 // the last that is written of a batch
	for deadline := time.Now().Add(clitest.StartPatience); commits == 0; time.Sleep(50 * time.Millisecond) {
		if err := sql.QueryRow(t.Context(), "SELECT count() FROM commits").Scan(&commits); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing is projected")
		}
	}
	if err := sql.Exec(t.Context(), "ALTER TABLE commits UPDATE digest = reverse(digest) WHERE 1 SETTINGS mutations_sync = 1"); err != nil {
		t.Fatal(err)
	}
	interrupt := func(p *clitest.Program) int {
		t.Helper()
		if err := p.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		return p.Code(t, clitest.StartPatience)
	}
	if code := interrupt(first); code != cli.ExitDone {
		t.Fatalf("the first ended with %d", code)
	}

	second, found := clitest.BeginUp(t, data)
	if got := clitest.Ask(t, data, "event-types"); len(got) != 1 {
		t.Errorf("asked, it answers %v", got)
	}
	if code, body := clitest.Readyz(t, found.Health); code != http.StatusServiceUnavailable || body.Projector || !body.ClickHouse || !body.NATS ||
		!strings.Contains(strings.Join(body.Reasons, " "), "stream_forked") {
		t.Errorf("/readyz answers %d, %+v", code, body)
	}
	if code := interrupt(second); code != cli.ExitFailed {
		t.Errorf("the second ended with %d", code)
	}
	if said := second.Messages.String(); !strings.Contains(said, "nothing is projected") || !strings.Contains(said, "rebuild --accept") {
		t.Errorf("it does not say what to do: %s", said)
	}
}

// TestTheLogOfClickHouseHasNoWarnings: what a person finds there is about a fault. The statements of a first start
// and of the projection are none, and the periodic tasks of tables seldom wait for each other. Warnings about the
// machine are not looked at.
func TestTheLogOfClickHouseHasNoWarnings(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	up, _ := clitest.BeginUp(t, data)
	if _, stderr, code := clitest.Run(t, "bench", "seed", "--events", "2000", "--data", data); code != cli.ExitDone {
		t.Fatalf("bench seed ended with %d: %s", code, stderr)
	}
	clitest.Await(t, "something is projected", func() bool { return len(clitest.Ask(t, data, "sessions")) > 0 })
	clitest.End(t, up)
	text, err := os.ReadFile(filepath.Join(data, "clickhouse", "clickhouse.log"))
	if err != nil || !bytes.Contains(text, []byte(" <Information> ")) {
		t.Fatalf("the log has %d bytes: %v", len(text), err)
	}
	for _, line := range regexp.MustCompile(`(?m)^.* <(Error|Warning)> (executeQuery|TCPHandler): .*$`).FindAll(text, -1) {
		t.Errorf("%.300s", line)
	}
	// A busy machine has a few. A pool that is too small has more than a hundred by now, and 20 more each second.
	if n := bytes.Count(text, []byte("Temporarily pause scheduling of tasks")); n > 50 {
		t.Errorf("tasks were paused %d times", n)
	}
}

// killEngine kills the ClickHouse that runs on the folder.
func killEngine(t *testing.T, data string) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(names) == 0 {
		clitest.Skip(t, "there is no /proc to look for processes in")
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil || !bytes.HasPrefix(text, []byte("ctxledger-clickhouse\x00")) || !bytes.Contains(text, []byte(data)) {
			continue
		}
		var pid int
		for _, digit := range filepath.Base(filepath.Dir(name)) {
			pid = 10*pid + int(digit-'0')
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("no engine runs on the folder")
}

// TestUpWithServersThatAreThere: servers that are named are used, shown without
// their passwords, and other commands that get the same addresses work.
func TestUpWithServersThatAreThere(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	servers := embeddedtest.Start(t)
	t.Run("both", func(t *testing.T) { upWith(t, servers.NATSURL(), servers.ClickHouseDSN()) })
	t.Run("NATS only", func(t *testing.T) {
		upWith(t, embeddedtest.NATS(t).NATSURL(), "")
	})
}

func upWith(t *testing.T, natsURL, dsn string) {
	data, dir := filepath.Join(t.TempDir(), "data"), t.TempDir()
	environment := append(os.Environ(), "CTXLEDGER_NATS_URL="+natsURL, "CTXLEDGER_CLICKHOUSE_DSN="+dsn, "CTXLEDGER_DATA="+data)
	p := clitest.Command(append([]string{"up"}, clitest.AnyPorts...)...)
	p.Env = environment
	r, w := io.Pipe()
	p.Stdout = w
	p.Begin(t)
	printed := make([]byte, 4096)
	n := 0
	for !strings.Contains(string(printed[:n]), "Ctrl-C stops it") {
		more, err := r.Read(printed[n:])
		if err != nil {
			t.Fatal(err)
		}
		n += more
	}
	go io.Copy(io.Discard, r)
	text := string(printed[:n])
	if !strings.Contains(text, cli.Redacted(natsURL)) || strings.Contains(text, clitest.Password(t, natsURL)) {
		t.Errorf("up printed\n%s", text)
	}
	if dsn != "" && (!strings.Contains(text, cli.Redacted(dsn)) || !strings.Contains(text, "give other commands the same --nats and --clickhouse")) {
		t.Errorf("up printed\n%s", text)
	}
	file := filepath.Join(dir, "events.ndjson")
	if err := os.WriteFile(file, []byte(clitest.OneEvent), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"publish", file}, {"doctor"}, {"project", "--until-caught-up"}, {"query", "event-types", "-o", "csv"}} {
		if args[0] == "project" && dsn == "" {
			continue // up's own projector holds the lease until it ends
		}
		if args[0] == "project" {
			_ = p.Process.Signal(syscall.SIGTERM)
			if code := p.Code(t, 30*time.Second); code != cli.ExitDone {
				t.Errorf("up ended with %d\n%s", code, &p.Messages)
			}
		}
		c := clitest.Command(args...)
		c.Env = environment
		c.Begin(t)
		if code := c.Code(t, 30*time.Second); code != cli.ExitDone {
			t.Errorf("%v ended with %d\n%s%s", args, code, &c.Results, &c.Messages)
		}
	}
}

// TestNamedServerIsNotPairedWithAnInstance: an instance's own stream must not
// go into another's tables, nor the other way round.
func TestNamedServerIsNotPairedWithAnInstance(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	clitest.Up(t, data)
	other := embeddedtest.NATS(t)
	a := cli.App{Flags: cli.GlobalFlags{Data: data, NATS: other.NATSURL()}}
	if _, err := a.OpenLedger(context.Background()); cli.ExitCode(err) != cli.ExitUnreachable {
		t.Errorf("a foreign stream is paired with the instance's tables: %v", err)
	}
	js, err := a.ConnectNATS()
	if err != nil || js.Conn().ConnectedUrlRedacted() != cli.Redacted(other.NATSURL()) {
		t.Fatalf("connected to %v, %v", js, err)
	}
	if js, err = a.ConnectNATS(serve.Outlasting...); err != nil || js.Conn().Opts.MaxReconnect >= 0 || js.Conn().Opts.PingInterval > 5*time.Second {
		t.Errorf("a projector waits for %d reconnects and asks every %s whether the server lives: %v", js.Conn().Opts.MaxReconnect, js.Conn().Opts.PingInterval, err)
	}
	a.Close()
	a = cli.App{Flags: cli.GlobalFlags{Data: data, ClickHouse: "clickhouse://127.0.0.1:1/x"}}
	if _, err := a.ConnectNATS(); cli.ExitCode(err) != cli.ExitUnreachable {
		t.Errorf("the instance's stream is paired with foreign tables: %v", err)
	}
}
