package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/bench/mix"
	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// project projects the base into its database, through a separate stream.
func (q *quickSeed) project(ctx context.Context, dsn string) (err error) {
	dir, err := os.MkdirTemp("", "ctxledger-seed-")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	config := embedded.DefaultConfig(dir)
	config.NoClickHouse, config.Log = true, q.config.Log
	servers, err := embedded.Start(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, servers.Close()) }()
	nc, err := nats.Connect(servers.NATSURL(), nats.Name("ctxledger bench seed"))
	if err != nil {
		return fmt.Errorf("connect to NATS: %w", err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("use JetStream: %w", err)
	}
	if _, err := streamio.EnsureStreams(ctx, js); err != nil {
		return err
	}
	corpus := mix.NewCorpus(q.config.corpus(q.base, q.config.span()/time.Duration(q.copies)))
	if err := publishCorpus(ctx, corpus, js, q.config); err != nil {
		return err
	}
	q.span = corpus.Span()
	l, err := q.freshTables(ctx, dsn, seedBase)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return q.drain(ctx, js, l, corpus)
}

// drain projects until the ledger holds the whole base.
func (q *quickSeed) drain(ctx context.Context, js jetstream.JetStream, l *ledger.Ledger, corpus *mix.Corpus) error {
	q.config.progress("projecting", 0, int64(q.base))
	c := projector.DefaultConfig(js, l)
	c.UntilCaughtUp, c.Keys, c.Log = true, corpus.Keys, q.config.Log
	p, err := projector.New(c)
	if err != nil {
		return err
	}
	if err = p.Run(ctx); err == nil {
		err = context.Cause(ctx) // an interrupted projector returns no error
	}
	if err != nil {
		return fmt.Errorf("project the base: %w", err)
	}
	if st := p.Status(); st.Events != uint64(q.base) {
		return fmt.Errorf("project the base: of %d events %d are in the ledger, %d in quarantine, %d duplicates", q.base, st.Events, st.Quarantined, st.Duplicates)
	}
	return nil
}

// freshTables drops a database and creates it again with empty tables.
func (q *quickSeed) freshTables(ctx context.Context, dsn, database string) (*ledger.Ledger, error) {
	dsn, err := InDatabase(dsn, database)
	if err != nil {
		return nil, err
	}
	if err := dropDatabase(ctx, q.conn, database); err != nil {
		return nil, err
	}
	if err := ledger.CreateDatabase(ctx, dsn); err != nil {
		return nil, err
	}
	l, err := ledger.Open(ctx, dsn)
	if err != nil {
		return nil, err
	}
	if _, err := shadow.Of(l).Migrate(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}
