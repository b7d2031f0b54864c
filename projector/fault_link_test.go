package projector

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A link is a TCP connection that a test can disturb. The link is a proxy between a client and
// a real server. Disturbances apply to one direction, for existing and new connections.
type link struct {
	listener net.Listener
	to       string
	requests lane // from the client
	replies  lane // from the server
	refusing atomic.Bool

	mu    sync.Mutex
	conns map[*net.TCPConn]bool
}

// lane is one direction of a link.
type lane struct {
	mu    sync.Mutex
	shut  chan struct{} // closed when bytes may pass again; nil while they pass
	delay time.Duration // of every chunk
	chunk int           // the largest number of bytes in one chunk; 0 means no limit
	trap  *trap
}

// trap shuts the lane after a pattern and a number of bytes.
type trap struct {
	pattern []byte
	behind  int
	sprung  chan struct{}
}

// newLink makes a link to the server of an address. newLink returns the address with the link's
// port.
func newLink(t testing.TB, address string) (*link, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l := &link{to: u.Host, conns: make(map[*net.TCPConn]bool)}
	if l.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	go l.serve()
	t.Cleanup(func() {
		l.listener.Close()
		l.reset()
		l.requests.open()
		l.replies.open()
	})
	u.Host = l.listener.Addr().String()
	return l, u.String()
}

func (l *link) serve() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		go l.connect(client.(*net.TCPConn))
	}
}

func (l *link) connect(client *net.TCPConn) {
	if l.refusing.Load() {
		reset(client)
		return
	}
	server, err := net.DialTimeout("tcp", l.to, 5*time.Second)
	if err != nil {
		reset(client)
		return
	}
	ends := []*net.TCPConn{client, server.(*net.TCPConn)}
	l.mu.Lock()
	for _, c := range ends {
		l.conns[c] = true
	}
	l.mu.Unlock()
	var both sync.WaitGroup
	over := make(chan struct{})
	var once sync.Once
	end := func() { once.Do(func() { close(over) }) }
	both.Go(func() { l.requests.copy(ends[1], ends[0], over); end(); reset(ends[1]) })
	both.Go(func() { l.replies.copy(ends[0], ends[1], over); end(); reset(ends[0]) })
	both.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range ends {
		delete(l.conns, c)
	}
}

func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

// copy forwards bytes until one end is closed.
func (l *lane) copy(to, from *net.TCPConn, over <-chan struct{}) {
	buffer := make([]byte, 32<<10)
	var tail []byte // the end of the earlier bytes, in which a pattern may begin
	left := -1      // bytes to pass before the trap shuts; -1 before the pattern
	for {
		delay, limit, _ := l.rules()
		if limit == 0 {
			limit = len(buffer)
		}
		n, err := from.Read(buffer[:limit])
		if err != nil {
			return
		}
		chunk := buffer[:n]
		time.Sleep(delay)
		_, _, set := l.rules()
		if set == nil {
			tail, left = nil, -1
		} else if left < 0 {
			seen := append(tail, chunk...)
			if at := bytes.Index(seen, set.pattern); at >= 0 {
				left = max(0, at+len(set.pattern)-len(tail)) + set.behind
			}
			tail = bytes.Clone(seen[max(0, len(seen)-len(set.pattern)):])
		}
		if left >= 0 {
			before := min(left, n)
			if !l.pass(to, chunk[:before], over) {
				return
			}
			if left -= before; before == n {
				continue
			}
			chunk, left = chunk[before:], -1
			l.spring(set)
		}
		if !l.pass(to, chunk, over) {
			return
		}
	}
}

func (l *lane) pass(to *net.TCPConn, chunk []byte, over <-chan struct{}) bool {
	l.mu.Lock()
	shut := l.shut
	l.mu.Unlock()
	if shut != nil {
		select {
		case <-shut:
		case <-over:
			return false
		}
	}
	_, err := to.Write(chunk)
	return err == nil
}

func (l *lane) rules() (delay time.Duration, chunk int, set *trap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.delay, l.chunk, l.trap
}

func (l *lane) spring(set *trap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.trap == set {
		l.trap = nil
		l.shut = make(chan struct{})
		close(set.sprung)
	}
}

// close blocks bytes from now on.
func (l *lane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shut == nil {
		l.shut = make(chan struct{})
	}
}

// open lets bytes pass, the blocked ones first.
func (l *lane) open() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trap = nil
	if l.shut != nil {
		close(l.shut)
		l.shut = nil
	}
}

// slow delays every chunk, which has at most that many bytes. 0 means no delay.
func (l *lane) slow(delay time.Duration, chunk int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay, l.chunk = delay, chunk
}

// holdAfter blocks the bytes after the pattern and a number of further bytes on one connection.
// The channel is closed when that happens.
func (l *lane) holdAfter(pattern string, behind int) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trap = &trap{[]byte(pattern), behind, make(chan struct{})}
	return l.trap.sprung
}

// freeze blocks all data of old and new connections without closing them.
func (l *link) freeze() { l.requests.close(); l.replies.close() }

// reset closes every existing connection.
func (l *link) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		reset(c)
	}
}

// mend closes the existing connections, whose blocked bytes are lost, and lets new connections
// pass.
func (l *link) mend() {
	l.reset()
	l.requests.open()
	l.replies.open()
	l.requests.slow(0, 0)
	l.replies.slow(0, 0)
	l.refusing.Store(false)
}
