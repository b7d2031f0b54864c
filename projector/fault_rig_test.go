package projector

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/shadow"
)

// long reports whether the long form of the fault matrix runs: see FAULTS.md.
var long = os.Getenv("CTXLEDGER_FAULTS") == "long"

// times returns the number for the short or the long form.
func times(short, inLong int) int {
	if long {
		return inLong
	}
	return short
}

// seeded returns a source of random moments, and prints its seed. The variable
// CTXLEDGER_FAULT_SEED sets the seed.
func seeded(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("CTXLEDGER_FAULT_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("CTXLEDGER_FAULT_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// A rig is a fixture with servers that a test may disturb. The projector reaches both servers
// through links. The fixture's own connections, which publish and read, are direct.
type rig struct {
	*fixture
	nats             *natsProcess // nil if the test does not kill it
	clickhouse       *clickhouseServer
	toNATS, toLedger *link
}

// newRig makes a rig with the shared servers of the tests.
func newRig(t testing.TB) *rig {
	t.Helper()
	needsServers(t)
	s := migrated.Installation(t)
	return linked(newFixtureOn(t, s.NATSURL(), s))
}

// newNATSRig makes a rig with a NATS in a separate process, which keeps its data in a folder.
func newNATSRig(t testing.TB, dir string) *rig {
	t.Helper()
	needsServers(t)
	n := startNATSProcess(t, dir)
	r := linked(newFixtureOn(t, n.url, migrated.ClickHouse(t)))
	r.nats = n
	return r
}

// newClickHouseRig makes a rig with a separate ClickHouse, which keeps its data in a folder.
func newClickHouseRig(t testing.TB, dir string) *rig {
	t.Helper()
	needsServers(t)
	c := startClickHouse(t, dir)
	return onClickHouse(t, c, embeddedtest.Own(c.servers))
}

// another makes a rig with another database on the same ClickHouse.
func (r *rig) another(database string) *rig {
	r.t.Helper()
	return onClickHouse(r.t, r.clickhouse, embeddedtest.Own(r.clickhouse.servers).NewDatabase(r.t, database))
}

func onClickHouse(t testing.TB, c *clickhouseServer, s *embeddedtest.Servers) *rig {
	t.Helper()
	r := linked(newFixtureOn(t, embeddedtest.NATS(t).NATSURL(), s))
	r.clickhouse = c
	return r
}

// migratedFolder returns a copy of the data folder of a server with the tables.
func migratedFolder(t testing.TB) string {
	t.Helper()
	folder := madeFolder()
	if folder == "" {
		return t.TempDir() // the server that starts on it reports the error
	}
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	return to
}

var madeFolder = sync.OnceValue(func() string {
	folder, err := os.MkdirTemp("", "ctxledger-test-")
	if err != nil {
		return ""
	}
	atEnd = append(atEnd, func() { os.RemoveAll(folder) })
	c := embedded.DefaultConfig(folder)
	c.NoNATS = true
	s, err := embedded.Start(context.Background(), c)
	if err != nil {
		return ""
	}
	l, err := ledger.Open(context.Background(), s.ClickHouseDSN())
	if err == nil {
		_, err = shadow.Of(l).Migrate(context.Background())
		l.Close()
	}
	if err := errors.Join(err, s.Close()); err != nil {
		return ""
	}
	return folder
})

func linked(f *fixture) *rig {
	f.rich = true
	r := &rig{fixture: f}
	var natsURL, dsn string
	r.toNATS, natsURL = newLink(f.t, f.js.Conn().ConnectedUrl())
	r.toLedger, dsn = newLink(f.t, f.servers.ClickHouseDSN())
	r.through = &addresses{natsURL, dsn}
	return r
}

// addresses are the addresses of the servers for a projector.
type addresses struct{ nats, clickhouse string }

// linkedProjector returns a projector with separate connections through the links. The
// projector detects a dead connection within seconds.
func (r *rig) linkedProjector() *Projector {
	r.t.Helper()
	nc, err := nats.Connect(r.through.nats, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.IgnoreDiscoveredServers(),
		nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2), nats.Timeout(2*time.Second))
	r.must(err)
	r.t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	r.must(err)
	l, err := ledger.Open(r.t.Context(), r.through.clickhouse)
	r.must(err)
	r.t.Cleanup(func() { l.Close() })
	p := r.projector()
	p.config.JetStream, p.config.Ledger, p.store = js, l, tablesOf(l)
	return p
}

// natsProcess is a NATS server in a separate process that a test can kill. Its address and
// folder do not change.
type natsProcess struct {
	t    testing.TB
	dir  string
	url  string
	port string
	cmd  *exec.Cmd
	in   io.Closer // its standard input: closing it stops the server
}

func startNATSProcess(t testing.TB, dir string) *natsProcess {
	t.Helper()
	n := &natsProcess{t: t, dir: dir, port: "0"}
	n.start()
	return n
}

func (n *natsProcess) start() {
	n.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childServe+"="+n.dir, childPort+"="+n.port)
	cmd.Stderr = n.t.Output()
	out, err := cmd.StdoutPipe()
	if err == nil {
		n.in, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		n.t.Fatal(err)
	}
	n.cmd = cmd
	n.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		n.t.Fatalf("NATS did not start: %v", err)
	}
	n.url = strings.TrimSpace(line)
	u, err := url.Parse(n.url)
	if err != nil {
		n.t.Fatal(err)
	}
	n.port = u.Port()
}

