package record_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// writtenLogs are logs that are written while they are followed, with the text of each.
func writtenLogs(t *testing.T, folder string) map[string]string {
	t.Helper()
	logs := make(map[string]string)
	for name, from := range map[string]string{"a/window.jsonl": "window.jsonl", "b/session.jsonl": "codex/session.jsonl", "elision.jsonl": "elision.jsonl"} {
		text, err := os.ReadFile(clitest.Repository("producer", "importer", "testdata", from))
		if err != nil {
			t.Fatal(err)
		}
		session := "-aaaa-" + filepath.Base(from) + "-" // the logs are of different sessions
		logs[filepath.Join(folder, name)] = strings.ReplaceAll(string(text), "-aaaa-", session)
	}
	return logs
}

// add writes a part of a log at its end.
func add(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// front passes connections to a server while it is not cut.
type front struct {
	url    string
	server string
	mu     sync.Mutex
	away   bool
	open   []net.Conn
}

func newFront(t *testing.T, server string) *front {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	address, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	f := &front{server: address.Host}
	address.Host = l.Addr().String()
	f.url = address.String()
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			f.pass(client)
		}
	}()
	return f
}

func (f *front) pass(client net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	server, err := net.Dial("tcp", f.server)
	if err != nil || f.away {
		client.Close()
		return
	}
	f.open = append(f.open, client, server)
	for _, ends := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			_, _ = io.Copy(ends[0], ends[1])
			ends[0].Close()
		}()
	}
}

// set cuts all connections and takes no others, until it is set again.
func (f *front) set(away bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away = away
	for _, c := range f.open {
		c.Close()
	}
	f.open = nil
}

// TestImportFollows writes logs in pieces while they are followed: with halves of lines, with a log
// that is replaced before its last lines are read, and over a kill -9 of the follower. The answers are
// those of an import of the whole logs, and no fact is refused.
func TestImportFollows(t *testing.T) {
	t.Parallel()
	data, folder := t.TempDir(), filepath.Join(t.TempDir(), "logs")
	clitest.Up(t, data)
	args := []string{"import", "auto", folder, "--follow", "--no-wait", "--tenant", "live", "--data", data}
	out, said := new(clitest.Printed), new(clitest.Printed)
	begin := func() *clitest.Program {
		p := clitest.Command(args...)
		p.Stdout, p.Stderr = out, said
		return p.Begin(t)
	}
	p := begin()
	clitest.Await(t, "the follower does not begin", func() bool { return strings.Contains(out.String(), "following 0 logs") })

	const pieces = 6
	written := writtenLogs(t, folder)
	for i := range pieces {
		for path, text := range written {
			add(t, path, text[len(text)*i/pieces:len(text)*(i+1)/pieces])
		}
		if i == pieces/2 {
			if err := p.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-p.Done
			p = begin()
		}
		time.Sleep(150 * time.Millisecond) // so that some pieces are read, and some are not
	}
	// A log is replaced by another one, right after its last lines.
	rotated := filepath.Join(folder, "elision.jsonl")
	next := strings.ReplaceAll(written[rotated], "sessionId\": \"", "sessionId\": \"next-")
	add(t, filepath.Join(t.TempDir(), "next"), next)
	replaced := filepath.Join(filepath.Dir(folder), "next")
	add(t, replaced, next)
	last := `{"type":"user","uuid":"last-1","parentUuid":null,"sessionId":"last","timestamp":"2026-03-01T10:00:00Z","message":{"role":"user","content":"the last line"}}` + "\n"
	add(t, rotated, last)
	if err := os.Rename(replaced, rotated); err != nil {
		t.Fatal(err)
	}

	whole := filepath.Join(t.TempDir(), "whole")
	for path, text := range writtenLogs(t, whole) {
		if filepath.Base(path) == "elision.jsonl" {
			add(t, path, text+last)
			add(t, filepath.Join(whole, "next.jsonl"), next)
			continue
		}
		add(t, path, text)
	}
	if stdout, stderr, code := clitest.Run(t, "import", "auto", whole, "--tenant", "whole", "--data", data); code != cli.ExitDone && code != cli.ExitRefused {
		t.Fatalf("the import ended with %d\n%s%s", code, stdout, stderr)
	}
	answers := func(tenant string) string {
		var all string
		for _, query := range []string{"session-usage", "items-by-kind", "records-by-type", "tool-use"} {
			stdout, stderr, code := clitest.Run(t, "query", query, "--param", "tenant="+tenant, "-o", "csv", "--data", data)
			if code != cli.ExitDone {
				t.Fatalf("%s ended with %d: %s", query, code, stderr)
			}
			all += strings.ReplaceAll(stdout, tenant+",", "")
		}
		return all
	}
	want := answers("whole")
	for deadline := time.Now().Add(20 * time.Second); answers("live") != want && time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
	}
	if got := answers("live"); got != want {
		t.Errorf("the answers are\n%s\nnot\n%s\nthe follower said\n%s%s", got, want, out, said)
	}
	if list := clitest.Ask(t, data, "quarantine"); len(list) > 0 {
		t.Errorf("%d facts are in quarantine, such as %v", len(list), list[0])
	}
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := p.Code(t, 30*time.Second); code != cli.ExitDone && code != cli.ExitRefused {
		t.Errorf("an interrupted follower ended with %d\n%s", code, said)
	}
	if !strings.Contains(out.String(), "followed 3 logs for ") {
		t.Errorf("it said\n%s", out)
	}
}

