package migrate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
)

// ErrNoDefiner means that the server has no user with the rows of a tenant. The configuration of
// the server has to be changed.
var ErrNoDefiner = errors.New("the server has no user for the tenant's rows")

// readerTables are the tables that named queries read. The database of a tenant's reader has a
// view for each.
var readerTables = strings.Fields("calls decisions events items log_items missing placements prices redactions replacements retold windows")

// The readers of a cluster also need these tables of a shard. Without clusterRecords, a reader would take
// one shard for the whole. Statements that merge answers read clusterTables.
var (
	clusterRecords = strings.Fields("cluster_moves cluster_shards")
	clusterTables  = strings.Fields("quarantine reintroductions scopes")
)

// materialized are columns that * leaves out, by table. Those statements also read them.
var materialized = map[string]string{"events": "declaration"}

// Readers makes the databases of the readers of tenants, and renews the existing ones after a
// change of a view. Such a database has one view for each view of the ledger, and one for each
// table that a named query reads. The definer of the views is the user rows_<tenant>, which has
// the row filters of the tenant. The reader needs no right on the ledger's own database. Readers
// returns the names of the databases that it made or renewed.
//
// The call may be repeated at any time. A view is replaced in one step, and queries do not
// notice. An interrupted call is finished by the next. Errors: [ErrNoDefiner], or an error of the
// server. One tenant's error does not stop the others.
func Readers(ctx context.Context, conn driver.Conn, tenants ...string) ([]string, error) {
	found, err := readReaders(ctx, conn)
	if err != nil {
		return nil, err
	}
	digest := current().readerDigest(found.records)
	for i, tenant := range found.tenants() {
		if found.digests[i] != digest && !slices.Contains(tenants, tenant) {
			tenants = append(tenants, tenant)
		}
	}
	if len(tenants) == 0 {
		return nil, nil
	}
	users, err := definers(ctx, conn)
	if err != nil {
		return nil, err
	}
	var renewed []string
	var failed []error
	for _, tenant := range tenants {
		name := chsql.ReaderDatabase(found.own, tenant)
		at := slices.Index(found.existing, name)
		if at >= 0 && found.digests[at] == digest {
			continue
		}
		if err := checkDefiner(users, tenant); err != nil {
			failed = append(failed, err)
			continue
		}
		r := readerDatabase{conn: conn, ledger: found.own, name: name, tenant: tenant, records: found.records}
		if err := r.make(ctx, current(), digest); err != nil {
			failed = append(failed, fmt.Errorf("make the database %s: %w", name, err))
			if at < 0 { // nothing half done
				failed = append(failed, conn.Exec(context.WithoutCancel(ctx), "DROP DATABASE IF EXISTS "+Quote(name)))
			}
			continue
		}
		renewed = append(renewed, name)
	}
	return renewed, errors.Join(failed...)
}

// ReaderTenants returns the tenants whose reader has a database.
func ReaderTenants(ctx context.Context, conn driver.Conn) ([]string, error) {
	found, err := readReaders(ctx, conn)
	return found.tenants(), err
}

// CheckDefiners returns [ErrNoDefiner] unless the server has a user for the rows of each tenant.
func CheckDefiners(ctx context.Context, conn driver.Conn, tenants ...string) error {
	users, err := definers(ctx, conn)
	for _, tenant := range tenants {
		if err == nil {
			err = checkDefiner(users, tenant)
		}
	}
	return err
}

func checkDefiner(users []string, tenant string) error {
	if slices.Contains(users, "rows_"+tenant) {
		return nil
	}
	return fmt.Errorf("%w %s: write the configuration of ClickHouse with `ctxledger deploy clickhouse --tenant %s`, restart the server, and run it again", ErrNoDefiner, tenant, tenant)
}

func definers(ctx context.Context, conn driver.Conn) (users []string, err error) {
	if err := conn.QueryRow(ctx, statement("definers")).Scan(&users); err != nil {
		return nil, fmt.Errorf("list the users of the server: %w", err)
	}
	return users, nil
}

