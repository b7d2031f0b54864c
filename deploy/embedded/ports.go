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

// KeptPort, as a port of a Config, is the port that the data folder had last. A new
// folder begins with the default port. If that port is taken, the next free one is used
// and kept instead; Servers.Moves reports it.
const KeptPort = -1

// The default ports. No widely used program listens on them.
const (
	DefaultHTTPPort           = 7070 // of the program itself: see Listen
	DefaultNATSPort           = 7422
	DefaultClickHousePort     = 7900
	DefaultClickHouseHTTPPort = 7923

	capturePort = 7171 // kept free for `ctxledger capture`
)

// listener is a server that listens on a port; its value is its name in ports.json.
type listener string

const (
	listenerHTTP           listener = "http"
	listenerNATS           listener = "nats"
	listenerClickHouse     listener = "clickhouse"
	listenerClickHouseHTTP listener = "clickhouse_http"
)

var defaultPorts = map[listener]int{
	listenerHTTP:           DefaultHTTPPort,
	listenerNATS:           DefaultNATSPort,
	listenerClickHouse:     DefaultClickHousePort,
	listenerClickHouseHTTP: DefaultClickHouseHTTPPort,
}

// String is the name for people.
func (l listener) String() string {
	switch l {
	case listenerNATS:
		return "NATS"
	case listenerClickHouse:
		return "ClickHouse"
	case listenerClickHouseHTTP:
		return "ClickHouse over HTTP"
	}
	return "HTTP"
}

// Move says that a kept port was taken and which port replaced it.
type Move struct {
	Server   string // for people
	From, To int
}

func (m Move) String() string {
	return fmt.Sprintf("port %d is in use; %s listens on %d", m.From, m.Server, m.To)
}

const (
	// portSteps is how many ports are tried from a kept port upward, before any free
	// one is taken.
	portSteps = 100
	// portLosses is how many ports a server may lose to other programs between the
	// choice and the start, before any free one is taken.
	portLosses = 5
	// portPatience is how long a kept port is waited for after an end in disorder,
	// when the kernel may still hold it for the ended process.
	portPatience = time.Second
	portPause    = 20 * time.Millisecond
)

// ports chooses the ports of one start. It binds a port to find out whether it is free,
// but only the server itself can keep it: a caller whose server loses the port to another
// program calls lose and chooses again.
type ports struct {
	asked    map[listener]int // as in Config: 0 for any, KeptPort, or the port
	kept     map[listener]int // where the folder's servers listened last
	lost     map[int]bool
	losses   map[listener]int
	patience time.Duration // what is left of portPatience
}

func newPorts(dir string, asked map[listener]int) *ports {
	p := &ports{asked: asked, kept: readPorts(dir), lost: make(map[int]bool), losses: make(map[listener]int)}
	if _, err := os.Stat(filepath.Join(dir, addressesFile)); err == nil {
		p.patience = portPatience // Close removes that file
	}
	return p
}

func portsOf(c Config) *ports {
	asked := make(map[listener]int)
	if !c.NoNATS {
		asked[listenerNATS] = c.NATSPort
	}
	if !c.NoClickHouse {
		asked[listenerClickHouse], asked[listenerClickHouseHTTP] = c.ClickHousePort, c.HTTPPort
	}
	return newPorts(c.Dir, asked)
}

// wanted is the port that l listens on if it can: 0 for any.
func (p *ports) wanted(l listener) int {
	if asked := p.asked[l]; asked != KeptPort {
		return asked
	}
	if kept := p.kept[l]; kept != 0 {
		return kept
	}
	return defaultPorts[l]
}

// choose returns a port for l that is free now, and is none of taken.
func (p *ports) choose(l listener, taken ...int) (int, error) {
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

// othersPort reports whether another server is to listen on the port.
func (p *ports) othersPort(l listener, port int) bool {
	if port == capturePort {
		return true
	}
	for other, first := range defaultPorts {
		if other != l && (port == first && port != p.kept[l] || port == p.wanted(other) && p.asked[other] != 0) {
			return true
		}
	}
	return false
}

// lose reports whether a server may try another port because of err, which says that
// another program took the port before the server could.
func (p *ports) lose(err error) bool {
	var lost *portError
	if !errors.As(err, &lost) {
		return false
	}
	p.lost[lost.port] = true
	p.losses[lost.server]++
	return p.asked[lost.server] <= 0 && p.losses[lost.server] <= 2*portLosses
}

// moves lists the servers that listen on another port than the wanted one.
func (p *ports) moves(got map[listener]int) (moves []Move) {
	for _, l := range slices.Sorted(maps.Keys(got)) {
		if from := p.wanted(l); from != 0 && from != got[l] {
			moves = append(moves, Move{Server: l.String(), From: from, To: got[l]})
		}
	}
	return moves
}

// keep records where the servers listen, for the next start on the folder. A port that
// was asked for as any is not recorded.
func (p *ports) keep(dir string, got map[listener]int) error {
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

// readPorts reads which ports the folder had last. A file that cannot be read counts as
// none: a folder's ports are a convenience.
func readPorts(dir string) map[listener]int {
	kept := make(map[listener]int)
	data, err := os.ReadFile(filepath.Join(dir, portsFile))
	if err != nil || json.Unmarshal(data, &kept) != nil || kept == nil {
		return make(map[listener]int)
	}
	maps.DeleteFunc(kept, func(_ listener, port int) bool { return port < 1 || port > 65535 })
	return kept
}

// Listen opens a port of 127.0.0.1 for the HTTP server of the program that runs the
// servers of dir. The port is as in Config: 0 for any free one, KeptPort for the one that
// the folder had last. The move is nil unless the kept port was taken.
//
// With KeptPort, call it after Start, which locks the folder. KeepHTTPPort records the port.
func Listen(dir string, port int) (net.Listener, *Move, error) {
	p := newPorts(dir, map[listener]int{listenerHTTP: port})
	for {
		chosen, err := p.choose(listenerHTTP)
		if err != nil {
			return nil, nil, err
		}
		open, err := net.Listen("tcp", address(chosen))
		if err != nil {
			if err := portInUse(listenerHTTP, chosen, err); !p.lose(err) {
				return nil, nil, err
			}
			continue
		}
		if moves := p.moves(map[listener]int{listenerHTTP: chosen}); len(moves) > 0 {
			return open, &moves[0], nil
		}
		return open, nil, nil
	}
}

// KeepHTTPPort makes the port the one that Listen opens for dir at the next start. Call it
// after Start.
func KeepHTTPPort(dir string, port int) error {
	return newPorts(dir, map[listener]int{listenerHTTP: port}).keep(dir, map[listener]int{listenerHTTP: port})
}

// checkPort returns an error unless the port is free now.
func checkPort(server listener, port int) error {
	l, err := net.Listen("tcp", address(port))
	if err != nil {
		return portInUse(server, port, err)
	}
	return l.Close()
}

// portError is an errPortInUse that names the server and the port.
type portError struct {
	error
	server listener
	port   int
}

func (e *portError) Unwrap() error { return e.error }

func portInUse(server listener, port int, cause error) error {
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

// freePort returns a port that is free now and is none of taken. The caller tries again
// if another program takes it first.
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
