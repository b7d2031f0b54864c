package serve_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/deploy"
	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
)

// unitCommand returns the arguments and the variables of a unit, with other values for the paths and
// ports of a real machine.
func unitCommand(t *testing.T, name string, here *strings.Replacer) (args, variables []string) {
	t.Helper()
	for _, f := range deploy.Units() {
		if filepath.Base(f.Path) != name {
			continue
		}
		for line := range strings.Lines(f.Text) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			switch key {
			case "ExecStart":
				words := strings.Fields(here.Replace(value))
				if words[0] != "/usr/local/bin/ctxledger" {
					t.Errorf("%s starts %s", name, words[0])
				}
				args = words[1:]
			case "Environment":
				variables = append(variables, here.Replace(value))
			}
		}
	}
	if args == nil {
		t.Fatalf("there is no unit %s", name)
	}
	return args, variables
}

// TestUnitsOfSystemd runs the command of each unit as systemd does, with a socket for its reports,
// and stops it. `capture` has no unit and reports, too.
func TestUnitsOfSystemd(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	data, dir := t.TempDir(), t.TempDir()
	s := embeddedtest.Start(t, func(c *embedded.Config) { c.Dir = data })
	if _, stderr, code := clitest.Run(t, "migrate", "--data", data); code != cli.ExitDone {
		t.Fatalf("migrate ended with %d: %s", code, stderr)
	}
	clitest.Certify(t, filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	if _, stderr, code := clitest.Run(t, "token", "create", "--file", filepath.Join(dir, "tokens"), "--name", "ann", "--role", "read"); code != cli.ExitDone {
		t.Fatal(stderr)
	}
	here := strings.NewReplacer("%d", dir, "%H", "localhost", ":9464", ":0", ":8443", ":0", "/var/lib/ctxledger", data)
	servers := []string{"CTXLEDGER_NATS_URL=" + s.NATSURL(), "CTXLEDGER_CLICKHOUSE_DSN=" + s.ClickHouseDSN()}
	for _, unit := range []string{"ctxledger-project.service", "ctxledger-serve.service"} {
		args, variables := unitCommand(t, unit, here)
		reportsToSystemd(t, unit, args, append(variables, servers...))
	}
	reportsToSystemd(t, "capture", []string{"capture", "--listen", "127.0.0.1:0", "--data", data}, nil)
	args, _ := unitCommand(t, "ctxledger-up.service", here)
	reportsToSystemd(t, "ctxledger-up.service", append(args, clitest.AnyPorts...), []string{"CTXLEDGER_DATA=" + t.TempDir()})
}

// reportsToSystemd starts a command, and compares its reports until its end.
func reportsToSystemd(t *testing.T, name string, args, variables []string) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	clitest.Must(t, err)
	defer conn.Close()
	p := clitest.Command(args...)
	receive := func() string {
		clitest.Must(t, conn.SetReadDeadline(time.Now().Add(clitest.StartPatience)))
		buffer := make([]byte, 100)
		n, err := conn.Read(buffer)
		if err != nil {
			t.Fatalf("%s: %v; ended: %v\n%s", name, err, p.Ended(), &p.Messages)
		}
		return string(buffer[:n])
	}
	p.Env = append(append(os.Environ(), variables...), "NOTIFY_SOCKET="+socket, "WATCHDOG_USEC=300000")
	p.Begin(t)
	for i, want := range []string{"READY=1", "WATCHDOG=1", "WATCHDOG=1"} {
		if got := receive(); got != want {
			t.Errorf("%s: report %d is %q, want %q\n%s", name, i, got, want, &p.Messages)
		}
	}
	clitest.Must(t, p.Process.Signal(syscall.SIGTERM))
	said := receive()
	for said == "WATCHDOG=1" {
		said = receive()
	}
	if said != "STOPPING=1" {
		t.Errorf("%s: at its end it reports %q", name, said)
	}
	if code := p.Code(t, clitest.StartPatience); code != cli.ExitDone {
		t.Errorf("%s ended with %d: %s", name, code, &p.Messages)
	}
}
