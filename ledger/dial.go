package ledger

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// patient is a connection that waits for the next bytes as long as limit, however long an
// answer is. The read timeout of the driver bounds a whole answer, and would end exports of
// large sessions and comparisons of whole tables. A server that works on a query or an insert sends progress
// ten times a second. It sends nothing while it rewrites rows or waits for queries that read a dropped table, and
// nothing over HTTP before the first rows of an answer. Deadlines of a context apply unchanged.
type patient struct {
	net.Conn
	limit    time.Duration
	deadline atomic.Pointer[time.Time] // of a context; nil is none
}

// dialer makes the driver's connections patient.
func dialer(o *clickhouse.Options) func(ctx context.Context, addr string) (net.Conn, error) {
	limit, plain, secure := o.ReadTimeout, net.Dialer{Timeout: o.DialTimeout}, o.TLS
	if o.Protocol == clickhouse.HTTP {
		secure = nil // the client of HTTP encrypts by itself
	}
	return func(ctx context.Context, addr string) (conn net.Conn, err error) {
		if secure != nil {
			conn, err = (&tls.Dialer{NetDialer: &plain, Config: secure}).DialContext(ctx, "tcp", addr)
		} else {
			conn, err = plain.DialContext(ctx, "tcp", addr)
		}
		if err != nil {
			return nil, err
		}
		return &patient{Conn: conn, limit: limit}, nil
	}
}

func (p *patient) Read(b []byte) (int, error) {
	until := time.Now().Add(p.limit)
	if d := p.deadline.Load(); d != nil && d.Before(until) {
		until = *d
	}
	if err := p.Conn.SetReadDeadline(until); err != nil {
		return 0, err
	}
	return p.Conn.Read(b)
}

// The driver calls SetReadDeadline for its read timeout, which is ignored here. At the end of
// an answer it passes zero, and the connection may be idle.
func (p *patient) SetReadDeadline(t time.Time) error {
	if !t.IsZero() {
		return nil
	}
	return p.Conn.SetReadDeadline(t)
}

// SetDeadline is called by the driver for the deadline of a context.
func (p *patient) SetDeadline(t time.Time) error {
	if t.IsZero() {
		p.deadline.Store(nil)
	} else {
		p.deadline.Store(&t)
	}
	return p.Conn.SetDeadline(t)
}

// SyscallConn lets the driver see whether the server closed a connection that rested.
func (p *patient) SyscallConn() (syscall.RawConn, error) {
	conn := p.Conn
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	return conn.(syscall.Conn).SyscallConn()
}

// silentLimit bounds the work of a server that sends nothing meanwhile. A server that no longer runs, or that the
// network does not reach, is noticed earlier by the system.
const silentLimit = 24 * time.Hour

// changing is a pool of connections for [chsql.DB.Change]. It connects at the first one.
func changing(o clickhouse.Options) (driver.Conn, error) {
	o.ReadTimeout = silentLimit
	o.DialContext = dialer(&o)
	return clickhouse.Open(&o)
}
