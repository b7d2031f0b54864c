package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

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
//  1. [Prepare] checks everything: every shard is there once, has the macro of its number, the
//     version of the first one, and the same list of shards. No database is of a later version, of
//     another cluster or of another shard. Nothing is changed until here.
//  2. Each shard gets what a plain ledger gets.
//  3. The definitions of all shards are compared. A new shard gets the prices and limits of another.
//  4. Each shard gets its membership; see the package comment.
//
// It may be repeated, also after an interruption.
type Migration struct {
	cluster string
	shards  []Shard
	hosts   []*host
}

// Prepare does step 1. dsn is the address of any shard. Errors: [ErrCluster], or an error of the
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
		h, err := openHost(ctx, dsn, database, s)
		if err != nil {
			return nil, err
		}
		others := m.hosts
		m.hosts = append(m.hosts, h)
		if err := h.check(ctx, cluster, m.shards, others); err != nil {
			return nil, fmt.Errorf("%w: %s %w", ErrCluster, s, err)
		}
	}
	return m, nil
}

// Close gives the connections back.
func (m *Migration) Close() {
	for _, h := range m.hosts {
		h.close()
	}
}

// Run does steps 2 to 4. told receives each change.
func (m *Migration) Run(ctx context.Context, told func(what string)) error {
	for _, h := range m.hosts {
		if err := h.migrate(ctx, told); err != nil {
			return fmt.Errorf("%s: %w", h.shard, err)
		}
	}
	for _, h := range m.hosts[1:] {
		if err := h.compare(ctx, m.hosts[0]); err != nil {
			return fmt.Errorf("%s %w", h.shard, err)
		}
	}
	if err := m.share(ctx, told); err != nil {
		return err
	}
	for _, h := range m.hosts {
		own := Membership{Cluster: m.cluster, Own: h.shard.Number, Version: migrate.Latest(), Shards: m.shards}
		if err := h.record(ctx, &own, told); err != nil {
			return fmt.Errorf("%s: %w", h.shard, err)
		}
	}
	return nil
}

// share copies to each new shard the prices and limits of a shard that has a membership. Everything else
// that the shards share is asked of all of them. Repeated rows collapse.
func (m *Migration) share(ctx context.Context, told func(string)) error {
	var from *host
	var fresh []*host
	for _, h := range m.hosts {
		own, err := Of(ctx, h.ledger)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", h.shard, err)
		case own == nil:
			fresh = append(fresh, h)
		case from == nil:
			from = h
		}
	}
	if from == nil {
		return nil
	}
	for _, h := range fresh {
		for _, table := range []string{"prices", "limits"} {
			of := chsql.Params{"table": chsql.Text(table)}
			if err := from.ledger.SQL(files).Copy(ctx, "all_rows", of, h.ledger.SQL(files), "insert_rows", of); err != nil {
				return fmt.Errorf("copy %s from %s to %s: %w", table, from.shard, h.shard, err)
			}
		}
		told(fmt.Sprintf("copied prices and limits from %s to %s", from.shard, h.shard))
	}
	return nil
}

// listShards reads the shards of a cluster from the configuration of a server.
func listShards(ctx context.Context, l *ledger.Ledger, cluster string) (shards []Shard, err error) {
	db := l.SQL(files)
	for row := range db.Rows(ctx, "hosts", chsql.Params{"cluster": chsql.Text(cluster)}) {
		var s Shard
		var replica uint32
		if err := row.Scan(&s.Number, &replica, &s.Host, &s.Port); err != nil {
			return nil, fmt.Errorf("read system.clusters: %w", err)
		}
		if replica > 1 {
			return nil, fmt.Errorf("%w: shard %d has the replica %s, and this version keeps each shard on one server", ErrCluster, s.Number, s.address())
		}
		if at := slices.IndexFunc(shards, func(o Shard) bool { return o.address() == s.address() }); at >= 0 {
			return nil, fmt.Errorf("%w: %s is both shard %d and shard %d in remote_servers", ErrCluster, s.address(), shards[at].Number, s.Number)
		}
		shards = append(shards, s)
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

// A host is a shard during a migration.
type host struct {
	shard    Shard
	dsn      string
	server   *ledger.Ledger // its database system
	ledger   *ledger.Ledger // nil while its database is missing
	database string
	version  string // of the server
	macro    string
}

// openHost connects to a shard.
func openHost(ctx context.Context, dsn, database string, s Shard) (*host, error) {
	own, err := s.DSN(dsn)
	if err != nil {
		return nil, err
	}
	h := &host{shard: s, dsn: own, database: database}
	if h.server, _, err = ledger.OpenServer(ctx, own); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrCluster, s, err)
	}
	return h, nil
}

func (h *host) close() {
	h.server.Close()
	if h.ledger != nil {
		h.ledger.Close()
	}
}