// TestFollowWaitsForTheStream: a line that is written while the stream is away goes in when it is back.
// A tenant's account cannot read the stream. Its import still publishes only what is new.
func TestFollowWaitsForTheStream(t *testing.T) {
	servers := embeddedtest.NATS(t)
	js := servers.JetStream(t)
	if _, err := streamio.EnsureStreams(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	last := func() uint64 {
		ends, err := streamio.ReadLastSequences(t.Context(), js)
		if err != nil {
			t.Fatal(err)
		}
		return ends.Total()
	}
	line := func(n int) string {
		return fmt.Sprintf(`{"type":"user","uuid":"u-%d","parentUuid":null,"sessionId":"s","timestamp":"2026-03-01T10:00:%02dZ","message":{"role":"user","content":"%d"}}`+"\n", n, n, n)
	}
	log := filepath.Join(t.TempDir(), "log.jsonl")
	add(t, log, line(0))
	front := newFront(t, servers.Addresses().NATSURL)
	p := clitest.Command("import", "claude-code", log, "--follow", "--no-wait", "--again", "--data", t.TempDir(), "-o", "json")
	out, said := new(clitest.Printed), new(clitest.Printed)
	p.Stdout, p.Stderr = out, said
	p.Env = append(os.Environ(), "CTXLEDGER_NATS_URL="+front.url)
	p.Begin(t)
	defer func() { t.Log(last(), out, said) }()
	clitest.Await(t, "the log is not imported", func() bool { return last() == 3 && strings.Contains(said.String(), "following 1 log") })
	add(t, log, line(1))
	clitest.Await(t, "the second line is not imported", func() bool { return last() == 5 })
	front.set(true)
	add(t, log, line(2))
	clitest.Await(t, "the follower does not tell that the stream is away", func() bool { return strings.Contains(said.String(), "tried again every second") })
	front.set(false)
	clitest.Await(t, "the third line is not imported", func() bool { return last() >= 7 })
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.Code(t, 30*time.Second); code != cli.ExitDone || last() != 7 {
		t.Errorf("the follower ended with %d, the stream has %d facts\n%s", code, last(), said)
	}
	if got := out.String(); strings.Count(got, `"facts": 7`) != 1 || !bytes.HasPrefix([]byte(got), []byte("{")) {
		t.Errorf("the totals are %s", got)
	}
}
