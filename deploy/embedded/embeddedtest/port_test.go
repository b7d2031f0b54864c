package embeddedtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
)

// TestFreePort: a server can listen on the port at once while other tests start processes, and a port
// on which a server listens is not given again.
func TestFreePort(t *testing.T) {
	t.Parallel()
	var starts sync.WaitGroup
	defer starts.Wait()
	for range 4 {
		starts.Go(func() {
			for range 50 {
				if err := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$").Run(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var used []int
	for range portsOfProcess / 2 {
		port := freePort(t)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		used = append(used, port)
	}
	for range portsOfProcess {
		if port := freePort(t); slices.Contains(used, port) {
			t.Fatalf("port %d is given again while a server listens on it", port)
		}
	}
}
