package read

import (
	"context"
	"fmt"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
)

// A Bill is what the model calls of sessions cost by the price list, and the cause of cache
// breaks that cost most.
type Bill struct {
	Calls      uint64   // model calls; answers that a program wrote itself do not count
	Unpriced   uint64   // those without a price
	Partial    uint64   // those with prices and a count that is not known or not final
	Cost       float64  // at least, where Unpriced or Partial is not 0; in Currencies[0] if there is one currency
	Currencies []string // of Cost; Cost means nothing where there are several
	Sources    []string // where the prices were read
	Cause      string   // as in the view cache_breaks; "" if no call follows another
	BreakCost  float64  // of the breaks with that cause
}

// Bill returns the bill of sessions of a tenant.
func (l Reader) Bill(ctx context.Context, tenant string, sessions []string) (b Bill, err error) {
	parameters := chsql.Params{"tenant": chsql.Text(tenant), "sessions": chsql.Texts(sessions)}
	for row := range l.sql.Rows(ctx, "bill_total", parameters) {
		if err := row.Scan(&b.Calls, &b.Unpriced, &b.Partial, &b.Cost, &b.Currencies, &b.Sources); err != nil {
			return b, fmt.Errorf("read the costs of the calls: %w", err)
		}
	}
	if len(b.Currencies) != 1 {
		return b, nil
	}
	for row := range l.sql.Rows(ctx, "bill_breaks", parameters) {
		if err := row.Scan(&b.Cause, &b.BreakCost); err != nil {
			return b, fmt.Errorf("read the costs of cache breaks: %w", err)
		}
	}
	return b, nil
}
