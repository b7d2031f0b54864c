package embedded

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sys/unix"
)

// holdDir makes the test binary start servers in a folder and keep them running, as a parent that
// a test can kill.
const holdDir = "EMBEDDED_TEST_HOLD"

func hold(dir string) {
	s, err := Start(context.Background(), DefaultConfig(dir))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{"addresses": s.Addresses(), "engine": s.EnginePID()})
	select {}
}

type holder struct {
	cmd       *osexec.Cmd
	Addresses Addresses `json:"addresses"`
	Engine    int       `json:"engine"`
}

func startHolder(t *testing.T, dir string) *holder {
	t.Helper()
	h := &holder{cmd: osexec.Command(os.Args[0])}
	h.cmd.Env = append(os.Environ(), holdDir+"="+dir)
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.cmd.Process.Kill(); h.cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(line), h); err != nil {
		t.Fatalf("the holder says %q", line)
	}
	return h
}

func gone(pid int) error {
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("process %d is still there (%v)", pid, err)
	}
	return nil
}

func needEngine(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs servers: run without -short")
	}
	if _, err := findProgram(t.Context(), DefaultConfig(t.TempDir())); err != nil {
		giveUp(t, err)
	}
}

func TestEngineComesBackWithItsData(t *testing.T) {
	t.Parallel()
	s := startClickHouse(t)
	conn := connect(t, s.ClickHouseDSN())
	mustExec(t, conn, "CREATE TABLE kept (a UInt32) ENGINE = MergeTree ORDER BY a")
	for round := 1; round <= 3; round++ {
		mustExec(t, conn, fmt.Sprintf("INSERT INTO kept VALUES (%d)", round))
		before := s.EnginePID()
		begun := time.Now()
		if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "ClickHouse answers again", 10*time.Second, func() error {
			if s.Restarts() < round {
				return errors.New("not restarted")
			}
			return conn.Exec(t.Context(), "SELECT 1")
		})
		t.Logf("back after %s", time.Since(begun))
		if s.EnginePID() == before {
			t.Error("the process id is the old one")
		}
		if got, want := value(t, conn, "SELECT count() FROM kept"), fmt.Sprint(round); got != want {
			t.Fatalf("%s rows, not %s", got, want)
		}
	}
}

func TestParentKilled(t *testing.T) {
	t.Parallel()
	needEngine(t)
	dir := t.TempDir()
	h := startHolder(t, dir)
	conn := connect(t, h.Addresses.ClickHouseDSN)
	mustExec(t, conn, "CREATE TABLE kept (a UInt32) ENGINE = MergeTree ORDER BY a")
	mustExec(t, conn, "INSERT INTO kept VALUES (7)")
	publish(t, h.Addresses.NATSURL, 100)
	if _, err := Start(t.Context(), DefaultConfig(dir)); !errors.Is(err, errFolderInUse) {
		t.Fatalf("a second start on the folder: %v", err)
	}

	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	s, err := Start(t.Context(), DefaultConfig(dir)) // immediately, while the orphan stops
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the next start took %s", time.Since(begun))
	t.Cleanup(func() { s.Close() }) // after the connections
	eventually(t, "the orphan ends", 10*time.Second-time.Since(begun), func() error { return gone(h.Engine) })
	if got := value(t, connect(t, s.ClickHouseDSN()), "SELECT sum(a) FROM kept"); got != "7" {
		t.Errorf("the sum is %s, not 7", got)
	}
	if n := messages(t, s.NATSURL()); n != 100 {
		t.Errorf("%d messages, not 100", n)
	}
}

func TestParentAndChildKilled(t *testing.T) {
	t.Parallel()
	needEngine(t)
	dir := t.TempDir()
	h := startHolder(t, dir)
	conn := connect(t, h.Addresses.ClickHouseDSN)
	mustExec(t, conn, "CREATE TABLE kept (a UInt32) ENGINE = MergeTree ORDER BY a")
	mustExec(t, conn, "INSERT INTO kept VALUES (7)")
	h.cmd.Process.Kill() // the parent first, because it would restart the child
	syscall.Kill(h.Engine, syscall.SIGKILL)
	s, err := Start(t.Context(), DefaultConfig(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() }) // after the connections
	if got := value(t, connect(t, s.ClickHouseDSN()), "SELECT sum(a) FROM kept"); got != "7" {
		t.Errorf("the sum is %s, not 7", got)
	}
}

func publish(t *testing.T, url string, n int) {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "KEPT", Subjects: []string{"kept"}}); err != nil {
		t.Fatal(err)
	}
	for range n {
		if _, err := js.Publish(t.Context(), "kept", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
}

func messages(t *testing.T, url string) uint64 {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "KEPT")
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().State.Msgs
}

// A terminal sends SIGINT to its foreground group, and an init system sends SIGTERM to all
// processes. Neither signal may stop the engine before its parent ends.
func TestSignalsDoNotReachTheEngine(t *testing.T) {
	t.Parallel()
	s := startClickHouse(t)
	pid := s.EnginePID()
	group, err := syscall.Getpgid(pid)
	if err != nil || group == syscall.Getpgrp() {
		t.Fatalf("the engine is in the group of its parent (%v)", err)
	}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if err := syscall.Kill(pid, signal); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(500 * time.Millisecond)
	mustExec(t, connect(t, s.ClickHouseDSN()), "SELECT 1")
	if s.EnginePID() != pid || s.Restarts() != 0 {
		t.Error("the engine was restarted")
	}
}

