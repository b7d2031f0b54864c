package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/migrate"
	"github.com/ctxledger/ctxledger/ledger/shadow"
)

// ErrCluster is wrapped by every error about the configuration of a cluster. Its text names the
// host. Nothing was changed.
var ErrCluster = errors.New("the cluster cannot be used, and nothing was changed")

// A Migration makes the ledger on every shard of a cluster, or upgrades it:
//
//  1. [Prepare] checks everything: every server is there once, has the macro of its shard, the
//     version of the first one, and the same list of shards. All shards have the same number of
//     servers. Replicas of a shard have a macro replica each, and a Keeper. No database is of a later
//     version, of another cluster or of another shard. Nothing is changed until here.
//  2. Each shard gets what a plain ledger gets. The replicas of a shard get replicated tables; see
//     [migrate.UpReplicas]. Then the migration waits until each replica has done its mutations, and has
//     what the others have.
//  3. The definitions of all servers are compared. A new shard gets the prices and limits of another.
//  4. Each shard gets its membership; see the package comment.
//  5. [Migration.All] makes the database for SQL over all shards.
//  6. [Migration.Readers] makes the databases of tenants' readers. It comes before the map from partitions to
//     shards, so a reader that knows one server finds no rows on another.
//
// It may be repeated, also after an interruption.
type Migration struct {
	cluster string
	shards  []Shard
	hosts   [][]*host // of each shard
}

// Prepare does step 1. dsn is the address of any server. Errors: [ErrCluster], or an error of the
// server of dsn. The caller closes the result.
func Prepare(ctx context.Context, dsn, cluster string) (_ *Migration, err error) {
	first, database, err := ledger.OpenServer(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer first.Close()
	m := &Migration{cluster: cluster}
	if m.shards, err = listShards(ctx, first, cluster); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			m.Close()
		}
	}()
	for _, s := range m.shards {
		m.hosts = append(m.hosts, nil)
		own := &m.hosts[len(m.hosts)-1]
		for _, at := range s.Servers {
			h, err := openHost(ctx, dsn, database, at, len(s.Servers))
			if err != nil {
				return nil, err
			}
			others := slices.Concat(m.hosts...)
			*own = append(*own, h)
			if err := h.check(ctx, cluster, m.shards, others); err != nil {
				return nil, fmt.Errorf("%w: %s %w", ErrCluster, at, err)
			}
		}
	}
	for _, h := range slices.Concat(m.hosts...) {
		if h.replicas > 1 && !h.facts.keeper {
			return nil, fmt.Errorf("%w: %s has no ClickHouse Keeper, which replicas need: add <zookeeper> with the addresses of the Keepers to its configuration", ErrCluster, h.at)
		}
	}
	return m, nil
}

// Close gives the connections back.
func (m *Migration) Close() {
	for _, h := range slices.Concat(m.hosts...) {
		h.close()
	}
}

// Run does steps 2 to 4. told receives each change.
func (m *Migration) Run(ctx context.Context, told func(what string)) error {
	for i, hosts := range m.hosts {
		if err := m.migrate(ctx, m.shards[i], hosts, told); err != nil {
			return fmt.Errorf("%s: %w", m.shards[i], err)
		}
	}
	all := slices.Concat(m.hosts...)
	for _, h := range all[1:] {
		if err := h.compare(ctx, all[0]); err != nil {
			return fmt.Errorf("%s %w", h.at, err)
		}
	}
	if err := m.share(ctx, told); err != nil {
		return err
	}
	for i, hosts := range m.hosts {
		own := Membership{Cluster: m.cluster, Own: m.shards[i].Number, Version: migrate.Latest(), Shards: m.shards}
		if err := record(ctx, &own, m.shards[i], hosts, told); err != nil {
			return fmt.Errorf("%s: %w", m.shards[i], err)
		}
	}
	return nil
}

// CheckReaders returns [ErrCluster] unless every server has a user for the rows of each tenant. It changes
// nothing.
func (m *Migration) CheckReaders(ctx context.Context, tenants []string) error {
	for _, h := range slices.Concat(m.hosts...) {
		if err := migrate.CheckDefiners(ctx, h.system.SQL(files).Conn, tenants...); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrCluster, h.at, err)
		}
	}
	return nil
}

// Readers makes the databases of tenants' readers on every server, after Run; see [migrate.Readers]. A
// tenant with a database on one server gets it on all, because a reader asks all shards.
func (m *Migration) Readers(ctx context.Context, tenants []string, told func(string)) error {
	hosts := slices.Concat(m.hosts...)
	for _, h := range hosts {
		own, err := migrate.ReaderTenants(ctx, h.ledger.SQL(files).Conn)
		if err != nil {
			return fmt.Errorf("%s: %w", h.at, err)
		}
		tenants = append(tenants, own...)
	}
	tenants = slices.Compact(slices.Sorted(slices.Values(tenants)))
	for _, h := range hosts {
		made, err := shadow.Of(h.ledger).Readers(ctx, tenants...)
		for _, name := range made {
			told(fmt.Sprintf("made the database %s on %s", name, h.at))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", h.at, err)
		}
	}
	return nil
}

