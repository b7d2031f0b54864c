package serve_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/deploy/embedded"
)

// beginUpForPeople starts `ctxledger up` as a person does, and returns what it printed once
// all was ready.
func beginUpForPeople(t *testing.T, args ...string) (*clitest.Program, string) {
	t.Helper()
	clitest.NeedEngine(t)
	p := clitest.Command(append([]string{"up"}, args...)...)
	r, w := io.Pipe()
	p.Stdout = w
	p.Begin(t)
	go func() {
		<-p.Done
		w.Close()
	}()
	var printed strings.Builder
	for part := make([]byte, 4096); !strings.Contains(printed.String(), "Ctrl-C stops it"); {
		n, err := r.Read(part)
		printed.Write(part[:n])
		if err != nil {
			t.Fatalf("up ended: %v\n%s%s", err, &printed, &p.Messages)
		}
	}
	go io.Copy(io.Discard, r)
	return p, printed.String()
}

var printedAddresses = regexp.MustCompile(`(?m)^  (NATS|ClickHouse|ClickHouse HTTP|health|capture) +(\S+://)(\w*@?)127\.0\.0\.1:(\d+)`)

// portsIn returns the ports in what `up` printed, by server.
func portsIn(t *testing.T, printed string) map[string]int {
	t.Helper()
	ports := make(map[string]int)
	for _, m := range printedAddresses.FindAllStringSubmatch(printed, -1) {
		ports[m[1]], _ = strconv.Atoi(m[4])
	}
	if len(ports) != 5 {
		t.Fatalf("up printed\n%s", printed)
	}
	return ports
}

func TestUpListensOnTheSameAddresses(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	var held []net.Listener
	for range 5 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, l)
	}
	port := func(i int) int { return held[i].Addr().(*net.TCPAddr).Port }
	kept := fmt.Sprintf(`{"http": %d, "nats": %d, "clickhouse": %d, "clickhouse_http": %d, "capture": %d}`, port(0), port(1), port(2), port(3), port(4))
	if err := os.WriteFile(filepath.Join(data, "ports.json"), []byte(kept), 0o600); err != nil {
		t.Fatal(err)
	}
	first, printed := beginUpForPeople(t, "--data", data)
	moved := portsIn(t, printed)
	said := clitest.End(t, first)
	for i, server := range []string{"HTTP", "NATS", "ClickHouse", "ClickHouse over HTTP", "capture"} {
		name := map[string]string{"HTTP": "health", "ClickHouse over HTTP": "ClickHouse HTTP"}[server]
		if name == "" {
			name = server
		}
		if want := fmt.Sprintf("port %d is in use; %s listens on %d\n", port(i), server, moved[name]); !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
		held[i].Close()
	}
	second, printed := beginUpForPeople(t, "--data", data)
	if again := portsIn(t, printed); fmt.Sprint(again) != fmt.Sprint(moved) {
		t.Errorf("listens on %v, and before on %v", again, moved)
	}
	if found, err := embedded.Find(data); err != nil || found.ProgramURL != fmt.Sprintf("http://127.0.0.1:%d", moved["health"]) {
		t.Errorf("Find gives %v, %v", found.ProgramURL, err)
	}
	if said := clitest.End(t, second); strings.Contains(said, "is in use") {
		t.Errorf("it says %s", said)
	}
}

// TestUpOnTwoNewFoldersAtOnce: both want the default ports.
func TestUpOnTwoNewFoldersAtOnce(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	for range 2 {
		data := t.TempDir()
		t.Run("folder", func(t *testing.T) {
			t.Parallel()
			p, printed := beginUpForPeople(t, "--data", data)
			if out, stderr, code := clitest.Run(t, "doctor", "--data", data); code != cli.ExitDone {
				t.Errorf("doctor ended with %d: %s%s", code, out, stderr)
			}
			ports := portsIn(t, printed)
			said := clitest.End(t, p)
			for server, first := range map[string]int{"health": 7070, "NATS": 7422, "ClickHouse": 7900, "ClickHouse HTTP": 7923} {
				if got := ports[server]; got < first || got != first && !strings.Contains(said, fmt.Sprintf("port %d is in use", first)) {
					t.Errorf("%s listens on %d; said\n%s", server, got, said)
				}
			}
		})
	}
}

// TestUpSaysWhatIsNext: what `up` prints can be pasted, and holds no password.
func TestUpSaysWhatIsNext(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "my ledger")
	p, printed := beginUpForPeople(t, append([]string{"--data", data}, clitest.AnyPorts...)...)
	found, err := embedded.Find(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{found.NATSURL, found.ClickHouseDSN, found.ReaderDSN} {
		if strings.Contains(printed, clitest.Password(t, address)) {
			t.Errorf("up printed a password:\n%s", printed)
		}
	}
	for _, want := range []string{
		"  NATS             " + cli.WithoutPassword(found.NATSURL) + "\n", "nats://ctxledger@127.0.0.1:",
		"  ClickHouse       clickhouse://reader@127.0.0.1:",
		"  ctxledger query session-usage --data '" + data + "'\n", "  ctxledger import auto ",
		"  ctxledger connect --data '" + data + "'\n",
	} {
		if !strings.Contains(printed, want) {
			t.Errorf("up does not print %q:\n%s", want, printed)
		}
	}
	clitest.End(t, p)
}
