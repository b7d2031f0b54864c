package bench

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// recordedAfter is the difference between the stored time and the event time of a copied event.
const recordedAfter = 40 * time.Millisecond

// copied are the tables of the base that have rows, the largest first.
var copied = []string{"events", "placements", "decisions", "windows", "items", "log_items", "calls", "scopes", "replacements", "redactions", "missing"}

// multiply writes the copies into the tables of the corpus, one after another. Parts are
// therefore created and merged as in an installation in use.
func (q *quickSeed) multiply(ctx context.Context, dsn string) error {
	l, err := q.freshTables(ctx, dsn, SeedDatabase)
	if err != nil {
		return err
	}
	if err := l.Close(); err != nil {
		return err
	}
	for i := range q.copies {
		q.config.progress("copying", int64(i)*int64(q.base), int64(q.config.Events))
		for _, table := range copied {
			if err := q.copy(ctx, i, table); err != nil {
				return err
			}
		}
	}
	q.config.progress("copying", int64(q.config.Events), int64(q.config.Events))
	return nil
}

// copy writes the rows of one table of the i-th copy. The last copy ends at the corpus's number
// of events.
func (q *quickSeed) copy(ctx context.Context, i int, table string) error {
	left := min(q.base, q.config.Events-i*q.base)
	parameters := clickhouse.Parameters{
		"from": seedBase, "to": SeedDatabase, "table": table, "incarnation": q.incarnation.String(),
		"copy": strconv.Itoa(i), "positions": strconv.Itoa(i * q.base), "last": strconv.Itoa(left),
		"later": strconv.FormatInt(int64(i)*int64(q.span), 10), "stored": strconv.FormatInt(int64(recordedAfter), 10),
	}
	name := "seed_copy"
	if table == "events" {
		name = "seed_copy_events"
	}
	if err := q.conn.Exec(withParameters(ctx, parameters), statement(name)); err != nil {
		return fmt.Errorf("copy %s: %w", table, err)
	}
	return nil
}
