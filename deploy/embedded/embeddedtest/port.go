package embeddedtest

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
)

// Ports of servers that must know each other's ports before they start. They are below those that Linux and
// macOS give to outgoing connections. Otherwise a connection of another test could take the port of a
// server that is down.
const (
	firstPort      = 10_000
	processes      = 100
	portsOfProcess = 200
)

var portsGiven atomic.Int64

// freePort returns a port on which no server listens. A process gives each of its ports only after all others.
// Two processes share their ports only if their numbers differ by a multiple of 100.
//
// freePort does not listen on the port to check or to keep it. A process that starts at the same time
// inherits the listener, and keeps the port for a moment after freePort closes the listener.
func freePort(tb testing.TB) int {
	tb.Helper()
	for range portsOfProcess {
		port := firstPort + os.Getpid()%processes*portsOfProcess + int(portsGiven.Add(1)%portsOfProcess)
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return port
		}
		c.Close()
	}
	tb.Fatalf("servers listen on all %d ports of this process", portsOfProcess)
	return 0
}