// readers are the databases of readers next to a ledger.
type readers struct {
	own               string   // the ledger's database
	existing, digests []string // of readers
	records           []string // those of clusterRecords that the ledger has; none for a plain ledger
}

func readReaders(ctx context.Context, conn driver.Conn) (r readers, err error) {
	if err := conn.QueryRow(ctx, statement("readers"), clickhouse.Named("mark", chsql.ReaderDatabase("", "")), clickhouse.Named("records", clusterRecords)).Scan(&r.own, &r.existing, &r.digests, &r.records); err != nil {
		return r, fmt.Errorf("list the databases of readers: %w", err)
	}
	if chsql.IsReaderDatabase(r.own) {
		return r, fmt.Errorf("the database %s is of a tenant's reader: use the address of the ledger", r.own)
	}
	return r, nil
}

func (r readers) tenants() (list []string) {
	for _, name := range r.existing {
		list = append(list, strings.TrimPrefix(name, chsql.ReaderDatabase(r.own, "")))
	}
	return list
}

// readerDigest covers everything that the databases of readers are made from. records are the tables of
// [readers].
func (r *release) readerDigest(records []string) string {
	h := sha256.New()
	for _, t := range r.tables {
		fmt.Fprintln(h, t.name, t.statement)
	}
	for _, d := range r.definitions {
		fmt.Fprintln(h, d.name, d.digest)
	}
	fmt.Fprintln(h, r.views, readerTables)
	if len(records) > 0 {
		fmt.Fprintln(h, records, clusterTables, materialized)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// readerDatabase is the database of a tenant's reader.
type readerDatabase struct {
	conn                 driver.Conn
	ledger, name, tenant string
	records              []string // see readers
}

// make makes or replaces every view. The comment of the database, written last, is the digest.
func (d readerDatabase) make(ctx context.Context, r *release, digest string) error {
	if err := d.conn.Exec(ctx, "CREATE DATABASE IF NOT EXISTS "+Quote(d.name)); err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(4)
	for _, v := range r.views {
		from := Quote(d.ledger) + "." + v.Name
		if strings.HasPrefix(v.Name, "check_") {
			from += "_of(tenant = " + literal(d.tenant) + ")"
		}
		g.Go(func() error { return d.view(ctx, v, from) })
	}
	tables, more := readerTables, map[string]string(nil)
	if len(d.records) > 0 {
		tables, more = slices.Concat(readerTables, clusterTables), materialized
	}
	for _, name := range d.records {
		g.Go(func() error { return d.view(ctx, View{Name: name}, Quote(d.ledger)+"."+name) })
	}
	for _, name := range tables {
		from := Quote(d.ledger) + "." + name + " FINAL"
		if column := more[name]; column != "" {
			from = "(SELECT *, " + column + " FROM " + from + ")"
		}
		g.Go(func() error { return d.view(ctx, View{Name: name}, from) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return d.conn.Exec(ctx, "ALTER DATABASE "+Quote(d.name)+" MODIFY COMMENT "+literal(digest))
}

// view makes one view of the rows that the definer sees. The row filters of the definer hold
// before any condition of a caller. A condition in the view would not.
func (d readerDatabase) view(ctx context.Context, v View, from string) error {
	return d.conn.Exec(ctx, fmt.Sprintf("CREATE OR REPLACE VIEW %s.%s %s DEFINER = %s SQL SECURITY DEFINER AS SELECT * FROM %s COMMENT %s",
		Quote(d.name), Quote(v.Name), v.columnList(), Quote("rows_"+d.tenant), from, literal(v.Title)))
}

var literals = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "`", "\\`")

// literal writes a text in a statement that takes no parameters.
func literal(text string) string { return "'" + literals.Replace(text) + "'" }

// Quote writes a name in a statement that takes no parameters.
func Quote(name string) string { return "`" + literals.Replace(name) + "`" }
