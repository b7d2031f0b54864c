package read

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

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
	var cause string
	var cost float64
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error {
		for row := range l.sql.Rows(ctx, "bill_total", parameters) {
			if err := row.Scan(&b.Calls, &b.Unpriced, &b.Partial, &b.Cost, &b.Currencies, &b.Sources); err != nil {
				return fmt.Errorf("read the costs of the calls: %w", err)
			}
		}
		return nil
	})
	both.Go(func() error {
		for row := range l.sql.Rows(ctx, "bill_breaks", parameters) {
			if err := row.Scan(&cause, &cost); err != nil {
				return fmt.Errorf("read the costs of cache breaks: %w", err)
			}
		}
		return nil
	})
	if err := both.Wait(); err != nil {
		return b, err
	}
	if len(b.Currencies) == 1 { // costs in several currencies are not added up
		b.Cause, b.BreakCost = cause, cost
	}
	return b, nil
}
