package privacy

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/schema"
)

// Expiry names events whose content leaves the tables.
type Expiry struct {
	// Tenant is the tenant of the events. "" means every tenant except those in Except.
	Tenant string
	Except []string
	// Before is the time of the stream. Older events lose their content.
	Before time.Time
	// Firsts has the first sequence of each stream that has messages. Events with messages keep their
	// content, so that a rebuild gives the same tables.
	Firsts map[uuid.UUID]uint64
}

// keptContent are the facts whose content views and checks read at any time. They hold decisions only.
func keptContent() []string {
	var types []string
	for _, t := range append(schema.LastingTypes(), schema.TypeFactsDropped, schema.TypeEnvelopeCreated) {
		types = append(types, string(t))
	}
	return types
}

// Expire empties the data of old events, and returns their number. All other columns stay: the identity
// of an event, its digest, its ids, and the columns of facts in the other tables. The leaf in the
// transparency log stays, too. Expire waits until all rows are rewritten, and may be repeated.
func (l Tables) Expire(ctx context.Context, e Expiry) (events uint64, err error) {
	var only, except []string
	if e.Tenant != "" {
		only = ledger.StoredTenants(e.Tenant)
	}
	for _, tenant := range e.Except {
		except = append(except, ledger.StoredTenants(tenant)...)
	}
	var incarnations []string
	var firsts []uint64
	for incarnation, first := range e.Firsts {
		incarnations, firsts = append(incarnations, incarnation.String()), append(firsts, first)
	}
	params := chsql.Params{
		"before": chsql.Time(e.Before), "only": chsql.Texts(only), "except": chsql.Texts(except), "kept": chsql.Texts(keptContent()),
		"incarnations": chsql.Texts(incarnations), "firsts": chsql.Numbers(firsts),
	}
	if err := l.sql.Row(ctx, "expirable", params).Scan(&events); err != nil {
		return 0, fmt.Errorf("count the events with old content: %w", err)
	}
	if events == 0 {
		return 0, nil // a mutation would look at every part
	}
	if err := l.mutate(ctx, "expire", params); err != nil {
		return 0, fmt.Errorf("remove the content of old events: %w", err)
	}
	return events, nil
}
