package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

const loopback = "127.0.0.1"

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// KeptPort, as a port of a Config, is the last port of the data folder. A new folder begins with
// the default port. If that port is taken, the next free port is used and kept instead;
// Servers.Moves reports the change.
const KeptPort = -1

// The default ports. No widely used program listens on them.
const (
	DefaultHTTPPort           = 7070 // port of the program; see Listen
	DefaultNATSPort           = 7422
	DefaultClickHousePort     = 7900
	DefaultClickHouseHTTPPort = 7923
	DefaultCapturePort        = 7171 // port of the program; see Listen
)

// Listener is a server that listens on a port; its value is its name in ports.json.
type Listener string

const (
	HTTP                   Listener = "http"    // of the program that runs the servers; see Listen
	Capture                Listener = "capture" // of the same program
	listenerNATS           Listener = "nats"
	listenerClickHouse     Listener = "clickhouse"
	listenerClickHouseHTTP Listener = "clickhouse_http"
)

var defaultPorts = map[Listener]int{
	HTTP:                   DefaultHTTPPort,
	Capture:                DefaultCapturePort,
	listenerNATS:           DefaultNATSPort,
	listenerClickHouse:     DefaultClickHousePort,
	listenerClickHouseHTTP: DefaultClickHouseHTTPPort,
}

// String returns the name for people.
func (l Listener) String() string {
	switch l {
	case listenerNATS:
		return "NATS"
	case listenerClickHouse:
		return "ClickHouse"
	case listenerClickHouseHTTP:
		return "ClickHouse over HTTP"
	case Capture:
		return "capture"
	}
	return "HTTP"
}

// Move is the replacement of a kept port that was taken.
type Move struct {
	Server   string // name for people
	From, To int
}

func (m Move) String() string {
	return fmt.Sprintf("port %d is in use; %s listens on %d", m.From, m.Server, m.To)
}

const (
	// portSteps is the number of ports that are tried from a kept port upward. After them, any
	// free port is used.
	portSteps = 100
	// portLosses is the number of ports that a server may lose to other programs between choice
	// and start. After them, any free port is used.
	portLosses = 5
	// portPatience is the longest wait for a kept port after a crash. The kernel may still hold
	// the port for the ended process.
	portPatience = time.Second
	portPause    = 20 * time.Millisecond
)

// ports chooses the ports of one start. ports binds a port to check whether the port is free, but
// only the server can keep the port. If another program takes the port first, the caller calls
// lose and chooses again.
type ports struct {
	asked    map[Listener]int // ports of the Config: 0 for any, KeptPort, or a number
	kept     map[Listener]int // last ports of the folder's servers
	lost     map[int]bool
	losses   map[Listener]int
	patience time.Duration // remaining part of portPatience
}

func newPorts(dir string, asked map[Listener]int) *ports {
	p := &ports{asked: asked, kept: readPorts(dir), lost: make(map[int]bool), losses: make(map[Listener]int)}
	if _, err := os.Stat(filepath.Join(dir, addressesFile)); err == nil {
		p.patience = portPatience // Close removes this file, so the last start crashed
	}
	return p
}

func portsOf(c Config) *ports {
	asked := make(map[Listener]int)
	if !c.NoNATS {
		asked[listenerNATS] = c.NATSPort
	}
	if !c.NoClickHouse {
		asked[listenerClickHouse], asked[listenerClickHouseHTTP] = c.ClickHousePort, c.HTTPPort
	}
	return newPorts(c.Dir, asked)
}

// wanted returns the preferred port of l, 0 for any port.
func (p *ports) wanted(l Listener) int {
	if asked := p.asked[l]; asked != KeptPort {
		return asked
	}
	if kept := p.kept[l]; kept != 0 {
		return kept
	}
	return defaultPorts[l]
}

// choose returns a port for l that is free now and not in taken.
func (p *ports) choose(l Listener, taken ...int) (int, error) {
	wanted := p.wanted(l)
	switch asked := p.asked[l]; {
	case asked == 0, p.losses[l] >= portLosses && asked == KeptPort:
		return freePort(taken)
	case asked != KeptPort:
		return wanted, checkPort(l, wanted)
	}
	for port := wanted; port < min(wanted+portSteps, 1<<16); port++ {
		if p.lost[port] || slices.Contains(taken, port) || p.othersPort(l, port) {
			continue
		}
		err := checkPort(l, port)
		for err != nil && port == p.kept[l] && p.patience > 0 {
			time.Sleep(portPause)
			p.patience -= portPause
			err = checkPort(l, port)
		}
		if err == nil {
			return port, nil
		}
	}
	return freePort(taken)
}

