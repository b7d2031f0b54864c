package ledger

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
)

// Ledger is a connection pool to one ClickHouse database. A Ledger is safe for concurrent use.
type Ledger struct {
	conn    driver.Conn
	sql     chsql.DB // this package's statements
	sender  *sender
	options *clickhouse.Options
	// readonly is the user's setting of that name, once it was asked for.
	readonly atomic.Pointer[string]
	replicas *replicas // nil for a single server, and for a user that only reads
}

// Distinct returns l and the others, each once.
func Distinct(l *Ledger, others ...*Ledger) []*Ledger {
	all := []*Ledger{l}
	for _, o := range others {
		if !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	return all
}

// ErrUnreachable is wrapped by every error that means the server did not
// answer at all: check the address, or start one.
var ErrUnreachable = errors.New("clickhouse is not reachable")

// Open connects to the ClickHouse of dsn, clickhouse://user:pass@host:9000/db, and returns once
// it answers a query. With secure=true, or https, the connection has TLS; ca=FILE in dsn names the
// authorities of its certificate, and cert=FILE the certificate and the key of the client. Data on the wire are compressed by LZ4. There is no compression with
// compress=none in dsn, and none on this machine, where it costs time and saves nothing. The
// error never contains the password.
func Open(ctx context.Context, dsn string) (*Ledger, error) {
	return open(ctx, dsn, func(*clickhouse.Options) {})
}

// open is Open with the options of the address changed.
func open(ctx context.Context, dsn string, change func(*clickhouse.Options)) (*Ledger, error) {
	options, err := parse(dsn)
	if err != nil {
		return nil, fmt.Errorf("parse clickhouse address: %w", withoutSecret(err, dsn))
	}
	options.DialTimeout = 10 * time.Second
	options.ReadTimeout = 25 * time.Second            // below the 30 s of a page, which can then say that a server is silent
	options.MaxOpenConns, options.MaxIdleConns = 8, 8 // else side by side costs a new connection each time
	change(options)
	if options.Protocol == clickhouse.HTTP {
		options.ReadTimeout = silentLimit
	}
	if options.Compression == nil && !loopback(options.Addr) {
		options.Compression = &clickhouse.Compression{Method: clickhouse.CompressionLZ4}
	}
	options.DialContext = dialer(options)
	l, err := pools(options)
	if err != nil {
		return nil, fmt.Errorf("open clickhouse: %w", withoutSecret(err, dsn))
	}
	if err := l.Ping(ctx); err != nil {
		l.Close()
		var server *clickhouse.Exception
		if errors.As(err, &server) {
			return nil, fmt.Errorf("connect to clickhouse: %w", server)
		}
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, withoutSecret(err, dsn))
	}
	return l, nil
}

// pools returns a Ledger whose connections are made when they are needed.
func pools(options *clickhouse.Options) (*Ledger, error) {
	conn, err := clickhouse.Open(options)
	if err != nil {
		return nil, err
	}
	changes, err := changing(*options)
	if err != nil {
		conn.Close()
		return nil, err
	}
	sql := chsql.DB{Conn: conn, Changes: changes, Files: statementFiles, Database: options.Auth.Database}
	return &Ledger{conn: conn, sql: sql, sender: newSender(options), options: options}, nil
}

// OpenDatabase connects to another database of the same server. The caller closes the result.
func (l *Ledger) OpenDatabase(ctx context.Context, name string) (*Ledger, error) {
	options := *l.options
	options.Auth.Database = name
	other, err := pools(&options)
	if err != nil {
		return nil, fmt.Errorf("open the database %s: %w", name, err)
	}
	if err := other.Ping(ctx); err != nil {
		other.Close()
		return nil, fmt.Errorf("connect to the database %s: %w", name, err)
	}
	return other, nil
}

// loopback reports whether all addresses are of this machine.
func loopback(addrs []string) bool {
	return !slices.ContainsFunc(addrs, func(addr string) bool {
		host, _, err := net.SplitHostPort(addr)
		return err != nil || host != "localhost" && !net.ParseIP(host).IsLoopback()
	})
}

// Close releases the connections.
func (l *Ledger) Close() error {
	l.sender.close()
	return errors.Join(l.sql.Changes.Close(), l.conn.Close())
}

// withoutSecret keeps an address with a password out of error texts: a parse
// error of net/url quotes its whole input.
func withoutSecret(err error, dsn string) error {
	var parse *url.Error
	if errors.As(err, &parse) {
		return fmt.Errorf("%s: %w", parse.Op, parse.Err)
	}
	u, parseErr := url.Parse(dsn)
	if parseErr != nil {
		return fmt.Errorf("%T", err)
	}
	password, _ := u.User.Password()
	_, escaped, _ := strings.Cut(u.User.String(), ":")
	for _, secret := range []string{password, escaped} {
		if secret != "" && strings.Contains(err.Error(), secret) {
			return fmt.Errorf("%T at %s", err, u.Redacted())
		}
	}
	return err
}

// Ping reports whether the server answers.
func (l *Ledger) Ping(ctx context.Context) error { return l.conn.Ping(ctx) }

// Version returns the server's version.
func (l *Ledger) Version() (string, error) {
	v, err := l.conn.ServerVersion()
	if err != nil {
		return "", fmt.Errorf("ask clickhouse for its version: %w", err)
	}
	return v.Version.String(), nil
}
