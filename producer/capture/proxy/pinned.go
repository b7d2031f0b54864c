package proxy

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"time"
)

// handshakePatience limits the handshake with a client.
const handshakePatience = time.Minute

// pinned are the hosts for which the client trusts other certificates only. Safe for concurrent
// use.
type pinned struct {
	mu    sync.Mutex
	hosts map[string]bool // guarded by mu
}

// note adds a host if a handshake failed because the client refused the certificate. A client
// refuses by an alert; one that only leaves may come again.
func (p *pinned) note(host string, failed error) {
	var alert *net.OpError
	if !errors.As(failed, &alert) || alert.Op != "remote error" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hosts == nil {
		p.hosts = make(map[string]bool)
	}
	p.hosts[host] = true
}

func (p *pinned) has(host string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hosts[host]
}

// Pinned returns the hosts whose connections pass unread since the client refused a certificate of
// the authority, sorted.
func (f *Forward) Pinned() []string {
	f.pinned.mu.Lock()
	defer f.pinned.mu.Unlock()
	return slices.Sorted(maps.Keys(f.pinned.hosts))
}

// direct connects to the provider that stands behind a host, without a view into the connection.
func (f *Forward) direct(ctx context.Context, host string) (net.Conn, error) {
	target := f.hosts[host].URL
	if target.Scheme != "https" {
		return nil, errRefused // the client speaks TLS
	}
	f.tunnelled.Add(1)
	return dial(ctx, net.JoinHostPort(target.Hostname(), portOf(target)))
}
