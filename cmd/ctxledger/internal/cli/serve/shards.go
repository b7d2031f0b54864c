package serve

import (
	"context"
	"slices"

	"github.com/ctxledger/ctxledger/ledger"
)

// pingAll reports whether every server answers.
func pingAll(ledgers []*ledger.Ledger) func(context.Context) error {
	var distinct []*ledger.Ledger
	for _, l := range ledgers {
		if !slices.Contains(distinct, l) {
			distinct = append(distinct, l)
		}
	}
	return func(ctx context.Context) error {
		for _, l := range distinct {
			if err := l.Ping(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}
