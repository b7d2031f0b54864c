package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector/shardmap"
)

// OnClusterError refuses a command that would read or write one shard of a cluster only.
type OnClusterError struct{ cluster.Membership }

func (e *OnClusterError) Error() string {
	return fmt.Sprintf("this ClickHouse is shard %d of the cluster %s, and this command does not work on a cluster yet", e.Own, e.Cluster)
}

// refuseShard refuses a ledger that is a shard.
func refuseShard(ctx context.Context, l *ledger.Ledger) error {
	m, err := cluster.Of(ctx, l)
	if err != nil {
		return err
	}
	if m != nil {
		return &OnClusterError{*m}
	}
	return nil
}

// OpenShards connects until Close to all shards of the cluster that the named ClickHouse is one of,
// as the writer. It returns nil for a plain ledger.
func OpenShards(ctx context.Context, a *App) (*cluster.Ledgers, error) {
	_, all, err := OpenWriters(ctx, a)
	return all, err
}

// OpenWriters connects until Close as the writer: to a plain ledger, or to all shards of a cluster. The
// other result is nil.
func OpenWriters(ctx context.Context, a *App) (*ledger.Ledger, *cluster.Ledgers, error) {
	found, err := a.Addresses()
	if err != nil {
		return nil, nil, err
	}
	return openEither(ctx, a, found.ClickHouseDSN)
}

// OnEvery does the same on the plain ledger, whose name is "", or on every shard of a cluster once all of
// them have answered. The error of a shard names it.
func OnEvery(ctx context.Context, a *App, do func(name string, l *ledger.Ledger) error) error {
	plain, all, err := OpenWriters(ctx, a)
	if err != nil {
		return err
	}
	if all == nil {
		return do("", plain)
	}
	for i, l := range all.All() {
		if err := do(all.Shards[i].String(), l); err != nil {
			return all.Shards[i].Failed(err)
		}
	}
	return nil
}

// OpenReaders connects until Close as a user that only reads where there is one: to a plain ledger, or
// to all shards of a cluster. The other result is nil. It waits while a partition moves to another shard;
// see [Whole].
func OpenReaders(ctx context.Context, a *App) (*ledger.Ledger, *cluster.Ledgers, error) {
	found, err := a.Addresses()
	if err != nil {
		return nil, nil, err
	}
	l, all, err := openEither(ctx, a, found.ReaderDSN)
	if err != nil || all == nil {
		return l, nil, err
	}
	layout, err := all.Layout(ctx)
	a.whole = append(a.whole, func(ctx context.Context) error { return all.Still(ctx, layout) })
	return nil, all, err
}

// Whole returns an error if a partition has moved to another shard since the readers of a command were
// opened. The answer may then lack rows, or have some twice.
func Whole(ctx context.Context, a *App) error {
	for _, check := range a.whole {
		if err := check(ctx); err != nil {
			return err
		}
	}
	return nil
}

func openEither(ctx context.Context, a *App, dsn string) (*ledger.Ledger, *cluster.Ledgers, error) {
	l, all, err := OpenEither(ctx, dsn)
	switch {
	case err != nil:
	case all != nil:
		a.opened = append(a.opened, func() { all.Close() })
	default:
		a.opened = append(a.opened, func() { l.Close() })
	}
	return l, all, err
}

// OpenEither connects to the plain ledger of an address, or to all shards of its cluster. The other result
// is nil. The caller closes the result.
func OpenEither(ctx context.Context, dsn string) (*ledger.Ledger, *cluster.Ledgers, error) {
	l, err := OpenAny(ctx, dsn)
	if err != nil {
		return nil, nil, err
	}
	m, err := cluster.Of(ctx, l)
	if err == nil && m == nil {
		return l, nil, nil
	}
	defer l.Close()
	if err != nil {
		return nil, nil, err
	}
	all, err := cluster.Open(ctx, dsn, *m)
	if errors.Is(err, ledger.ErrUnreachable) {
		err = WithCode(ExitUnreachable, err)
	}
	return nil, all, err
}

// OpenTables connects until Close as the writer to the tables into which the streams are projected: to a
// plain ledger, or to the shards of a cluster. The tables must be current, and the map must fit them.
func OpenTables(ctx context.Context, a *App, js jetstream.JetStream) (shardmap.Tables, error) {
	return openTables(ctx, a, js, func(m shardmap.Map, shards *cluster.Ledgers) error { return m.Check(ctx, js, shards) })
}

// OpenRestored is OpenTables for a restore, which replaces the map and the streams. The map may not fit them.
func OpenRestored(ctx context.Context, a *App, js jetstream.JetStream) (shardmap.Tables, error) {
	t, err := openTables(ctx, a, js, func(shardmap.Map, *cluster.Ledgers) error { return nil })
	if errors.Is(err, shadow.ErrRestoring) { // this run finishes it
		err = nil
	}
	return t, err
}

func openTables(ctx context.Context, a *App, js jetstream.JetStream, check func(shardmap.Map, *cluster.Ledgers) error) (t shardmap.Tables, err error) {
	m, err := shardmap.Read(ctx, js)
	if errors.Is(err, shardmap.ErrNoMap) {
		l, err := a.OpenMigrated(ctx)
		var shard *OnClusterError
		if errors.As(err, &shard) {
			return t, shardmap.ErrNoMap
		}
		return shardmap.Plain(l), err
	}
	if err != nil {
		return t, err
	}
	shards, err := OpenShardsMigrated(ctx, a, m.Cluster)
	if err != nil {
		return t, err
	}
	return m.Tables(shards), check(m, shards)
}

// OpenWritersMigrated is [OpenWriters] for current tables.
func OpenWritersMigrated(ctx context.Context, a *App) (*ledger.Ledger, *cluster.Ledgers, error) {
	l, err := a.OpenMigrated(ctx)
	var shard *OnClusterError
	if !errors.As(err, &shard) {
		return l, nil, err
	}
	all, err := OpenShardsMigrated(ctx, a, shard.Cluster)
	return nil, all, err
}

// OpenShardsMigrated is OpenShards for the cluster of that name, with current tables on every shard.
func OpenShardsMigrated(ctx context.Context, a *App, name string) (*cluster.Ledgers, error) {
	all, err := OpenShards(ctx, a)
	switch {
	case err != nil:
		return nil, err
	case all == nil:
		return nil, fmt.Errorf("the streams are laid out for the cluster %s, and this ClickHouse is not one of its shards: give the address of one", name)
	}
	for i, l := range all.All() {
		pending, err := shadow.Of(l).Pending(ctx)
		if err != nil {
			return nil, all.Shards[i].Failed(err)
		}
		if len(pending) > 0 {
			return nil, fmt.Errorf("the tables of %s are of an older version: run `ctxledger migrate --cluster %s`", all.Shards[i], all.Cluster)
		}
	}
	return all, nil
}
