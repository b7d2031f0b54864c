package instance

import (
	"context"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/queries"
)

// Migrate brings the tables and views to the newest state, with the documentation of
// the views for whoever looks at them from another client: DESCRIBE TABLE shows what
// a column means. It returns the migrations that it applied.
func Migrate(ctx context.Context, l *ledger.Ledger) ([]string, error) {
	applied, err := l.Migrate(ctx)
	if err != nil {
		return applied, err
	}
	return applied, l.SetComments(ctx, viewComments())
}

func viewComments() []ledger.Comment {
	var all []ledger.Comment
	for _, v := range queries.Views() {
		all = append(all, ledger.Comment{Relation: v.Name, Text: v.Title})
		for _, c := range v.Columns {
			all = append(all, ledger.Comment{Relation: v.Name, Column: c.Name, Text: c.Unit + ": " + c.About})
		}
	}
	return all
}
