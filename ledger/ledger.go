package ledger

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Ledger is a connection pool to one ClickHouse database. It is safe for
// concurrent use.
type Ledger struct {
	conn driver.Conn
}

// ErrUnreachable is wrapped by every error that means the server did not
// answer at all: check the address, or start one.
var ErrUnreachable = errors.New("clickhouse is not reachable")

// Open connects to the ClickHouse of dsn, clickhouse://user:pass@host:9000/db,
// and returns once it answers a query. The error never contains the password.
func Open(ctx context.Context, dsn string) (*Ledger, error) {
	options, err := clickhouse.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("parse clickhouse address: %w", withoutSecret(err, dsn))
	}
	options.DialTimeout = 10 * time.Second
	options.ReadTimeout = 30 * time.Second
	options.MaxOpenConns = 8
	options.Compression = &clickhouse.Compression{Method: clickhouse.CompressionLZ4}
	conn, err := clickhouse.Open(options)
	if err != nil {
		return nil, fmt.Errorf("open clickhouse: %w", withoutSecret(err, dsn))
	}
	l := &Ledger{conn: conn}
	if err := conn.Ping(ctx); err != nil {
		conn.Close()
		var server *clickhouse.Exception
		if errors.As(err, &server) {
			return nil, fmt.Errorf("connect to clickhouse: %w", server)
		}
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, withoutSecret(err, dsn))
	}
	return l, nil
}

// Close releases the connections.
func (l *Ledger) Close() error { return l.conn.Close() }

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