// migrate makes or upgrades the tables and views of one shard.
func (m *Migration) migrate(ctx context.Context, s Shard, hosts []*host, told func(string)) (err error) {
	for _, h := range hosts {
		if err := h.create(ctx, told); err != nil {
			return err
		}
	}
	var applied []string
	if len(hosts) == 1 {
		applied, err = shadow.Of(hosts[0].ledger).Migrate(ctx)
	} else {
		var conns []driver.Conn
		for _, h := range hosts {
			conns = append(conns, h.ledger.SQL(files).Conn)
		}
		applied, err = migrate.UpReplicas(ctx, m.cluster, conns...)
	}
	for _, name := range applied {
		told(fmt.Sprintf("applied %s on %s", name, s))
	}
	if err != nil || len(hosts) == 1 {
		return err
	}
	for _, h := range hosts {
		if err := h.await(ctx, replicaPatience); err != nil {
			return fmt.Errorf("replica %s: %w", h.at.address(), err)
		}
	}
	return nil
}

// share copies to each new shard the prices and limits of a shard that has a membership. Everything else
// that the shards share is asked of all of them. Repeated rows collapse.
func (m *Migration) share(ctx context.Context, told func(string)) error {
	from := -1
	var fresh []int
	for i, hosts := range m.hosts {
		own, err := Of(ctx, hosts[0].ledger)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", m.shards[i], err)
		case own == nil:
			fresh = append(fresh, i)
		case from < 0:
			from = i
		}
	}
	if from < 0 {
		return nil
	}
	for _, i := range fresh {
		for _, table := range []string{"prices", "limits"} {
			of := chsql.Params{"table": chsql.Text(table)}
			err := m.hosts[from][0].ledger.SQL(files).Copy(ctx, "all_rows", of, m.hosts[i][0].ledger.SQL(files), "insert_rows", of)
			if err != nil {
				return fmt.Errorf("copy %s from %s to %s: %w", table, m.shards[from], m.shards[i], err)
			}
		}
		told(fmt.Sprintf("copied prices and limits from %s to %s", m.shards[from], m.shards[i]))
	}
	return nil
}

// listShards reads the shards of a cluster from the configuration of a server.
func listShards(ctx context.Context, l *ledger.Ledger, cluster string) ([]Shard, error) {
	db := l.SQL(files)
	var servers []Server
	for row := range db.Rows(ctx, "hosts", chsql.Params{"cluster": chsql.Text(cluster)}) {
		var s Server
		if err := row.Scan(&s.Shard, &s.Host, &s.Port); err != nil {
			return nil, fmt.Errorf("read system.clusters: %w", err)
		}
		if at := slices.IndexFunc(servers, func(o Server) bool { return o.address() == s.address() }); at >= 0 {
			return nil, fmt.Errorf("%w: %s is both shard %d and shard %d in remote_servers", ErrCluster, s.address(), servers[at].Shard, s.Shard)
		}
		servers = append(servers, s)
	}
	shards := group(servers)
	for _, s := range shards {
		if n, want := len(s.Servers), len(shards[0].Servers); n != want {
			return nil, fmt.Errorf("%w: %s is on %d servers and %s on %d in remote_servers: give each shard the same number of replicas", ErrCluster, shards[0], want, s, n)
		}
	}
	if len(shards) > 0 {
		return shards, nil
	}
	var known string
	if err := db.Row(ctx, "clusters", nil).Scan(&known); err != nil {
		return nil, fmt.Errorf("read system.clusters: %w", err)
	}
	if known == "" {
		known = "none"
	}
	return nil, fmt.Errorf("%w: remote_servers of this ClickHouse has no cluster %q; it has: %s", ErrCluster, cluster, known)
}

// record writes the membership of a shard, unless it is recorded. Replicas share the rows.
func record(ctx context.Context, m *Membership, s Shard, hosts []*host, told func(string)) error {
	for _, h := range hosts {
		for _, table := range []string{"create_moves", "create_record"} {
			if err := h.createTable(ctx, table, m.Cluster); err != nil {
				return err
			}
		}
	}
	recorded, err := Of(ctx, hosts[0].ledger)
	if err != nil || m.equal(recorded) {
		return err
	}
	var numbers, ports []uint64
	var names []string
	for _, s := range m.Shards {
		for _, at := range s.Servers {
			numbers, names, ports = append(numbers, uint64(at.Shard)), append(names, at.Host), append(ports, uint64(at.Port))
		}
	}
	err = hosts[0].ledger.SQL(files).Exec(ctx, "write_record", chsql.Params{
		"cluster": chsql.Text(m.Cluster), "own": chsql.Number(m.Own), "version": chsql.Text(m.Version),
		"numbers": chsql.Numbers(numbers), "hosts": chsql.Texts(names), "ports": chsql.Numbers(ports),
	})
	if err != nil {
		return fmt.Errorf("record the shards of the cluster: %w", err)
	}
	told(fmt.Sprintf("recorded the cluster %s on %s", m.Cluster, s))
	return nil
}
