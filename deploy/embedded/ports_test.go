package embedded

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// occupy listens on a port until the test ends or the listener is closed.
func occupy(t *testing.T, port int) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address(port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

var runs atomic.Int32

// freeRun returns the first of n adjacent free ports that no other test of this process has.
func freeRun(t *testing.T, n int) int {
	t.Helper()
	for range 500 {
		first := 20000 + (os.Getpid()%500*20+int(runs.Add(1))*20)%12000
		free := true
		for port := first; port < first+n; port++ {
			free = free && checkPort(listenerNATS, port) == nil
		}
		if free {
			return first
		}
	}
	t.Fatal("no neighbouring ports are free")
	return 0
}

func keepPorts(t *testing.T, dir string, kept map[Listener]int) {
	t.Helper()
	if err := writeJSON(filepath.Join(dir, portsFile), kept); err != nil {
		t.Fatal(err)
	}
}

func TestChoosePort(t *testing.T) {
	t.Parallel()
	first := freeRun(t, 10)
	ask := func(port int) map[Listener]int {
		return map[Listener]int{listenerNATS: port, listenerClickHouse: KeptPort}
	}
	for name, c := range map[string]struct {
		asked, kept, occupied map[Listener]int
		want                  int // 0 for any port that is not occupied
	}{
		"the kept port":               {asked: ask(KeptPort), kept: map[Listener]int{listenerNATS: first}, want: first},
		"the next after the kept one": {asked: ask(KeptPort), kept: map[Listener]int{listenerNATS: first + 1}, occupied: map[Listener]int{"": first + 1}, want: first + 2},
		"not that of another server":  {asked: ask(KeptPort), kept: map[Listener]int{listenerNATS: first + 3, listenerClickHouse: first + 4}, occupied: map[Listener]int{"": first + 3}, want: first + 5},
		"not what a flag asks for":    {asked: map[Listener]int{listenerNATS: KeptPort, listenerClickHouse: first + 6}, kept: map[Listener]int{listenerNATS: first + 6}, want: first + 7},
		"the asked one":               {asked: ask(first + 8), kept: map[Listener]int{listenerNATS: first}, want: first + 8},
		"any":                         {asked: ask(0), kept: map[Listener]int{listenerNATS: first}},
	} {
		dir := t.TempDir()
		keepPorts(t, dir, c.kept)
		var held []net.Listener
		for _, port := range c.occupied {
			held = append(held, occupy(t, port))
		}
		got, err := newPorts(dir, c.asked).choose(listenerNATS)
		if err != nil || c.want != 0 && got != c.want || got == c.kept[listenerNATS] && c.want != got {
			t.Errorf("%s: chose %d, %v; want %d", name, got, err, c.want)
		}
		for _, l := range held {
			l.Close()
		}
	}
	if !newPorts(t.TempDir(), ask(KeptPort)).othersPort(listenerNATS, DefaultCapturePort) {
		t.Error("NATS may take the port of the captures")
	}
	if first := newPorts(t.TempDir(), ask(KeptPort)).wanted(listenerNATS); first != 7422 {
		t.Errorf("a new folder wants port %d for NATS", first)
	}
}

func TestDamagedPortsAreForgotten(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", "null", `[1]`, `{"nats": "x"}`, `{"nats": 70000}`, `{"nats": -1}`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, portsFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p := newPorts(dir, map[Listener]int{listenerNATS: KeptPort})
		if got := p.wanted(listenerNATS); got != DefaultNATSPort {
			t.Errorf("%q: wants port %d", text, got)
		}
		if err := p.keep(dir, map[Listener]int{listenerNATS: 7500}); err != nil || readPorts(dir)[listenerNATS] != 7500 {
			t.Errorf("%q: keeps %v, %v", text, readPorts(dir), err)
		}
	}
}

