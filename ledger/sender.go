package ledger

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/internal/column"
)

// sendTimeLimit bounds one insert on this side. A connection without a server at its other end
// is given up then.
const sendTimeLimit = 30 * time.Second

// sender inserts blocks that are encoded already. Free connections are kept; their number is at
// most the number of blocks that are sent at a time. Safe for concurrent use.
//
// clickhouse-go, which does everything else, takes columns as slices of values,
// each of which it copies into a new buffer for every insert; that was a third of
// the projector's time, and three times the memory.
type sender struct {
	options ch.Options
	addrs   []string

	mu     sync.Mutex
	free   []*ch.Client
	closed bool
}

func newSender(o *clickhouse.Options) *sender {
	s := &sender{addrs: o.Addr, options: ch.Options{
		Database: o.Auth.Database, User: o.Auth.Username, Password: o.Auth.Password,
		TLS: o.TLS, DialTimeout: o.DialTimeout, HandshakeTimeout: o.DialTimeout, ClientName: "ctxledger",
	}}
	if o.Compression != nil && o.Compression.Method == clickhouse.CompressionLZ4 {
		s.options.Compression = ch.CompressionLZ4
	}
	// The server's counters of each query would be a tenth of a small insert's work.
	s.options.Settings = append(s.options.Settings, ch.Setting{Key: "send_profile_events", Value: "0", Important: true})
	for name, value := range o.Settings {
		s.options.Settings = append(s.options.Settings, ch.Setting{Key: name, Value: fmt.Sprint(value), Important: true})
	}
	return s
}

// insert sends one block. After an error its outcome is unknown, unless the
// error is the server's, a *[clickhouse.Exception]. A ctx that ends cuts it off.
func (s *sender) insert(ctx context.Context, b column.Table, id string, settings []ch.Setting) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeLimit)
	defer cancel()
	client, err := s.Take(ctx)
	if err != nil {
		return err
	}
	statement, input := b.Sent()
	return s.done(client, client.Do(ctx, ch.Query{Body: statement, QueryID: id, Input: input, Settings: settings}))
}

// numbers calls add with every value of the only column of a query's answer, which
// is too long to be read row by row. A ctx that ends cuts it off.
func (s *sender) numbers(ctx context.Context, query, column string, params chsql.Params, add func(uint64)) error {
	quoted := make(map[string]any, len(params))
	for name, value := range params.Encoded() {
		quoted[name] = strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value)
	}
	client, err := s.Take(ctx)
	if err != nil {
		return err
	}
	var values proto.ColUInt64
	return s.done(client, client.Do(ctx, ch.Query{
		Body: query, Parameters: ch.Parameters(quoted), Result: proto.Results{{Name: column, Data: &values}},
		OnResult: func(context.Context, proto.Block) error {
			for _, value := range values {
				add(value)
			}
			return nil
		},
	}))
}

// done gives a connection back after a query, or closes it after an error. It returns the error
// in the form of this package.
func (s *sender) done(client *ch.Client, err error) error {
	if err == nil {
		s.give(client)
		return nil
	}
	_ = client.Close()
	if server, ok := ch.AsException(err); ok {
		return &clickhouse.Exception{Code: int32(server.Code), Name: server.Name, Message: server.Message}
	}
	if errors.Is(err, column.ErrMismatch) {
		return err
	}
	s.drop() // a server that is gone has closed them all
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// Take returns a free connection or a new one, to the first address that
// answers.
func (s *sender) Take(ctx context.Context) (*ch.Client, error) {
	s.mu.Lock()
	if n := len(s.free); n > 0 {
		client := s.free[n-1]
		s.free = s.free[:n-1]
		s.mu.Unlock()
		return client, nil
	}
	s.mu.Unlock()
	var errs []error
	for _, addr := range s.addrs {
		o := s.options
		o.Address = addr
		client, err := ch.DialWithBuffer(ctx, o, new(proto.Buffer))
		if err == nil {
			return client, nil
		}
		if server, ok := ch.AsException(err); ok {
			err = &clickhouse.Exception{Code: int32(server.Code), Name: server.Name, Message: server.Message}
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		errs = append(errs, &net.AddrError{Err: "no address"})
	}
	return nil, fmt.Errorf("%w: %w", ErrUnreachable, errors.Join(errs...))
}

func (s *sender) give(client *ch.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = client.Close()
		return
	}
	s.free = append(s.free, client)
}

// drop closes the free connections.
func (s *sender) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, client := range s.free {
		_ = client.Close()
	}
	s.free = nil
}

func (s *sender) close() {
	s.drop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}
