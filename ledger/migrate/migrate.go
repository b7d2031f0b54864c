package migrate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Up brings the database of conn to the state of this version. It returns the applied steps:
// names of changes, and the new tables and number of views of an existing database. The call
// may be repeated at any time, also after an interruption: every statement is idempotent. Two
// calls at the same time give the same result.
//
// Up refuses databases of a later version or with another text of a change, and then changes
// nothing.
func Up(ctx context.Context, conn driver.Conn) ([]string, error) {
	return up(ctx, conn, current())
}

// Tables makes the missing tables and alters existing ones, and no views. Nobody else may migrate
// the database at the same time. Like [Up], Tables refuses databases of a later version.
func Tables(ctx context.Context, conn driver.Conn) error {
	d, err := look(ctx, conn)
	if err != nil {
		return err
	}
	r := current()
	if err := r.refuse(d); err != nil {
		return err
	}
	_, err = r.planFor(d).makeTables(ctx, d)
	return err
}

func up(ctx context.Context, conn driver.Conn, r *release) (applied []string, err error) {
	const attempts, pause = 10, 200 * time.Millisecond
	for range attempts {
		var some []string
		some, err = upOnce(ctx, conn, r)
		applied = append(applied, some...)
		if !raced(err) {
			return applied, err
		}
		select {
		case <-ctx.Done():
			return applied, ctx.Err()
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
	return applied, fmt.Errorf("another program migrates this database: wait for its end and run it again: %w", err)
}

// raced reports whether err came of another that migrates the same database: a view was
// replaced, or a table altered, between two looks at it. To begin again is right.
func raced(err error) bool {
	const (
		tableExists     = 57
		unknownTable    = 60
		tableIsDropped  = 218
		deadlockAvoided = 473
		cannotAlter     = 517
		notExchanged    = 521
	)
	var server *clickhouse.Exception
	return errors.As(err, &server) &&
		slices.Contains([]int32{tableExists, unknownTable, tableIsDropped, deadlockAvoided, cannotAlter, notExchanged}, server.Code)
}

// upOnce is Up without other calls at the same time.
func upOnce(ctx context.Context, conn driver.Conn, r *release) ([]string, error) {
	d, err := look(ctx, conn)
	if err != nil {
		return nil, err
	}
	if err := r.refuse(d); err != nil {
		return nil, err
	}
	p := r.planFor(d)
	applied, err := p.makeTables(ctx, d)
	if err != nil {
		return applied, err
	}
	made, err := p.makeViews(ctx, d)
	applied = append(applied, made...)
	if err != nil {
		return applied, err
	}
	return applied, d.setComments(ctx, r.views)
}

// Check returns why Up would refuse the database, nil where it would not.
func Check(ctx context.Context, conn driver.Conn) error {
	d, err := look(ctx, conn)
	if err != nil {
		return err
	}
	return current().refuse(d)
}

// Pending returns the steps that Up would apply, in the words of Up. Of a database of a later
// version nothing is pending.
func Pending(ctx context.Context, conn driver.Conn) ([]string, error) {
	d, err := look(ctx, conn)
	if err != nil {
		return nil, err
	}
	if current().later(d) != nil {
		return nil, nil
	}
	return current().planFor(d).names(), nil
}

// A plan is the difference between a database and a release.
type plan struct {
	fresh   bool
	tables  []table // all where one is missing
	changes []change
	stale   []definition
	retired []string
}

func (r *release) planFor(d *database) plan {
	p := plan{fresh: d.fresh(), retired: slices.DeleteFunc(slices.Clone(r.retired), func(name string) bool { return !d.has(name) })}
	for _, t := range r.tables {
		if !d.has(t.name) {
			p.tables = append(p.tables, t)
		}
	}
	for _, c := range r.changes {
		if !slices.Contains(d.recorded, c.version) {
			p.changes = append(p.changes, c)
		}
	}
	for _, f := range r.definitions {
		if !d.has(f.name) || d.digests[f.name] != f.digest {
			p.stale = append(p.stale, f)
		}
	}
	return p
}

func (p plan) names() []string {
	names := p.tableNames()
	if !p.fresh {
		names = append(names, p.viewNames()...)
	}
	return names
}

func (p plan) tableNames() (names []string) {
	for _, c := range p.changes {
		names = append(names, c.name)
	}
	for _, t := range p.tables {
		if !p.fresh {
			names = append(names, "table "+t.name)
		}
	}
	return names
}

func (p plan) viewNames() []string {
	switch n := len(p.stale) + len(p.retired); n {
	case 0:
		return nil
	case 1:
		return []string{"1 view"}
	default:
		return []string{fmt.Sprintf("%d views", n)}
	}
}

// refuse returns the reason why this release may not change the database, or nil.
func (r *release) refuse(d *database) error {
	if err := r.later(d); err != nil {
		return err
	}
	for _, c := range r.changes {
		if had := d.digests[c.file]; c.file != "" && slices.Contains(d.recorded, c.version) && had != "" && had != c.digest {
			return fmt.Errorf("the database has change %s with SHA-256 %s and this program has it with %s: a released change was edited, so nothing was changed; use a released program",
				c.name, had, c.digest)
		}
	}
	return nil
}

// later returns an error for a database of a later version.
func (r *release) later(d *database) error {
	for _, version := range d.recorded {
		if !slices.ContainsFunc(r.changes, func(c change) bool { return c.version == version }) {
			return fmt.Errorf("the database has change %04d, which this version does not know, so nothing was changed: use the version that made it, or a later one", version)
		}
	}
	return nil
}

// makeTables makes the missing tables and alters existing ones.
func (p plan) makeTables(ctx context.Context, d *database) ([]string, error) {
	if err := p.createTables(ctx, d); err != nil {
		return nil, err
	}
	return p.change(ctx, d)
}

// createTables makes the missing tables.
func (p plan) createTables(ctx context.Context, d *database) error {
	for _, t := range p.tables {
		if err := d.exec(ctx, t.statement); err != nil {
			return fmt.Errorf("create table %s: %w", t.name, err)
		}
	}
	return nil
}

// change alters existing tables. New tables have the effect of all changes. An interrupted migration can leave
// tables without a record. They get the changes, too.
func (p plan) change(ctx context.Context, d *database) ([]string, error) {
	if p.fresh {
		return p.tableNames(), d.record(ctx, p.changes, nil)
	}
	for i, c := range p.changes {
		err := d.exec(ctx, c.statements...)
		if err == nil {
			err = d.record(ctx, []change{c}, nil)
		}
		if err != nil {
			p.changes = p.changes[:i]
			return p.tableNames(), fmt.Errorf("apply %s: %w", c.name, err)
		}
	}
	return p.tableNames(), nil
}

// makeViews makes missing and differing views, and drops retired ones.
func (p plan) makeViews(ctx context.Context, d *database) ([]string, error) {
	digests := make(map[string]string)
	for _, f := range p.stale {
		if err := d.exec(ctx, f.statement()); err != nil {
			return nil, fmt.Errorf("create view %s: %w", f.name, err)
		}
		digests[f.name] = f.digest
	}
	if err := d.record(ctx, nil, digests); err != nil {
		return nil, err
	}
	for _, name := range p.retired {
		named := clickhouse.Context(ctx, clickhouse.WithParameters(clickhouse.Parameters{"view": name}))
		if err := d.conn.Exec(named, statement("drop_view")); err != nil {
			return nil, fmt.Errorf("drop view %s: %w", name, err)
		}
	}
	if p.fresh {
		return nil, nil
	}
	return p.viewNames(), nil
}