// othersPort reports whether the port is reserved for another server.
func (p *ports) othersPort(l Listener, port int) bool {
	for other, first := range defaultPorts {
		if other != l && (port == first && port != p.kept[l] || port == p.wanted(other) && p.asked[other] != 0) {
			return true
		}
	}
	return false
}

// lose reports whether a server may try another port after err. The error err means that another
// program took the port first.
func (p *ports) lose(err error) bool {
	var lost *portError
	if !errors.As(err, &lost) {
		return false
	}
	p.lost[lost.port] = true
	p.losses[lost.server]++
	return p.asked[lost.server] <= 0 && p.losses[lost.server] <= 2*portLosses
}

// moves lists the servers whose port is not the preferred port.
func (p *ports) moves(got map[Listener]int) (moves []Move) {
	for _, l := range slices.Sorted(maps.Keys(got)) {
		if from := p.wanted(l); from != 0 && from != got[l] {
			moves = append(moves, Move{Server: l.String(), From: from, To: got[l]})
		}
	}
	return moves
}

// keep records the ports of the servers for the next start in the folder. A port for a request of
// 0 is not recorded.
func (p *ports) keep(dir string, got map[Listener]int) error {
	now := maps.Clone(p.kept)
	for l, port := range got {
		if p.asked[l] != 0 {
			now[l] = port
		}
	}
	if maps.Equal(now, p.kept) {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep the ports: %w", err)
	}
	if err := writeJSON(filepath.Join(dir, portsFile), now); err != nil {
		return fmt.Errorf("keep the ports: %w", err)
	}
	return nil
}

// readPorts reads the last ports of the folder. A file that cannot be read counts as empty,
// because kept ports are optional.
func readPorts(dir string) map[Listener]int {
	kept := make(map[Listener]int)
	data, err := os.ReadFile(filepath.Join(dir, portsFile))
	if err != nil || json.Unmarshal(data, &kept) != nil || kept == nil {
		return make(map[Listener]int)
	}
	maps.DeleteFunc(kept, func(_ Listener, port int) bool { return port < 1 || port > 65535 })
	return kept
}

// Listen opens a port of 127.0.0.1 for l, a server of the program that runs the servers of dir.
// The port is as in Config: 0 means any free port, KeptPort means the last port of the folder. The
// move is nil unless the kept port was taken.
//
// With KeptPort, call Listen after Start, which locks the folder. KeepPort records the port.
func Listen(dir string, l Listener, port int) (net.Listener, *Move, error) {
	p := newPorts(dir, map[Listener]int{l: port})
	for {
		chosen, err := p.choose(l)
		if err != nil {
			return nil, nil, err
		}
		open, err := net.Listen("tcp", address(chosen))
		if err != nil {
			if err := portInUse(l, chosen, err); !p.lose(err) {
				return nil, nil, err
			}
			continue
		}
		if moves := p.moves(map[Listener]int{l: chosen}); len(moves) > 0 {
			return open, &moves[0], nil
		}
		return open, nil, nil
	}
}

// KeepPort records the port for the next Listen with KeptPort in dir. Call it after Start.
func KeepPort(dir string, l Listener, port int) error {
	return newPorts(dir, map[Listener]int{l: port}).keep(dir, map[Listener]int{l: port})
}

// checkPort returns an error unless the port is free now.
func checkPort(server Listener, port int) error {
	l, err := net.Listen("tcp", address(port))
	if err != nil {
		return portInUse(server, port, err)
	}
	return l.Close()
}

// portError is an errPortInUse that names the server and the port.
type portError struct {
	error
	server Listener
	port   int
}

func (e *portError) Unwrap() error { return e.error }

func portInUse(server Listener, port int, cause error) error {
	const advice = "choose another port (0 takes any free port)"
	if cause != nil && !errors.Is(cause, syscall.EADDRINUSE) {
		var call *os.SyscallError
		if errors.As(cause, &call) {
			cause = call.Err
		}
		err := fail(errPortInUse, cause, "port %d for %s cannot be opened (%v): %s", port, server, cause, advice)
		return &portError{err, server, port}
	}
	err := fail(errPortInUse, cause, "port %d for %s is in use: stop the program that uses it, or %s", port, server, advice)
	return &portError{err, server, port}
}

// freePort returns a port that is free now and not in taken. If another program takes the port
// first, the caller tries again.
func freePort(taken []int) (int, error) {
	for {
		l, err := net.Listen("tcp", address(0))
		if err != nil {
			return 0, fmt.Errorf("find a free port: %w", err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		if l.Close(); !slices.Contains(taken, port) {
			return port, nil
		}
	}
}
