package answer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	shardanswer "github.com/ctxledger/ctxledger/ledger/cluster/answer"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/queries"
)

// ErrTenant means that a question asks for the facts of another tenant than it may, or that its
// query does not know tenants.
var ErrTenant = errors.New("the question is not about the tenant of the token")

// Bounds limit the questions of a context.
type Bounds struct {
	Tenant string // whose facts may be asked for; empty means all tenants
	Limits read.Limits
}

type boundsKey struct{}

// Within returns a context whose questions have bounds. A question without a tenant is then about
// the tenant of the bounds, and a question about another tenant is an [ErrTenant].
func Within(ctx context.Context, b Bounds) context.Context {
	return context.WithValue(ctx, boundsKey{}, b)
}

func boundsOf(ctx context.Context) Bounds {
	if b, ok := ctx.Value(boundsKey{}).(Bounds); ok {
		return b
	}
	return Bounds{Limits: read.DefaultLimits()}
}

// shared are the queries without a tenant: their tables hold no facts.
var shared = []string{"prices"}

// IsShared reports whether the answer to a query is the same for all tenants.
func IsShared(q queries.Query) bool { return slices.Contains(shared, q.Name) }

// bound returns arguments with the tenant of the context.
func bound(ctx context.Context, q queries.Query, arguments map[string]string) (map[string]string, error) {
	tenant := boundsOf(ctx).Tenant
	if tenant == "" || IsShared(q) {
		return arguments, nil
	}
	if !slices.ContainsFunc(q.Parameters, func(p queries.Parameter) bool { return p.Name == "tenant" }) {
		return nil, ErrTenant
	}
	var err error
	arguments = maps.Clone(arguments)
	if arguments == nil {
		arguments = make(map[string]string)
	}
	arguments["tenant"], err = Tenant(ctx, arguments["tenant"])
	return arguments, err
}

// Tenant returns the tenant of a question that names a tenant, or none. The error is [ErrTenant].
func Tenant(ctx context.Context, named string) (string, error) {
	switch own := boundsOf(ctx).Tenant; {
	case own == "" || named == own:
		return named, nil
	case named == "":
		return own, nil
	}
	return "", ErrTenant
}

// Rows runs a named query. A wrong argument is a [queries.ParameterError].
func Rows(ctx context.Context, l *ledger.Ledger, q queries.Query, arguments map[string]string) (read.Rows, error) {
	arguments, err := bound(ctx, q, arguments)
	if err != nil {
		return nil, err
	}
	values, err := q.Bind(arguments)
	if err != nil {
		return nil, err
	}
	if shards := shardsOf(ctx); shards != nil {
		return shardanswer.Query(ctx, shards, q, values, boundsOf(ctx).Limits)
	}
	return turn.Query(ctx, l, q, values, boundsOf(ctx).Limits)
}

// IDs is [read.Reader.IDs]. The ids of several shards are mixed.
func IDs(ctx context.Context, l *ledger.Ledger, column read.IDColumn, beginning, tenant, session string, limit int) ([]read.NamedID, error) {
	tenant, err := Tenant(ctx, tenant)
	if err != nil {
		return nil, err
	}
	var all []read.NamedID
	err = Each(ctx, l, func(l *ledger.Ledger) error {
		list, err := read.Of(l).IDs(ctx, column, beginning, tenant, session, limit)
		all = mixed(all, list)
		return err
	})
	return all[:min(len(all), limit)], err
}

// mixed returns the ids of two lists in turn.
func mixed(a, b []read.NamedID) (all []read.NamedID) {
	for i := range max(len(a), len(b)) {
		all = append(append(all, a[min(i, len(a)):min(i+1, len(a))]...), b[min(i, len(b)):min(i+1, len(b))]...)
	}
	return all
}

// ID is [read.PlaceOf]. An id that several shards have has a place on one of them.
func ID(ctx context.Context, l *ledger.Ledger, column read.IDColumn, id, tenant string) (read.NamedID, bool, error) {
	tenant, err := Tenant(ctx, tenant)
	if err != nil {
		return read.NamedID{}, false, err
	}
	var place read.NamedID
	found := false
	err = Each(ctx, l, func(l *ledger.Ledger) error {
		if !found {
			place, found, err = read.PlaceOf(ctx, read.Of(l), column, id, tenant)
		}
		return err
	})
	return place, found, err
}

// NewestTurn is [read.Reader.NewestTurn].
func NewestTurn(ctx context.Context, l *ledger.Ledger, tenant, session string) (read.NamedID, time.Time, error) {
	tenant, err := Tenant(ctx, tenant)
	if err != nil {
		return read.NamedID{}, time.Time{}, err
	}
	if shards := shardsOf(ctx); shards != nil {
		return shardanswer.NewestTurn(ctx, shards, tenant, session)
	}
	return read.Of(l).NewestTurn(ctx, tenant, session)
}

// named returns the arguments of a named query, bound.
func named(ctx context.Context, query string, arguments map[string]string) (map[string]string, error) {
	q, err := queries.Get(query)
	if err != nil {
		return nil, err
	}
	return bound(ctx, q, arguments)
}
