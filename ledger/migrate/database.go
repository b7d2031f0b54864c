package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// A database is the database of a connection, with its recorded state.
type database struct {
	conn      driver.Conn
	name      string
	recorded  []uint32 // numbers of changes
	relations []string // tables and views
	digests   map[string]string
}

// codeUnknownDatabase is the server's error for a database that does not exist.
const codeUnknownDatabase = 81

// Recorded returns the numbers of the changes that the database has, in order. It has none without the table
// migrations. To ask for the table first keeps an error with its stack trace out of the server's log.
func Recorded(ctx context.Context, conn driver.Conn) (versions []uint32, err error) {
	var has uint8
	err = conn.QueryRow(ctx, "EXISTS TABLE migrations").Scan(&has)
	if err == nil && has == 1 {
		err = conn.QueryRow(ctx, statement("recorded")).Scan(&versions)
	}
	var server *clickhouse.Exception
	if errors.As(err, &server) && server.Code == codeUnknownDatabase {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return versions, nil
}

// look reads the state of a database.
func look(ctx context.Context, conn driver.Conn) (*database, error) {
	d := &database{conn: conn}
	var err error
	if d.recorded, err = Recorded(ctx, conn); err != nil {
		return nil, err
	}
	if err := conn.QueryRow(ctx, statement("state")).Scan(&d.name, &d.relations); err != nil {
		return nil, fmt.Errorf("list tables and views: %w", err)
	}
	if !d.has("definitions") {
		return d, nil
	}
	if err := conn.QueryRow(ctx, statement("digests")).Scan(&d.digests); err != nil {
		return nil, fmt.Errorf("read definitions: %w", err)
	}
	return d, nil
}

func (d *database) has(relation string) bool { return slices.Contains(d.relations, relation) }

// fresh reports whether nothing was ever made in the database but perhaps the table of
// the numbers.
func (d *database) fresh() bool {
	return len(d.recorded) == 0 && !slices.ContainsFunc(d.relations, func(name string) bool { return name != "migrations" })
}

// exec executes statements after it replaced {database} by the name of the database.
func (d *database) exec(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if err := d.conn.Exec(ctx, strings.ReplaceAll(s, ownDatabase, "`"+d.name+"`")); err != nil {
			return err
		}
	}
	return nil
}

// record notes changes and digests, the digests first: a change is applied again until
// its number is there.
func (d *database) record(ctx context.Context, changes []change, digests map[string]string) error {
	var versions []uint32
	var names, files, sums []string
	for _, c := range changes {
		versions, names = append(versions, c.version), append(names, c.name)
		if c.file != "" {
			files, sums = append(files, c.file), append(sums, c.digest)
		}
	}
	for name, digest := range digests {
		files, sums = append(files, name), append(sums, digest)
	}
	if len(files) > 0 {
		if err := d.conn.Exec(ctx, statement("record_digests"), clickhouse.Named("names", files), clickhouse.Named("digests", sums)); err != nil {
			return fmt.Errorf("record digests: %w", err)
		}
	}
	if len(versions) > 0 {
		if err := d.conn.Exec(ctx, statement("record_changes"), clickhouse.Named("versions", versions), clickhouse.Named("names", names)); err != nil {
			return fmt.Errorf("record changes: %w", err)
		}
	}
	return nil
}
