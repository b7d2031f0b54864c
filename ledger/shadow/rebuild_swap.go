package shadow

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/google/uuid"
)

// ErrOtherColumns means that the live tables were migrated while a set was being
// rebuilt: it cannot take their place. Rebuild again.
var ErrOtherColumns = errors.New("the tables were migrated during the rebuild: run it again")

// Swap replaces the live tables by the set, and drops the old tables. The caller must hold the
// leases of all streams: then no projector writes. A reader sees each table whole. For some
// milliseconds it may see tables of both sets, which are equal if Compare found no difference.
// Once Swap has begun it can only be finished: after a crash by FinishSwap. reached is called
// after each step, with its name; nil is not.
func (b *Set) Swap(ctx context.Context, reached func(string)) error {
	if reached == nil {
		reached = func(string) {}
	}
	s, err := b.state(ctx)
	if err != nil {
		return err
	}
	done, err := b.live.migrated(ctx)
	if err != nil {
		return err
	}
	if s.name != stateCarried && s.name != stateRestoring || s.migrations != uint64(len(done)) {
		return ErrOtherColumns
	}
	tables, err := b.find(ctx)
	if err != nil {
		return err
	}
	s = setState{name: stateSwapping, ids: make(map[string]uuid.UUID)}
	for _, name := range swapped() {
		for id, at := range tables {
			if at == (tableName{b.name, name}) {
				s.ids[name] = id
			}
		}
		if s.ids[name] == uuid.Nil {
			return fmt.Errorf("the rebuilt set has no table %s", name)
		}
	}
	if err := b.Close(); err != nil {
		return err
	}
	if err := b.mark(ctx, s); err != nil {
		return err
	}
	reached("swapping")
	return b.finish(ctx, s, reached)
}

// FinishSwap brings a swap that was cut off to its end, and reports whether there was one.
// Every writer calls it before its first write; several calls may run at the same time. Errors:
// [ErrRestoring], after which nothing may be written.
func (l Live) FinishSwap(ctx context.Context) (bool, error) {
	b, err := l.Beside(ctx)
	if err != nil {
		return false, err
	}
	s, err := b.state(ctx)
	switch {
	case err != nil:
		return false, err
	case s.name == stateSwapping:
		return true, b.finish(ctx, s, func(string) {})
	case s.name == stateSwapped:
		return true, b.Drop(ctx)
	}
	return false, s.restoring()
}

// swapped lists the tables that a swap exchanges.
func swapped() []string { return append(ledger.Tables(), "commits", "retold") }

type tableName struct{ database, name string }

// find returns where the tables of both sets are, by their UUIDs.
func (b *Set) find(ctx context.Context) (map[uuid.UUID]tableName, error) {
	found := make(map[uuid.UUID]tableName)
	for row := range b.live.sql.Rows(ctx, "tables", b.params(nil)) {
		var at tableName
		var id uuid.UUID
		if err := row.Scan(&at.database, &at.name, &id); err != nil {
			return nil, fmt.Errorf("list the tables: %w", err)
		}
		found[id] = at
	}
	return found, nil
}

// finish exchanges the remaining tables, and drops the replaced ones.
func (b *Set) finish(ctx context.Context, s setState, reached func(string)) error {
	ctx = context.WithoutCancel(ctx)
	for _, name := range swapped() {
		if _, ok := s.ids[name]; !ok {
			continue // the set is of a version without the table
		}
		if err := b.exchange(ctx, name, s.ids[name]); err != nil {
			return fmt.Errorf("swap %s: %w", name, err)
		}
		reached("exchanged")
	}
	if err := b.mark(ctx, setState{name: stateSwapped}); err != nil && !ledger.NoTable(err) {
		return err
	}
	reached("swapped")
	return b.Drop(ctx)
}

// exchange gives the table with this UUID the name, unless it has it. Another may be at it as
// well; the slower one reads the state again.
func (b *Set) exchange(ctx context.Context, name string, rebuilt uuid.UUID) error {
	const attempts, pause = 20, 50 * time.Millisecond
	var err error
	for range attempts {
		var at tableName
		if at, err = b.where(ctx, rebuilt); err == nil {
			if at == (tableName{b.own, name}) {
				return nil
			}
			fence := name + "_" + rand.Text()[:8]
			if err = b.fence(ctx, at.name, fence, rebuilt); err == nil {
				err = b.exec(ctx, "exchange", chsql.Params{"table": chsql.Text(name), "other": chsql.Text(fence)})
			}
		}
		if err != nil {
			time.Sleep(pause)
		}
	}
	return err
}

// where returns where the table with this UUID is. The list of tables is no snapshot: one that
// another process renames may be in neither place.
func (b *Set) where(ctx context.Context, rebuilt uuid.UUID) (tableName, error) {
	tables, err := b.find(ctx)
	at, ok := tables[rebuilt]
	if err == nil && !ok {
		err = fmt.Errorf("the rebuilt table %s is not there", rebuilt)
	}
	return at, err
}

// fence renames a table of the set to a name that only the caller knows, so that no other process
// exchanges it. Without an error the table is the rebuilt one. Another process may have exchanged
// it for the replaced table since the caller read its name; to exchange that would undo the swap.
func (b *Set) fence(ctx context.Context, from, to string, rebuilt uuid.UUID) error {
	if err := b.exec(ctx, "rename", chsql.Params{"from": chsql.Text(from), "to": chsql.Text(to)}); err != nil {
		return err
	}
	at, err := b.where(ctx, rebuilt)
	if err == nil && at.name != to {
		err = fmt.Errorf("the table %s was exchanged by another process", from)
	}
	return err
}
