package notify

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// listen opens a socket as a service manager does.
func listen(t *testing.T, name string) *net.UnixConn {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	t.Setenv("NOTIFY_SOCKET", name)
	return conn
}

func receive(t *testing.T, conn *net.UnixConn) string {
	t.Helper()
	buffer := make([]byte, 100)
	if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	n, err := conn.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	return string(buffer[:n])
}

func TestLifeOfAService(t *testing.T) {
	for _, name := range []string{filepath.Join(t.TempDir(), "socket"), "@ctxledger-test-" + strconv.Itoa(os.Getpid())} {
		conn := listen(t, name)
		t.Setenv("WATCHDOG_USEC", "30000")
		t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
		m := FromEnvironment(slog.New(slog.DiscardHandler))
		if os.Getenv("NOTIFY_SOCKET")+os.Getenv("WATCHDOG_USEC")+os.Getenv("WATCHDOG_PID") != "" {
			t.Error("child processes would answer for this one")
		}
		ctx, stop := context.WithCancel(t.Context())
		m.Ready(ctx, func() bool { return true })
		for i, want := range []string{"READY=1", "WATCHDOG=1", "WATCHDOG=1"} {
			if got := receive(t, conn); got != want {
				t.Errorf("message %d is %q, want %q", i, got, want)
			}
		}
		stop()
		got := receive(t, conn)
		for got == "WATCHDOG=1" {
			got = receive(t, conn)
		}
		if got != "STOPPING=1" {
			t.Errorf("at the end it says %q", got)
		}
	}
}

// TestEndIsReportedOnce: the end is reported when stopping returns, and not again when the context ends.
func TestEndIsReportedOnce(t *testing.T) {
	conn := listen(t, filepath.Join(t.TempDir(), "socket"))
	ctx, stop := context.WithCancel(t.Context())
	stopping := FromEnvironment(slog.New(slog.DiscardHandler)).Ready(ctx, nil)
	stopping()
	stop()
	stopping()
	for _, want := range []string{"READY=1", "STOPPING=1"} {
		if got := receive(t, conn); got != want {
			t.Errorf("it reports %q, want %q", got, want)
		}
	}
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 100)); err == nil {
		t.Errorf("%d bytes came after the end", n)
	}
}

// TestNoSignOfLife: a process that is not alive is silent, and speaks again when it is.
func TestNoSignOfLife(t *testing.T) {
	conn := listen(t, filepath.Join(t.TempDir(), "socket"))
	t.Setenv("WATCHDOG_USEC", "3000")
	var alive atomic.Bool
	asked := make(chan struct{})
	FromEnvironment(slog.New(slog.DiscardHandler)).Ready(t.Context(), func() bool {
		select {
		case asked <- struct{}{}:
		default:
		}
		return alive.Load()
	})
	if got := receive(t, conn); got != "READY=1" {
		t.Errorf("it begins with %q", got)
	}
	for range 5 {
		select {
		case <-asked:
		case <-time.After(30 * time.Second):
			t.Fatal("it does not ask whether the process is alive")
		}
	}
	if err := conn.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 100)); err == nil {
		t.Errorf("%d bytes came from a process that is not alive", n)
	}
	alive.Store(true)
	if got := receive(t, conn); got != "WATCHDOG=1" {
		t.Errorf("of a process that is alive came %q", got)
	}
}

func TestNoManager(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	m := FromEnvironment(slog.New(slog.DiscardHandler))
	if m != nil {
		t.Error("there is a manager")
	}
	m.Ready(t.Context(), nil)()
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "nobody"))
	FromEnvironment(slog.New(slog.DiscardHandler)).Ready(t.Context(), nil) // no reason to end
}

func TestWatchdogPeriod(t *testing.T) {
	for _, c := range []struct {
		period, pid string
		want        time.Duration
	}{
		{"", "", 0}, {"30000000", "", 30 * time.Second}, {"30000000", strconv.Itoa(os.Getpid()), 30 * time.Second},
		{"30000000", "1", 0}, {"-1", "", 0}, {"soon", "", 0},
	} {
		t.Setenv("WATCHDOG_USEC", c.period)
		t.Setenv("WATCHDOG_PID", c.pid)
		if got := watchdogPeriod(); got != c.want {
			t.Errorf("%q for process %q: %s, want %s", c.period, c.pid, got, c.want)
		}
	}
}
