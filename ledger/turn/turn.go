// Package turn answers what the queries window, call-size and why answer, in a
// fraction of the time: it reads the rows of the session by simple selects, side
// by side, and puts them together here.
//
// The server takes longer to plan the three queries, which join and nest a dozen
// selects, than to run them. They stay in the catalogue for people who write SQL, and
// tests hold the answers of both together, column by column.
package turn

import (
	"context"
	"embed"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/queries"
)

//go:embed sql/*.sql
var files embed.FS

// reader reads rows of one session.
type reader struct {
	ledger *ledger.Ledger
	given  map[string]string // parameters
	kinds  []string          // types of the session's events
}

// newReader checks the arguments as those of a query, and finds out which tables can
// have rows of the session: each that need not be asked saves as much as the reading
// itself. It finds the tenant, too, where none is given: without it the tables' key is
// of little use. A session id that several tenants have is read in all of them, as the
// query does.
func newReader(ctx context.Context, l *ledger.Ledger, query string, arguments map[string]string) (reader, error) {
	r := reader{ledger: l}
	q, err := queries.Get(query)
	if err != nil {
		return r, err
	}
	if r.given, err = q.Bind(arguments); err != nil {
		return r, err
	}
	var tenants []struct {
		Tenant string   `ch:"tenant"`
		Kinds  []string `ch:"kinds"`
	}
	if err := into(ctx, r, &tenants, "kinds")(); err != nil {
		return r, err
	}
	for _, one := range tenants {
		r.kinds = append(r.kinds, one.Kinds...)
	}
	if len(tenants) == 1 {
		r.given["tenant"] = tenants[0].Tenant
	}
	return r, nil
}

// with returns a reader with more parameters, names and values by turns.
func (r reader) with(more ...string) reader {
	r.given = maps.Clone(r.given)
	for i := 0; i < len(more); i += 2 {
		r.given[more[i]] = more[i+1]
	}
	return r
}

// into returns what reads all rows of a statement into list, if the session has any
// event whose type begins with one of those that such rows come from. Without any, it
// is read in any case.
func into[T any](ctx context.Context, r reader, list *[]T, name string, from ...string) func() error {
	return func() error {
		if len(from) > 0 && !slices.ContainsFunc(r.kinds, func(kind string) bool {
			return slices.ContainsFunc(from, func(begin string) bool { return strings.HasPrefix(kind, begin) })
		}) {
			return nil
		}
		sql, err := files.ReadFile("sql/" + name + ".sql")
		if err != nil {
			return err
		}
		return r.ledger.Select(ctx, list, string(sql), r.given, ledger.DefaultLimits())
	}
}

// together runs reads side by side.
func together(reads ...func() error) error {
	var g errgroup.Group
	for _, read := range reads {
		g.Go(read)
	}
	return g.Wait()
}

// at is the element of a list whose first is 1, as the server counts; empty outside
// of it.
func at[T any](list []T, i int) (element T) {
	if i > 0 && i <= len(list) {
		return list[i-1]
	}
	return element
}
