package ledger

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
)

const (
	// quorumTimeLimit bounds the time that an insert waits for the other replicas.
	quorumTimeLimit = 4 * time.Second
	// turnPatience bounds the time that a commit waits for other commits of the shard. With commitTimeLimit
	// it stays below insertTimeLimit.
	turnPatience = 2 * time.Second
	turnPause    = 20 * time.Millisecond
	// commitTimeLimit bounds one insert of a commit on the server, after its turn has come.
	commitTimeLimit = "5" // seconds
)

const tableOfCommits = "commits"

// replicaSettings are the settings of a writer of n replicas. A statement that changes rows or tables returns
// once all replicas have the change.
func replicaSettings(n int) clickhouse.Settings {
	return clickhouse.Settings{
		"insert_quorum": n, "insert_quorum_timeout": quorumTimeLimit.Milliseconds(), "insert_quorum_parallel": 1,
		"select_sequential_consistency": 1, "mutations_sync": 2, "lightweight_deletes_sync": 2, "alter_sync": 2,
	}
}

// replicas are the servers that have the same rows. Nil is a single server.
type replicas struct {
	addrs []string
	turn  chan struct{} // held by the commit that is written
}

// OpenReplicas is [Open] for a shard that n servers have. addrs are the addresses of some or all of them; the
// first one that answers is used. A user that may write gets settings by which each statement returns
// once all n replicas have what it changed. It fails while one of them is down.
func OpenReplicas(ctx context.Context, dsn string, n int, addrs ...string) (*Ledger, error) {
	at := func(o *clickhouse.Options) { o.Addr = addrs }
	l, err := open(ctx, dsn, at)
	if err != nil {
		return nil, err
	}
	readonly, err := l.ReadOnly(ctx)
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("ask for the rights of the user: %w", err)
	}
	if readonly != "0" {
		return l, nil
	}
	l.Close()
	l, err = open(ctx, dsn, func(o *clickhouse.Options) {
		at(o)
		if o.Settings == nil {
			o.Settings = clickhouse.Settings{}
		}
		maps.Copy(o.Settings, replicaSettings(n))
	})
	if err != nil {
		return nil, err
	}
	l.replicas = &replicas{addrs, make(chan struct{}, 1)}
	return l, nil
}

// Replicated reports whether l is a writer of several servers that have the same rows.
func Replicated(l *Ledger) bool { return l.replicas != nil }

// PingReplicas returns the error of the first server of the shard that does not answer. The error names it.
func PingReplicas(ctx context.Context, l *Ledger) error {
	return onReplicas(ctx, l, func(one *Ledger) error { return one.Ping(ctx) })
}

// inTurn inserts a block. A row of commits is inserted on replicas one after the other, because the server
// refuses it while an earlier one has not reached all of them. A refused insert has stored nothing.
func (r *replicas) inTurn(ctx context.Context, table string, insert func() error) error {
	if r == nil || table != tableOfCommits {
		return insert()
	}
	ctx, cancel := context.WithTimeout(ctx, turnPatience)
	defer cancel()
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%w: wait for other commits of the shard: %w", ErrUnreachable, ctx.Err())
	}
	defer func() { <-r.turn }()
	for {
		err := insert()
		if !hasCode(err, chsql.CodeEarlierQuorum) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(turnPause):
		}
	}
}

// ordered returns the settings by which the replicas get the rows of a table in one order, and the limit of
// its insert. A plain table has no such settings.
func (r *replicas) ordered(table string) (limit string, settings []ch.Setting) {
	if r == nil || table != tableOfCommits {
		return insertTimeLimit, nil
	}
	return commitTimeLimit, []ch.Setting{{Key: "insert_quorum_parallel", Value: "0", Important: true}}
}

// onReplicas does the same on each replica, one after the other, or on the only server. The error of a
// replica names it.
func onReplicas(ctx context.Context, l *Ledger, do func(one *Ledger) error) error {
	if l.replicas == nil {
		return do(l)
	}
	for _, addr := range l.replicas.addrs {
		if err := onReplica(ctx, l, addr, do); err != nil {
			return fmt.Errorf("replica %s: %w", addr, err)
		}
	}
	return nil
}

func onReplica(ctx context.Context, l *Ledger, addr string, do func(one *Ledger) error) error {
	options := *l.options
	options.Addr = []string{addr}
	one, err := pools(&options)
	if err != nil {
		return err
	}
	defer one.Close()
	return do(one)
}

// fetch waits until this replica has the rows that the others have now.
func fetch(ctx context.Context, l *Ledger) error {
	for _, table := range append(Tables(), tableOfCommits, "retold") {
		if err := l.sql.Exec(ctx, "fetch", chsql.Params{"table": chsql.Text(table)}); err != nil {
			return fmt.Errorf("wait for the rows of %s that other replicas have: %w", table, err)
		}
	}
	return nil
}
