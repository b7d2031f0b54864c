package cluster

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/migrate"
)

const (
	// allSuffix is added to the name of the database for that of the tables over all shards.
	allSuffix = "_all"
	// allMark begins the comment of that database. A database without it is of somebody else.
	allMark = "all shards, for reading; "
)

// All makes on every server a database of Distributed tables, after Run: ctxledger_all for ctxledger. It has one for
// each table and view whose rows come from the streams. It is for SQL clients, and this program does not read it.
//
// The tables cannot be written: they have no sharding key. A server reads the others by remote_servers. With a secret
// there, the others run the statement as the user who asks. Without one, they take the user that remote_servers
// names. The comment of the database is a digest of its tables. It is written last, so an interrupted call is
// repeated whole. A query that reads the tables goes on when they are made again. told receives each change.
func (m *Migration) All(ctx context.Context, told func(string)) error {
	for _, h := range slices.Concat(m.hosts...) {
		made, err := h.makeAll(ctx, m.cluster)
		if err != nil {
			return fmt.Errorf("%s: make the database %s: %w", h.at, h.database+allSuffix, err)
		}
		if made {
			told(fmt.Sprintf("made the database %s on %s", h.database+allSuffix, h.at))
		}
	}
	return nil
}

// makeAll makes the database on one server, unless it is there with the present columns.
func (h *host) makeAll(ctx context.Context, cluster string) (made bool, err error) {
	db, name := h.ledger.SQL(files), h.database+allSuffix
	digest := fnv.New64a()
	fmt.Fprintln(digest, cluster)
	var tables []string
	for row := range db.Rows(ctx, "all_tables", nil) {
		var table string
		var shape uint64
		if err := row.Scan(&table, &shape); err != nil {
			return false, fmt.Errorf("read system.columns: %w", err)
		}
		fmt.Fprintln(digest, table, shape)
		tables = append(tables, table)
	}
	want := fmt.Sprintf("%sdigest %x", allMark, digest.Sum64())
	var comment string
	var others uint64
	found, err := db.First(ctx, "all_state", chsql.Params{"all": chsql.Text(name), "mark": chsql.Text(allMark)}, &comment, &others)
	switch {
	case err != nil || found && comment == want:
		return false, err
	case others > 0:
		return false, fmt.Errorf("it has %d tables that migrate did not make: rename it", others)
	}
	all := migrate.Quote(name) // these statements take no parameters
	list := []string{"DROP DATABASE IF EXISTS " + all, fmt.Sprintf("CREATE DATABASE %s COMMENT '%sbeing made'", all, allMark)}
	for _, table := range tables {
		list = append(list, fmt.Sprintf("CREATE TABLE %[1]s.%[2]s AS %[3]s.%[2]s ENGINE = Distributed(%[4]s, %[3]s, %[2]s)",
			all, migrate.Quote(table), migrate.Quote(h.database), migrate.Quote(cluster)))
	}
	for _, statement := range append(list, fmt.Sprintf("ALTER DATABASE %s MODIFY COMMENT '%s'", all, want)) {
		if err := db.Conn.Exec(ctx, statement); err != nil {
			return false, err
		}
	}
	return true, nil
}
