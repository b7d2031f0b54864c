package answer

import (
	"context"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	shardanswer "github.com/ctxledger/ctxledger/ledger/cluster/answer"
	"github.com/ctxledger/ctxledger/ledger/read"
)

type shardsKey struct{}

type layoutKey struct{}

// OnShards returns a context whose questions are asked of the shards of a cluster. The functions of this
// package then take nil for the plain ledger. Nil shards leave the context as it is. OnShards waits while a
// partition moves to another shard. Errors: those of [cluster.Ledgers.Layout].
func OnShards(ctx context.Context, shards *cluster.Ledgers) (context.Context, error) {
	if shards == nil {
		return ctx, nil
	}
	layout, err := shards.Layout(ctx)
	return context.WithValue(context.WithValue(ctx, shardsKey{}, shards), layoutKey{}, layout), err
}

// Whole returns an error if a partition has moved to another shard since OnShards. The answer may then lack
// rows, or have some twice.
func Whole(ctx context.Context) error {
	shards := shardsOf(ctx)
	if shards == nil {
		return nil
	}
	layout, _ := ctx.Value(layoutKey{}).(cluster.Layout)
	return shards.Still(ctx, layout)
}

func shardsOf(ctx context.Context) *cluster.Ledgers {
	shards, _ := ctx.Value(shardsKey{}).(*cluster.Ledgers)
	return shards
}

// Shards returns the ledgers of all shards of the context, or nil for a plain ledger.
func Shards(ctx context.Context) []*ledger.Ledger {
	if shards := shardsOf(ctx); shards != nil {
		return shards.All()
	}
	return nil
}

// Of returns the ledger that has a session: the plain one, or a shard of the context. Of a session without
// facts every shard knows as much. Errors: [cluster.ErrShard] for a shard that does not answer.
func Of(ctx context.Context, l *ledger.Ledger, session string) (*ledger.Ledger, error) {
	shards := shardsOf(ctx)
	if shards == nil {
		return l, nil
	}
	found, err := shardanswer.OfSession(ctx, shards, session)
	if err == nil && found == nil {
		found = shards.All()[0]
	}
	return found, err
}

// Each does the same on the plain ledger, or on each shard of the context. The error of a shard names it.
func Each(ctx context.Context, l *ledger.Ledger, do func(*ledger.Ledger) error) error {
	shards := shardsOf(ctx)
	if shards == nil {
		return do(l)
	}
	for i, l := range shards.All() {
		if err := do(l); err != nil {
			return shards.Shards[i].Failed(err)
		}
	}
	return nil
}

// Statement asks a statement of the caller: of the plain ledger, or of each shard of the context, where the
// answer begins with the column [shardanswer.ShardColumn]. The caller closes the rows.
func Statement(ctx context.Context, l *ledger.Ledger, sql string, limits read.Limits) (read.Rows, error) {
	if shards := shardsOf(ctx); shards != nil {
		return shardanswer.Statement(ctx, shards, sql, limits)
	}
	return read.Of(l).Query(ctx, sql, nil, limits)
}