// kill kills the server with kill -9.
func (n *natsProcess) kill() {
	n.cmd.Process.Kill()
	n.cmd.Wait()
}

// stop stops the server regularly.
func (n *natsProcess) stop() {
	n.in.Close()
	n.cmd.Wait()
}

// serveNATS is the child process that runs NATS until its standard input ends. The end of this
// process also ends that input.
func serveNATS(dir string) int {
	c := embedded.DefaultConfig(dir)
	c.NoClickHouse = true
	c.NATSPort, _ = strconv.Atoi(os.Getenv(childPort))
	s, err := embedded.Start(context.Background(), c)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(s.NATSURL())
	io.Copy(io.Discard, os.Stdin)
	if err := s.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// clickhouseServer is a ClickHouse that a test stops, kills and changes. Its address and folder
// do not change.
type clickhouseServer struct {
	t       testing.TB
	dir     string
	port    int
	servers *embedded.Servers
	closed  bool
}

func startClickHouse(t testing.TB, dir string) *clickhouseServer {
	t.Helper()
	c := &clickhouseServer{t: t, dir: dir}
	c.start()
	u, err := url.Parse(c.servers.ClickHouseDSN())
	if err != nil {
		t.Fatal(err)
	}
	c.port, _ = strconv.Atoi(u.Port())
	t.Cleanup(c.stop)
	return c
}

func (c *clickhouseServer) start() {
	c.t.Helper()
	config := embedded.DefaultConfig(c.dir)
	config.NoNATS, config.ClickHousePort = true, c.port
	config.Log = slog.New(slog.NewTextHandler(c.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	s, err := embedded.Start(context.Background(), config)
	if err != nil {
		embeddedtest.GiveUp(c.t, err)
	}
	c.servers, c.closed = s, false
}

// stop stops the server regularly. start starts it again.
func (c *clickhouseServer) stop() {
	if !c.closed {
		c.closed = true
		c.servers.Close()
	}
}

// kill kills the server with kill -9 and returns after its restart.
func (c *clickhouseServer) kill() {
	c.t.Helper()
	before := c.servers.Restarts()
	if err := syscall.Kill(c.servers.EnginePID(), syscall.SIGKILL); err != nil {
		c.t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); c.servers.Restarts() == before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatal("ClickHouse does not come back")
		}
	}
}

// users adds a file to the users' configuration, and makes the server read it. An empty text
// removes the file.
func (c *clickhouseServer) users(text string) {
	c.t.Helper()
	c.configure("users.d", text)
}

func (c *clickhouseServer) configure(folder, text string) {
	c.t.Helper()
	path := filepath.Join(c.dir, "clickhouse", folder, "zz-fault.xml")
	err := os.WriteFile(path, []byte(text), 0o600)
	if text == "" {
		err = os.Remove(path)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.kill()
}

// holdRows blocks the rows of the next insert into a table, or the rows after a number of
// bytes. The server has the statement and waits for the rows.
func (r *rig) holdRows(table string, behind int) <-chan struct{} {
	r.t.Helper()
	statement := r.count("SELECT sum(length(name) + 2) + length(' () VALUES') FROM system.columns WHERE database = currentDatabase() AND table = '" + table + "'")
	const noMoreTables = 60 // the largest number of bytes between the statement and its rows
	return r.toLedger.requests.holdAfter("INSERT INTO "+table, int(statement)+noMoreTables+behind)
}

// keepReply lets the server accept the next rows of a table and blocks its replies from then
// on.
func (r *rig) keepReply(table string) {
	r.t.Helper()
	held := r.holdRows(table, 0)
	go func() {
		select {
		case <-held:
			r.toLedger.replies.close()
			r.toLedger.requests.open()
		case <-r.t.Context().Done():
		}
	}()
}

// files returns the folder of a table.
func (r *rig) files(table string) string {
	r.t.Helper()
	var paths []string
	r.must(r.sql.QueryRow(r.t.Context(), "SELECT data_paths FROM system.tables WHERE database = currentDatabase() AND name = ?", table).Scan(&paths))
	path := paths[0]
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.clickhouse.dir, "clickhouse", "data", path)
	}
	return path
}

// copyOf replaces a folder by a copy of another.
func (r *rig) copyOf(to, from string) {
	r.t.Helper()
	r.must(os.RemoveAll(to))
	r.must(os.CopyFS(to, os.DirFS(from)))
}

// awaitReachable waits until the server answers the test again.
func (r *rig) awaitReachable() {
	r.t.Helper()
	r.await("ClickHouse answers", func() bool { return r.sql.Ping(r.t.Context()) == nil })
}

// exec runs statements as the writer.
func (f *fixture) exec(statements ...string) {
	f.t.Helper()
	for _, s := range statements {
		f.must(f.sql.Exec(f.t.Context(), s))
	}
}