// check changes nothing. others are the shards that were checked before.
func (h *host) check(ctx context.Context, cluster string, shards []Shard, others []*host) error {
	db := h.server.SQL(files)
	var macro *string
	var present bool
	if err := db.Row(ctx, "server", chsql.Params{"database": chsql.Text(h.database)}).Scan(&h.version, &macro, &present); err != nil {
		return fmt.Errorf("does not tell its macros: %w", err)
	}
	if macro == nil {
		return errors.New("has no macro shard: add <macros><shard>N</shard></macros> with its number to its configuration")
	}
	h.macro = *macro
	for _, o := range others {
		if o.macro == h.macro {
			return fmt.Errorf("has the macro shard %s, as %s has", h.macro, o.shard)
		}
		if o.version != h.version {
			return fmt.Errorf("is ClickHouse %s, and %s is ClickHouse %s", h.version, o.shard, o.version)
		}
	}
	if number, err := strconv.ParseUint(h.macro, 10, 32); err != nil || uint32(number) != h.shard.Number {
		return fmt.Errorf("has the macro shard %s, and remote_servers has it as %d", h.macro, h.shard.Number)
	}
	listed, err := listShards(ctx, h.server, cluster)
	if err != nil {
		return fmt.Errorf("has another configuration: %w", err)
	}
	if !slices.Equal(listed, shards) {
		return fmt.Errorf("has another list of shards in remote_servers: %v", listed)
	}
	if !present {
		return nil
	}
	return h.checkDatabase(ctx, cluster, shards)
}

// checkDatabase checks a database that exists.
func (h *host) checkDatabase(ctx context.Context, cluster string, shards []Shard) (err error) {
	if h.ledger, err = ledger.Open(ctx, h.dsn); err != nil {
		return err
	}
	if err := migrate.Check(ctx, h.ledger.SQL(files).Conn); err != nil {
		return fmt.Errorf("cannot be upgraded: %w", err)
	}
	m, err := Of(ctx, h.ledger)
	switch {
	case err != nil:
		return err
	case m == nil:
		return nil
	case m.Cluster != cluster || m.Own != h.shard.Number:
		return fmt.Errorf("has the tables of shard %d of the cluster %s", m.Own, m.Cluster)
	}
	for _, was := range m.Shards {
		if !slices.ContainsFunc(shards, func(s Shard) bool { return s.Number == was.Number }) {
			return fmt.Errorf("knows %s, which remote_servers does not have: its sessions would be missing", was)
		}
	}
	return nil
}

// migrate makes or upgrades the tables of one shard.
func (h *host) migrate(ctx context.Context, told func(string)) error {
	if h.ledger == nil {
		if err := ledger.CreateDatabase(ctx, h.dsn); err != nil {
			return err
		}
		told(fmt.Sprintf("created the database on %s", h.shard))
		l, err := ledger.Open(ctx, h.dsn)
		if err != nil {
			return err
		}
		h.ledger = l
	}
	applied, err := shadow.Of(h.ledger).Migrate(ctx)
	for _, name := range applied {
		told(fmt.Sprintf("applied %s on %s", name, h.shard))
	}
	return err
}

// compare compares the tables and views of two shards.
func (h *host) compare(ctx context.Context, with *host) error {
	own, err := h.definitions(ctx)
	if err != nil {
		return err
	}
	other, err := with.definitions(ctx)
	if err != nil {
		return err
	}
	names := make(map[string]bool)
	for name := range own {
		names[name] = true
	}
	for name := range other {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if own[name] != other[name] {
			return fmt.Errorf("has another definition of %s than %s: make them equal, and run it again", name, with.shard)
		}
	}
	return nil
}

func (h *host) definitions(ctx context.Context) (map[string]string, error) {
	found := make(map[string]string)
	for row := range h.ledger.SQL(files).Rows(ctx, "definitions", nil) {
		var name, definition string
		if err := row.Scan(&name, &definition); err != nil {
			return nil, fmt.Errorf("does not tell its definitions: %w", err)
		}
		found[name] = definition
	}
	return found, nil
}

// record writes the membership of a shard, unless it is recorded.
func (h *host) record(ctx context.Context, m *Membership, told func(string)) error {
	db := h.ledger.SQL(files)
	if err := createMoves(ctx, db); err != nil {
		return err
	}
	recorded, err := Of(ctx, h.ledger)
	if err != nil || m.equal(recorded) {
		return err
	}
	if err := db.Exec(ctx, "create_record", nil); err != nil {
		return fmt.Errorf("create the table cluster_shards: %w", err)
	}
	var numbers, ports []uint64
	var hosts []string
	for _, s := range m.Shards {
		numbers, hosts, ports = append(numbers, uint64(s.Number)), append(hosts, s.Host), append(ports, uint64(s.Port))
	}
	err = db.Exec(ctx, "write_record", chsql.Params{
		"cluster": chsql.Text(m.Cluster), "own": chsql.Number(m.Own), "version": chsql.Text(m.Version),
		"numbers": chsql.Numbers(numbers), "hosts": chsql.Texts(hosts), "ports": chsql.Numbers(ports),
	})
	if err != nil {
		return fmt.Errorf("record the shards of the cluster: %w", err)
	}
	told(fmt.Sprintf("recorded the cluster %s on %s", m.Cluster, h.shard))
	return nil
}
