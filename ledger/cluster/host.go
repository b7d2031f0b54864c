package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/migrate"
)

const (
	replicaPatience = 10 * time.Minute // a mutation writes columns of all rows again
	replicaPause    = 200 * time.Millisecond
)

// A host is a server during a migration.
type host struct {
	at       Server
	replicas int // of its shard, with itself
	dsn      string
	system   *ledger.Ledger // its database system
	ledger   *ledger.Ledger // nil while its database is missing
	database string
	facts    serverFacts
}

// serverFacts is what a server says of itself.
type serverFacts struct {
	version        string
	shard, replica *string // macros; nil without one
	keeper         bool    // it has one
	present        bool    // the database is there
}

// openHost connects to a server.
func openHost(ctx context.Context, dsn, database string, at Server, replicas int) (*host, error) {
	own, err := at.DSN(dsn)
	if err != nil {
		return nil, err
	}
	h := &host{at: at, replicas: replicas, dsn: own, database: database}
	if h.system, _, err = ledger.OpenServer(ctx, own); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrCluster, at, err)
	}
	return h, nil
}

func (h *host) close() {
	h.system.Close()
	if h.ledger != nil {
		h.ledger.Close()
	}
}

// open connects to the database.
func (h *host) open(ctx context.Context) (err error) {
	if h.replicas == 1 {
		h.ledger, err = ledger.Open(ctx, h.dsn)
	} else {
		h.ledger, err = ledger.OpenReplicas(ctx, h.dsn, h.replicas, h.at.address())
	}
	return err
}

// check changes nothing. others are the servers that were checked before.
func (h *host) check(ctx context.Context, cluster string, shards []Shard, others []*host) error {
	f := &h.facts
	params := chsql.Params{"database": chsql.Text(h.database)}
	if err := h.system.SQL(files).Row(ctx, "server", params).Scan(&f.version, &f.shard, &f.replica, &f.keeper, &f.present); err != nil {
		return fmt.Errorf("does not tell its macros: %w", err)
	}
	if err := h.checkFacts(others); err != nil {
		return err
	}
	listed, err := listShards(ctx, h.system, cluster)
	if err != nil {
		return fmt.Errorf("has another configuration: %w", err)
	}
	if !slices.EqualFunc(listed, shards, Shard.equal) {
		return fmt.Errorf("has another list of shards in remote_servers: %v", listed)
	}
	if f.present {
		return h.checkDatabase(ctx, cluster, shards)
	}
	return nil
}

// checkFacts compares the version and the macros of the server with those of the others.
func (h *host) checkFacts(others []*host) error {
	f := h.facts
	if f.shard == nil {
		return errors.New("has no macro shard: add <macros><shard>N</shard></macros> with its number to its configuration")
	}
	for _, o := range others {
		if o.at.Shard != h.at.Shard && *o.facts.shard == *f.shard {
			return fmt.Errorf("has the macro shard %s, as %s has", *f.shard, o.at)
		}
		if o.facts.version != f.version {
			return fmt.Errorf("is ClickHouse %s, and %s is ClickHouse %s", f.version, o.at, o.facts.version)
		}
	}
	if number, err := strconv.ParseUint(*f.shard, 10, 32); err != nil || uint32(number) != h.at.Shard {
		return fmt.Errorf("has the macro shard %s, and remote_servers has it as %d", *f.shard, h.at.Shard)
	}
	if h.replicas == 1 {
		return nil
	}
	if f.replica == nil || *f.replica == "" {
		return errors.New("has no macro replica: add <macros><replica>NAME</replica></macros> with a name of its own to its configuration")
	}
	for _, o := range others {
		if o.at.Shard == h.at.Shard && *o.facts.replica == *f.replica {
			return fmt.Errorf("has the macro replica %s, as %s has: give each replica of a shard a name of its own", *f.replica, o.at)
		}
	}
	return nil
}

// checkDatabase checks a database that exists.
func (h *host) checkDatabase(ctx context.Context, cluster string, shards []Shard) (err error) {
	if err := h.open(ctx); err != nil {
		return err
	}
	if err := migrate.Check(ctx, h.ledger.SQL(files).Conn); err != nil {
		return fmt.Errorf("cannot be upgraded: %w", err)
	}
	var other string
	if _, err := h.ledger.SQL(files).First(ctx, "other_engine", chsql.Params{"replicated": chsql.Bool(h.replicas > 1)}, &other); err != nil {
		return fmt.Errorf("does not tell its tables: %w", err)
	}
	switch {
	case other != "" && h.replicas > 1:
		return fmt.Errorf("has the table %s, which is not replicated, and no command changes that: give an address with the name of a new database", other)
	case other != "":
		return fmt.Errorf("has the table %s, which is replicated, but remote_servers has one server for each shard: name at least two", other)
	}
	m, err := Of(ctx, h.ledger)
	switch {
	case err != nil:
		return err
	case m == nil:
		return nil
	case m.Cluster != cluster || m.Own != h.at.Shard:
		return fmt.Errorf("has the tables of shard %d of the cluster %s", m.Own, m.Cluster)
	}
	for _, was := range m.Shards {
		now := slices.IndexFunc(shards, func(s Shard) bool { return s.Number == was.Number })
		if now < 0 {
			return fmt.Errorf("knows %s, which remote_servers does not have: its sessions would be missing", was)
		}
		if h.replicas > 1 && !slices.ContainsFunc(was.Servers, func(s Server) bool { return slices.Contains(shards[now].Servers, s) }) {
			return fmt.Errorf("knows %s, and remote_servers has none of these servers: its sessions would be missing", was)
		}
	}
	return nil
}

// create makes the database if it is missing.
func (h *host) create(ctx context.Context, told func(string)) error {
	if h.ledger != nil {
		return nil
	}
	if err := ledger.CreateDatabase(ctx, h.dsn); err != nil {
		return err
	}
	told(fmt.Sprintf("created the database on %s", h.at))
	return h.open(ctx)
}

// createTable makes a table of this package, by the name of its statement.
func (h *host) createTable(ctx context.Context, name, cluster string) (err error) {
	db := h.ledger.SQL(files)
	statement := db.Text(name)
	if h.replicas > 1 {
		if statement, err = migrate.Replicated(statement, migrate.KeeperPath(cluster, h.database, tableNames[name])); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := db.Conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("create the table %s: %w", tableNames[name], err)
	}
	return nil
}

// tableNames are the tables of this package, by their statements.
var tableNames = map[string]string{"create_moves": "cluster_moves", "create_record": "cluster_shards"}

// await waits until the server has done all mutations, and has the rows and definitions of other replicas.
func (h *host) await(ctx context.Context, patience time.Duration) error {
	for deadline := time.Now().Add(patience); ; {
		var table, why string
		found, err := h.ledger.SQL(files).First(ctx, "unfinished", nil, &table, &why)
		if err != nil {
			return fmt.Errorf("look for unfinished changes: %w", err)
		}
		if !found {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the table %s is not finished: %s; run it again when it is", table, why)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(replicaPause):
		}
	}
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
			return fmt.Errorf("has another definition of %s than %s: make them equal, and run it again", name, with.at)
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
