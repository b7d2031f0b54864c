package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded"
)

// servers are both servers in separate processes, with a connection to each server.
type servers struct {
	child  *natsChild
	client *child // the current way; nil between ways
	engine *embedded.Servers
	nc     *nats.Conn
	js     jetstream.JetStream
	admin  driver.Conn // without the measured database

	databases int // number of databases that this run made
}

func startServers(ctx context.Context, c Config) (_ *servers, err error) {
	s := &servers{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.child, err = startNATS(ctx, filepath.Join(c.Dir, "stream")); err != nil {
		return nil, err
	}
	if s.nc, err = nats.Connect(s.child.url, nats.Name("ctxledger bench"), nats.MaxReconnects(-1)); err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	if s.js, err = jetstream.New(s.nc); err != nil {
		return nil, fmt.Errorf("use JetStream: %w", err)
	}
	if err := dropStreams(ctx, s.js); err != nil {
		return nil, err
	}
	ec := embedded.DefaultConfig(filepath.Join(c.Dir, "tables"))
	ec.NoNATS, ec.Progress, ec.Log = true, c.Fetch, c.Log
	if s.engine, err = embedded.Start(ctx, ec); err != nil {
		return nil, err
	}
	s.admin, err = connect(s.engine.ClickHouseDSN())
	return s, err
}

// close stops the servers, ClickHouse before NATS.
func (s *servers) close() error {
	var errs []error
	if s.nc != nil {
		s.nc.Close()
	}
	if s.admin != nil {
		errs = append(errs, s.admin.Close())
	}
	if s.engine != nil {
		errs = append(errs, s.engine.Close())
	}
	if s.child != nil {
		errs = append(errs, s.child.stop())
	}
	return errors.Join(errs...)
}

// database is the name of each round's new database. Databases of earlier rounds have this name
// with a number.
const database = "ctxledger_bench"

// freshDatabase returns the address of an empty database. The last round's database is renamed
// and dropped by the next run. After thousands of files are removed, ext4 searches longer for
// free inodes, and the next round would be slower.
func (s *servers) freshDatabase(ctx context.Context) (dsn string, err error) {
	if s.databases == 0 {
		err = s.dropDatabases(ctx)
	} else {
		err = s.admin.Exec(withParameters(ctx, clickhouse.Parameters{"aside": fmt.Sprint(database, "_", s.databases)}), statement("put_database_aside"))
	}
	if err == nil {
		err = s.admin.Exec(ctx, statement("create_database"))
	}
	if err != nil {
		return "", fmt.Errorf("make a fresh database: %w", err)
	}
	s.databases++
	return InDatabase(s.engine.ClickHouseDSN(), database)
}

// dropStreams drops the streams that an earlier run left in the same data folder. These streams
// have other events than this run.
func dropStreams(ctx context.Context, js jetstream.JetStream) error {
	names := js.StreamNames(ctx)
	for name := range names.Name() {
		if err := js.DeleteStream(ctx, name); err != nil {
			return fmt.Errorf("drop the stream %s of an earlier run: %w", name, err)
		}
	}
	if err := names.Err(); err != nil {
		return fmt.Errorf("list the streams of an earlier run: %w", err)
	}
	return nil
}

// dropDatabases drops the databases that an earlier run left in the same data folder.
func (s *servers) dropDatabases(ctx context.Context) error {
	var names []string
	if err := s.admin.QueryRow(ctx, statement("databases")).Scan(&names); err != nil {
		return err
	}
	for _, name := range names {
		if err := dropDatabase(ctx, s.admin, name); err != nil {
			return err
		}
	}
	return nil
}

// connect opens ClickHouse like the ledger on one machine: without compression on the network.
func connect(dsn string) (driver.Conn, error) {
	options, err := clickhouse.ParseDSN(dsn)
	if err != nil {
		return nil, errors.New("open ClickHouse: the address is not valid")
	}
	options.DialTimeout = 10 * time.Second
	conn, err := clickhouse.Open(options)
	if err != nil {
		return nil, fmt.Errorf("open ClickHouse: %w", err)
	}
	return conn, nil
}

// settle waits until no merge runs. Deferred work therefore does not affect the next round or the
// figures of this round.
func (s *servers) settle(ctx context.Context) error {
	const calm, patience = 500 * time.Millisecond, 2 * time.Minute
	since, deadline := time.Now(), time.Now().Add(patience)
	for time.Since(since) < calm && time.Now().Before(deadline) {
		var merges uint64
		if err := s.admin.QueryRow(ctx, statement("running_merges")).Scan(&merges); err != nil {
			return fmt.Errorf("wait for merges: %w", err)
		}
		if merges > 0 {
			since = time.Now()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}