// An earlier process was killed, and the kernel closes its ports later.
func TestKeptPortIsWaitedForAfterAKill(t *testing.T) {
	t.Parallel()
	port := freeRun(t, 2)
	for _, killed := range []bool{false, true} {
		dir, want := t.TempDir(), port+1
		keepPorts(t, dir, map[Listener]int{listenerNATS: port})
		if killed {
			want = port
			if err := os.WriteFile(filepath.Join(dir, addressesFile), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		l := occupy(t, port)
		if killed {
			time.AfterFunc(5*portPause, func() { l.Close() })
		}
		if got, err := newPorts(dir, map[Listener]int{listenerNATS: KeptPort}).choose(listenerNATS); err != nil || got != want {
			t.Errorf("killed %v: chose %d, %v; want %d", killed, got, err, want)
		}
		l.Close()
	}
}

// listening returns the ports in the addresses.
func listening(t *testing.T, a Addresses) map[Listener]int {
	t.Helper()
	ports := make(map[Listener]int)
	for l, text := range map[Listener]string{listenerNATS: a.NATSURL, listenerClickHouse: a.ReaderDSN, listenerClickHouseHTTP: a.HTTPURL} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if ports[l], err = strconv.Atoi(u.Port()); err != nil {
			t.Fatal(err)
		}
	}
	return ports
}

func TestServersListenOnTheSamePortsAgain(t *testing.T) {
	t.Parallel()
	needEngine(t)
	dir, first := t.TempDir(), freeRun(t, 6)
	wanted := map[Listener]int{listenerNATS: first, listenerClickHouse: first + 2, listenerClickHouseHTTP: first + 4}
	keepPorts(t, dir, wanted)
	start := func(change func(*Config)) (map[Listener]int, []Move) {
		t.Helper()
		c := DefaultConfig(dir)
		c.NATSPort, c.ClickHousePort, c.HTTPPort = KeptPort, KeptPort, KeptPort
		change(&c)
		s, err := Start(t.Context(), c)
		if err != nil {
			giveUp(t, err)
		}
		defer s.Close()
		return listening(t, s.Addresses()), s.Moves()
	}
	same := func(*Config) {}
	for range 2 {
		if got, moves := start(same); !maps.Equal(got, wanted) || len(moves) > 0 {
			t.Fatalf("listens on %v, not %v; moves %v", got, wanted, moves)
		}
	}
	// A taken port: the next port is reported and kept.
	var held []net.Listener
	moved := make(map[Listener]int)
	for l, port := range wanted {
		held, moved[l] = append(held, occupy(t, port)), port+1
	}
	got, moves := start(same)
	if !maps.Equal(got, moved) {
		t.Errorf("listens on %v, not %v", got, moved)
	}
	if said := fmt.Sprint(moves); len(moves) != 3 || !strings.Contains(said, fmt.Sprintf("port %d is in use; NATS listens on %d", first, first+1)) {
		t.Errorf("says %s", said)
	}
	for _, l := range held {
		l.Close()
	}
	if got, moves := start(same); !maps.Equal(got, moved) || len(moves) > 0 {
		t.Errorf("listens on %v, not %v; moves %v", got, moved, moves)
	}
	// Any port is not kept; a given port is kept.
	if got, moves := start(func(c *Config) { c.NATSPort = 0 }); got[listenerNATS] == moved[listenerNATS] || len(moves) > 0 {
		t.Errorf("any port is %v; moves %v", got, moves)
	}
	if kept := readPorts(dir); !maps.Equal(kept, moved) {
		t.Errorf("keeps %v, not %v", kept, moved)
	}
	start(func(c *Config) { c.NATSPort = first })
	if kept := readPorts(dir); kept[listenerNATS] != first {
		t.Errorf("keeps %v, not the given port %d", kept, first)
	}
}

// TestFoldersThatStartAtOnce: servers of several folders request the same ports at the same time.
// Each folder gets different ports.
func TestFoldersThatStartAtOnce(t *testing.T) {
	t.Parallel()
	needEngine(t)
	const folders = 3
	first := freeRun(t, 9)
	wanted := map[Listener]int{listenerNATS: first, listenerClickHouse: first + 3, listenerClickHouseHTTP: first + 6}
	var mu sync.Mutex
	var group sync.WaitGroup
	owner := make(map[int]string)
	for range folders {
		dir := t.TempDir()
		keepPorts(t, dir, wanted)
		group.Go(func() {
			c := DefaultConfig(dir)
			c.NATSPort, c.ClickHousePort, c.HTTPPort = KeptPort, KeptPort, KeptPort
			s, err := Start(t.Context(), c)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { s.Close() })
			mu.Lock()
			defer mu.Unlock()
			for _, port := range listening(t, s.Addresses()) {
				if other := owner[port]; other != "" {
					t.Errorf("%s and %s share port %d", other, dir, port)
				}
				owner[port] = dir
			}
		})
	}
	if group.Wait(); len(owner) != 3*folders {
		t.Errorf("the ports are %v", owner)
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	dir, first := t.TempDir(), freeRun(t, 2)
	taken := occupy(t, first)
	if _, _, err := Listen(dir, HTTP, first); !errors.Is(err, errPortInUse) || !strings.Contains(err.Error(), fmt.Sprintf("port %d for HTTP is in use: stop the program", first)) {
		t.Errorf("a taken port: %v", err)
	}
	keepPorts(t, dir, map[Listener]int{HTTP: first})
	l, move, err := Listen(dir, HTTP, KeptPort)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if port := l.Addr().(*net.TCPAddr).Port; port != first+1 || move == nil || move.String() != fmt.Sprintf("port %d is in use; HTTP listens on %d", first, first+1) {
		t.Errorf("listens on %d: %v", port, move)
	}
	if err := KeepPort(dir, HTTP, first+1); err != nil || readPorts(dir)[HTTP] != first+1 {
		t.Errorf("keeps %v, %v", readPorts(dir), err)
	}
	taken.Close()
}

func TestFilesForClients(t *testing.T) {
	t.Parallel()
	s := startTest(t)
	files := ClientFilesOf(s.config.Dir)
	for path, want := range map[string]string{
		files.NATSPassword: s.creds.NATS, files.NATSURL: s.NATSURL(),
		files.ReaderPassword: s.creds.Reader, files.ReaderDSN: s.ReaderDSN(),
	} {
		text, err := os.ReadFile(path)
		if err != nil || string(text) != want {
			t.Errorf("%s: %v", path, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
}
