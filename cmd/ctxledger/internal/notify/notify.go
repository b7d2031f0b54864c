// Package notify tells a service manager such as systemd about the state of this process, by the
// protocol of sd_notify(3). Each message is one datagram to the Unix socket that NOTIFY_SOCKET
// names:
//
//	READY=1      the start is done
//	WATCHDOG=1   the process is alive, three times in each period of WATCHDOG_USEC
//	STOPPING=1   the process ends
//
// Without NOTIFY_SOCKET nothing is sent.
package notify

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"time"
)

// A Manager is the service manager that has started this process. A nil Manager does nothing. Safe
// for concurrent use.
type Manager struct {
	socket string
	period time.Duration // of the watchdog; 0 for none
	log    *slog.Logger
}

// FromEnvironment returns the manager that the environment names, or nil. It removes the variables,
// so that child processes do not answer for this one.
func FromEnvironment(log *slog.Logger) *Manager {
	socket, period := os.Getenv("NOTIFY_SOCKET"), watchdogPeriod()
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		os.Unsetenv(name)
	}
	if socket == "" {
		return nil
	}
	return &Manager{socket, period, log}
}

// watchdogPeriod is the time within which the manager wants a sign of life of this process.
func watchdogPeriod() time.Duration {
	if pid := os.Getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	microseconds, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || microseconds <= 0 {
		return 0
	}
	return time.Duration(microseconds) * time.Microsecond
}

// Ready reports that the start is done, and the end when ctx ends or stopping is called. Until then it
// reports life as long as alive does. The manager ends a process without a sign of life. stopping
// returns after the end is reported: a process that ends without it may be faster than its report.
func (m *Manager) Ready(ctx context.Context, alive func() bool) (stopping func()) {
	if m == nil {
		return func() {}
	}
	m.send("READY=1")
	stopping = sync.OnceFunc(func() { m.send("STOPPING=1") })
	context.AfterFunc(ctx, stopping)
	if m.period > 0 {
		go m.watch(ctx, alive)
	}
	return stopping
}

// watch sends signs of life, also while a stop is under way, which has a limit of its own.
func (m *Manager) watch(ctx context.Context, alive func() bool) {
	for {
		if ctx.Err() != nil || alive() {
			m.send("WATCHDOG=1")
		}
		time.Sleep(m.period / 3)
	}
}

func (m *Manager) send(state string) {
	if err := sendTo(m.socket, state); err != nil {
		m.log.Warn("the service manager cannot be told the state", "state", state, "error", err)
	}
}

// sendTo sends one datagram. A name that begins with @ is one of Linux's abstract names.
func sendTo(socket, state string) error {
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("connect to NOTIFY_SOCKET: %w", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("write to NOTIFY_SOCKET: %w", err)
	}
	return nil
}