// If standard input is not a terminal, the pinned engine aborts on each of these inputs; see the
// package comment.
func TestMalformedBytesDoNotAbortTheEngine(t *testing.T) {
	t.Parallel()
	if master, slave, err := openTerminal(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no pseudo-terminal here: %v", err)
		}
		t.Skipf("no pseudo-terminal here: %v", err)
	} else {
		master.Close()
		slave.Close()
	}
	s := startClickHouse(t)
	pid := s.EnginePID()
	for _, port := range []int{s.engine.tcp, s.engine.http} {
		for _, bytes := range []string{"", "\n", "GET / HTTP/9\r\n\r\n", "\x00\xff\xfe" + strings.Repeat("garbage", 100), "\x00\x01"} {
			nc, err := net.Dial("tcp", address(port))
			if err != nil {
				t.Fatal(err)
			}
			nc.Write([]byte(bytes))
			nc.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			nc.Read(make([]byte, 1024))
			nc.(*net.TCPConn).SetLinger(0) // sends a reset
			nc.Close()
		}
	}
	mustExec(t, connect(t, s.ClickHouseDSN()), "SELECT 1")
	if s.EnginePID() != pid || s.Restarts() != 0 {
		t.Error("the engine was restarted")
	}
}

// onMessage is a log handler that calls a function at a message.
type onMessage struct {
	slog.Handler
	message string
	call    func()
}

func (h onMessage) Enabled(context.Context, slog.Level) bool { return true }

func (h onMessage) Handle(_ context.Context, r slog.Record) error {
	if r.Message == h.message {
		h.call()
	}
	return nil
}

func (h onMessage) WithAttrs([]slog.Attr) slog.Handler { return h }

// TestLateOrphan: an engine that locks the folder after the check, and then ends, delays the start
// and does not end it.
func TestLateOrphan(t *testing.T) {
	t.Parallel()
	first := startClickHouse(t)
	c := first.config
	c.Dir = t.TempDir()
	data := filepath.Join(c.Dir, "clickhouse", "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	status, err := os.Create(filepath.Join(data, "status"))
	if err != nil {
		t.Fatal(err)
	}
	defer status.Close()
	if err := unix.Flock(int(status.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	waited := 0
	c.Log = slog.New(onMessage{slog.DiscardHandler, "waiting for the engine of an earlier start to end", func() {
		waited++
		_ = unix.Flock(int(status.Fd()), unix.LOCK_UN)
	}})
	e := newEngine(c, first.creds, first.engine.program)
	p := portsOf(c)
	if err := e.choosePorts(p); err != nil {
		t.Fatal(err)
	}
	child, err := e.launchOnPorts(t.Context(), p)
	if err != nil || waited != 1 {
		t.Fatalf("%v after %d waits", err, waited)
	}
	if err := child.stop(c.StopTimeout); err != nil {
		t.Error(err)
	}
}

// Only a race with another process causes these errors. The checks before the launch have passed,
// and the engine finds the folder or the port in use.
func TestEngineEndsBeforeItIsReady(t *testing.T) {
	t.Parallel()
	first := startClickHouse(t)
	taken, err := net.Listen("tcp", address(0))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	fresh := func() *engine {
		c := first.config
		c.Dir, c.StartTimeout = t.TempDir(), 10*time.Second
		e := newEngine(c, first.creds, first.engine.program)
		if err := e.choosePorts(portsOf(c)); err != nil {
			t.Fatal(err)
		}
		return e
	}
	t.Run("folder", func(t *testing.T) {
		e := fresh()
		e.dir = first.engine.dir
		_, err := e.launch(t.Context())
		if !errors.Is(err, errFolderInUse) || !strings.Contains(err.Error(), e.dir) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("NATS port", func(t *testing.T) {
		c := DefaultConfig(t.TempDir())
		port := taken.Addr().(*net.TCPAddr).Port
		_, err := startNATSOn(t.Context(), c, first.creds, c.Dir, port)
		if !errors.Is(err, errPortInUse) || !strings.Contains(err.Error(), fmt.Sprintf("port %d for NATS is in use", port)) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("password", func(t *testing.T) {
		e := fresh()
		for _, port := range []*int{&e.http, &e.tcp} {
			other, err := net.Listen("tcp", address(0))
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			*port = other.Addr().(*net.TCPAddr).Port
			go func() {
				for {
					conn, err := other.Accept()
					if err != nil {
						return
					}
					t.Errorf("a connection goes to the program that holds port %s", other.Addr())
					conn.Close()
				}
			}()
		}
		if _, err := e.launch(t.Context()); !errors.Is(err, errPortInUse) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("native port", func(t *testing.T) {
		e := fresh()
		e.tcp = taken.Addr().(*net.TCPAddr).Port
		_, err := e.launch(t.Context())
		if !errors.Is(err, errPortInUse) || !strings.Contains(err.Error(), fmt.Sprint(e.tcp)) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("HTTP port", func(t *testing.T) {
		e := fresh()
		e.http = taken.Addr().(*net.TCPAddr).Port
		_, err := e.launch(t.Context())
		if !errors.Is(err, errPortInUse) || !strings.Contains(err.Error(), fmt.Sprint(e.http)) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("not a library", func(t *testing.T) {
		e := fresh()
		e.program.library = filepath.Join(t.TempDir(), "library")
		if err := os.WriteFile(e.program.library, []byte("not a library"), 0o755); err != nil {
			t.Fatal(err)
		}
		_, err := e.launch(t.Context())
		if !errors.Is(err, errEngineStart) || !strings.Contains(err.Error(), "open the ClickHouse library") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no time", func(t *testing.T) {
		e := fresh()
		e.config.StartTimeout = time.Millisecond
		if _, err := e.launch(t.Context()); !errors.Is(err, errEngineStart) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		e := fresh()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := e.launch(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}
