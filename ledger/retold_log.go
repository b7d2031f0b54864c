package ledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/internal/column"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/telling"
)

// toldSession is a session with facts of a telling, see [telling.Telling].
type toldSession struct{ tenant, session string }

// tells notes the session of a fact whose source names a telling. Most sources do not, and most facts
// are of the session of the fact before.
func (b *Batch) tells(e *schema.Event, tenant string) {
	of := toldSession{tenant, e.SessionID}
	if of == b.toldLast || !strings.HasPrefix(e.Source, telling.ImportSource) || !strings.Contains(e.Source, ";") {
		return
	}
	if b.told == nil {
		b.told = make(map[toldSession]bool)
	}
	b.told[of], b.toldLast = true, of
}

// toldSource is a source that tells a log, and what is stored of it.
type toldSource struct {
	toldSession
	source string
	from   time.Time // of its first fact
	reach  time.Time // of its last fact
	begun  time.Time // time of recording of its first fact
}

// retoldRow is a row of the table retold.
type retoldRow struct {
	Tenant  string    `ch:"tenant"`
	Session string    `ch:"session_id"`
	Source  string    `ch:"source"`
	Since   time.Time `ch:"since"`
}

// retold returns the tellings that do not count: those that another one tells better.
func retold(all []toldSource) []retoldRow {
	var rows []retoldRow
	for _, t := range all {
		row := retoldRow{Tenant: t.tenant, Session: t.session, Source: t.source}
		for _, o := range all {
			if o.better(t) && (row.Since.IsZero() || o.begun.Before(row.Since)) {
				row.Since = o.begun
			}
		}
		if !row.Since.IsZero() {
			rows = append(rows, row)
		}
	}
	return rows
}

// better reports whether t tells a log better than o. Of the tellings of a log one counts: the one that
// reaches furthest, then that of the highest revision, then one with texts, then the one that was told
// last. Earlier revisions had no word for a log that begins in the middle of a session. Their telling of one is
// told better by a slice that begins as early and reaches as far.
func (t toldSource) better(o toldSource) bool {
	mine, _ := telling.Parse(t.source)
	other, _ := telling.Parse(o.source)
	switch {
	case t.toldSession != o.toldSession:
		return false
	case mine.Log == other.Log:
		return cmp.Or(t.reach.Compare(o.reach), mine.Compare(other), t.begun.Compare(o.begun), cmp.Compare(t.source, o.source)) > 0
	}
	return mine.Renames(other) && !t.from.After(o.from) && !t.reach.Before(o.reach)
}

// retell brings the table retold up to date for the sessions of a batch, whose rows must be stored.
// It may be repeated. Where no log is told twice it asks once, and for batches without tellings never.
func retell(ctx context.Context, l *Ledger, b *Batch, epoch uint64) error {
	if len(b.told) == 0 {
		return nil
	}
	var tenants, sessions []string
	for s := range b.told {
		tenants, sessions = append(tenants, s.tenant), append(sessions, s.session)
	}
	of := chsql.Params{"tenants": chsql.Texts(tenants), "sessions": chsql.Texts(sessions)}
	var all []toldSource
	for row := range l.sql.Rows(ctx, "tellings", of) {
		var t toldSource
		if err := row.Scan(&t.tenant, &t.session, &t.source, &t.from, &t.reach, &t.begun); err != nil {
			return fmt.Errorf("look for tellings of one log: %w", err)
		}
		all = append(all, t)
	}
	if len(all) == 0 {
		return nil
	}
	rows := retold(all)
	more, err := cutCalls(ctx, l, all, rows)
	if err != nil {
		return err
	}
	rows = append(rows, more...)
	var counts []retoldRow // again
	for row := range l.sql.Rows(ctx, "retold", of) {
		var r retoldRow
		if err := row.Scan(&r.Tenant, &r.Session, &r.Source); err != nil {
			return fmt.Errorf("read which tellings do not count: %w", err)
		}
		same := func(o retoldRow) bool {
			return o.Tenant == r.Tenant && o.Session == r.Session && o.Source == r.Source
		}
		if slices.ContainsFunc(rows, same) {
			rows = slices.DeleteFunc(rows, same)
		} else {
			counts = append(counts, r)
		}
	}
	if len(counts) > 0 {
		var tenants, sessions, sources []string
		for _, r := range counts {
			tenants, sessions, sources = append(tenants, r.Tenant), append(sessions, r.Session), append(sources, r.Source)
		}
		params := chsql.Params{"tenants": chsql.Texts(tenants), "sessions": chsql.Texts(sessions), "sources": chsql.Texts(sources)}
		if err := l.sql.Exec(ctx, "told_again", params); err != nil {
			return fmt.Errorf("let a telling count again: %w", err)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	id := fmt.Sprintf("%s%d:retold:%d-%d:%s", queryPrefix(b.Range), epoch, b.First, b.Last, rand.Text()[:8])
	return l.InsertBlock(ctx, column.TableOf("retold", rows...), id, []ch.Setting{
		{Key: "insert_deduplicate", Value: "0", Important: true},
		{Key: "max_execution_time", Value: insertTimeLimit, Important: true},
	})
}
