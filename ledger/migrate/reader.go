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
	var own string
	var existing, digests, users []string
	if err := conn.QueryRow(ctx, statement("readers"), clickhouse.Named("mark", chsql.ReaderDatabase("", ""))).Scan(&own, &existing, &digests); err != nil {
		return nil, fmt.Errorf("list the databases of readers: %w", err)
	}
	if chsql.IsReaderDatabase(own) {
		return nil, fmt.Errorf("the database %s is of a tenant's reader: use the address of the ledger", own)
	}
	digest := current().readerDigest()
	for i, name := range existing {
		if tenant := strings.TrimPrefix(name, chsql.ReaderDatabase(own, "")); digests[i] != digest && !slices.Contains(tenants, tenant) {
			tenants = append(tenants, tenant)
		}
	}
	if len(tenants) == 0 {
		return nil, nil
	}
	if err := conn.QueryRow(ctx, statement("definers")).Scan(&users); err != nil {
		return nil, fmt.Errorf("list the users of the server: %w", err)
	}
	var renewed []string
	var failed []error
	for _, tenant := range tenants {
		name := chsql.ReaderDatabase(own, tenant)
		at := slices.Index(existing, name)
		if at >= 0 && digests[at] == digest {
			continue
		}
		if !slices.Contains(users, "rows_"+tenant) {
			failed = append(failed, fmt.Errorf("%w %s: write the configuration of ClickHouse with `ctxledger deploy clickhouse --tenant %s`, restart the server, and run it again", ErrNoDefiner, tenant, tenant))
			continue
		}
		r := readerDatabase{conn: conn, ledger: own, name: name, tenant: tenant}
		if err := r.make(ctx, current(), digest); err != nil {
			failed = append(failed, fmt.Errorf("make the database %s: %w", name, err))
			if at < 0 { // nothing half done
				failed = append(failed, conn.Exec(context.WithoutCancel(ctx), "DROP DATABASE IF EXISTS "+quote(name)))
			}
			continue
		}
		renewed = append(renewed, name)
	}
	return renewed, errors.Join(failed...)
}

// readerDigest covers everything that the databases of readers are made from.
func (r *release) readerDigest() string {
	h := sha256.New()
	for _, t := range r.tables {
		fmt.Fprintln(h, t.name, t.statement)
	}
	for _, d := range r.definitions {
		fmt.Fprintln(h, d.name, d.digest)
	}
	fmt.Fprintln(h, r.views, readerTables)
	return hex.EncodeToString(h.Sum(nil))
}

// readerDatabase is the database of a tenant's reader.
type readerDatabase struct {
	conn                 driver.Conn
	ledger, name, tenant string
}

// make makes or replaces every view. The comment of the database, written last, is the digest.
func (d readerDatabase) make(ctx context.Context, r *release, digest string) error {
	if err := d.conn.Exec(ctx, "CREATE DATABASE IF NOT EXISTS "+quote(d.name)); err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(4)
	for _, v := range r.views {
		from := quote(d.ledger) + "." + v.Name
		if strings.HasPrefix(v.Name, "check_") {
			from += "_of(tenant = " + literal(d.tenant) + ")"
		}
		g.Go(func() error { return d.view(ctx, v, from) })
	}
	for _, name := range readerTables {
		g.Go(func() error { return d.view(ctx, View{Name: name}, quote(d.ledger)+"."+name+" FINAL") })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return d.conn.Exec(ctx, "ALTER DATABASE "+quote(d.name)+" MODIFY COMMENT "+literal(digest))
}

// view makes one view of the rows that the definer sees. The row filters of the definer hold
// before any condition of a caller. A condition in the view would not.
func (d readerDatabase) view(ctx context.Context, v View, from string) error {
	return d.conn.Exec(ctx, fmt.Sprintf("CREATE OR REPLACE VIEW %s.%s %s DEFINER = %s SQL SECURITY DEFINER AS SELECT * FROM %s COMMENT %s",
		quote(d.name), quote(v.Name), v.columnList(), quote("rows_"+d.tenant), from, literal(v.Title)))
}

var literals = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "`", "\\`")

// literal and quote write a text and a name in a statement that takes no parameters.
func literal(text string) string { return "'" + literals.Replace(text) + "'" }
func quote(name string) string   { return "`" + literals.Replace(name) + "`" }
