package embedded

import (
	"fmt"
	"net"
	"strconv"
)

const loopback = "127.0.0.1"

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// checkPort says whether a port that was asked for can be had.
func checkPort(what string, port int) error {
	l, err := net.Listen("tcp", address(port))
	if err != nil {
		return portInUse(what, port, err)
	}
	return l.Close()
}

func portInUse(what string, port int, cause error) error {
	return fail(errPortInUse, cause, "port %d for %s cannot be had on this machine: stop what uses it, or choose another port (0 takes a free one)", port, what)
}

// freePorts returns n different ports that are free now. Another process can
// take one before it is used, so the caller tries again.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", address(0))
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}
