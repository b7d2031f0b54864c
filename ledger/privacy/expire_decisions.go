package privacy

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
)

// decisionTables are the tables whose rows leave with the decisions of a session. The other tables keep their
// rows: identities, leaves, scopes, redactions and what was refused.
func decisionTables() []string {
	return []string{"calls", "decisions", "items", "log_items", "missing", "placements", "replacements", "windows"}
}

// ExpireDecisions removes the decisions of old sessions: the rows of items, selections, windows, injections,
// compactions, gaps, calls and log entries. A session is old if e names all its events. A fact
// without a session goes by its own time. Rows whose messages are in a stream stay. ExpireDecisions returns the
// number of rows, waits until they are gone, and may be repeated.
//
// The commits of these messages lose their counts of such rows first. A projector that starts would otherwise
// find too few rows, and could not write them again.
func (l Tables) ExpireDecisions(ctx context.Context, e Expiry) (rows uint64, err error) {
	params := e.parameters()
	params["tables"] = chsql.Texts(decisionTables())
	uncount := sync.OnceValue(func() error {
		if err := l.sql.Change(ctx, "expire_counts", params); err != nil {
			return fmt.Errorf("remove the counts of old rows from commits: %w", err)
		}
		return nil
	})
	for _, table := range decisionTables() {
		params["table"] = chsql.Text(table)
		n, err := l.expire(ctx, "expirable_decisions", "expire_decisions", params, uncount)
		if err != nil {
			return rows, fmt.Errorf("remove the old rows of %s: %w", table, err)
		}
		rows += n
	}
	return rows, nil
}

// Heavy calls visit for each tenant whose events have more bytes of content than its limit. before is the time
// of the stream: the content since then has at most seven eighths of the limit. limits are in bytes by tenant,
// and the one of "" is for all others; 0 is no limit.
//
// Heavy reads all content that the tables have.
func (l Tables) Heavy(ctx context.Context, limits map[string]uint64, visit func(tenant string, before time.Time)) error {
	var tenants []string
	var bytes []uint64
	for tenant, limit := range limits {
		if tenant != "" {
			tenants, bytes = append(tenants, tenant), append(bytes, limit)
		}
	}
	params := chsql.Params{"tenants": chsql.Texts(tenants), "limits": chsql.Numbers(bytes), "limit": chsql.Number(limits[""]), "kept": chsql.Texts(keptContent())}
	for row := range l.sql.Rows(ctx, "tenants_over_limit", params) {
		var tenant string
		var before time.Time
		if err := row.Scan(&tenant, &before); err != nil {
			return fmt.Errorf("weigh the content of tenants: %w", err)
		}
		visit(tenant, before)
	}
	return nil
}
