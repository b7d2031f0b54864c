package ask

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	shardanswer "github.com/ctxledger/ctxledger/ledger/cluster/answer"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/queries"
)

// Sessions says which ledger has a session: the plain one, or a shard of a cluster. Only one of the
// fields is set.
type Sessions struct {
	plain  *ledger.Ledger
	shards *cluster.Ledgers
}

// OpenSessions connects until Close to a plain ledger, or to all shards of a cluster.
func OpenSessions(ctx context.Context, a *cli.App) (s Sessions, err error) {
	s.plain, s.shards, err = cli.OpenReaders(ctx, a)
	return s, err
}

// openTurn connects until Close, and returns the ledger that has the turn. It completes the flags as
// [findTurn] does.
func openTurn(ctx context.Context, a *cli.App, t *TurnFlags) (*ledger.Ledger, error) {
	s, err := OpenSessions(ctx, a)
	if err != nil {
		return nil, err
	}
	return s.turn(ctx, a, t)
}

// Of returns the ledger that has a session. On a cluster the id must be whole: ids on other shards
// may begin like it.
func (s Sessions) Of(ctx context.Context, session string) (*ledger.Ledger, error) {
	if s.shards == nil {
		return s.plain, nil
	}
	l, err := shardanswer.OfSession(ctx, s.shards, session)
	if err == nil && l == nil {
		err = fmt.Errorf("no shard has facts of a session %q: on a cluster give the whole id (`ctxledger query sessions` lists the sessions)", session)
	}
	return l, err
}

// turn returns the ledger that has the turn of the flags, and completes the flags.
func (s Sessions) turn(ctx context.Context, a *cli.App, t *TurnFlags) (*ledger.Ledger, error) {
	if s.shards != nil {
		if err := s.Find(ctx, a, t, t.last); err != nil {
			return nil, err
		}
		t.last = false
	}
	l, err := s.Of(ctx, t.Session)
	if err != nil {
		return nil, err
	}
	return l, findTurn(ctx, a, l, t)
}

// Shards returns the ledgers of all shards, or nil for a plain ledger.
func (s Sessions) Shards() []*ledger.Ledger {
	if s.shards == nil {
		return nil
	}
	return s.shards.All()
}

// Places returns the sessions with events of a scope, the latest first, at most limit.
func (s Sessions) Places(ctx context.Context, scope read.Scope, limit int) ([]read.ScopePlace, error) {
	if s.shards == nil {
		return read.Of(s.plain).ScopePlaces(ctx, scope, limit)
	}
	return shardanswer.ScopePlaces(ctx, s.shards, scope, limit)
}

// all returns the plain ledger, or the ledgers of all shards.
func (s Sessions) all() []*ledger.Ledger {
	if s.shards == nil {
		return []*ledger.Ledger{s.plain}
	}
	return s.shards.All()
}

// Find fills the session of the turn from the answers of all shards of a cluster. With last it fills
// the turn of the newest window.
func (s Sessions) Find(ctx context.Context, a *cli.App, t *TurnFlags, last bool) error {
	if last {
		newest, err := newestTurn(ctx, a, s.shards, t.Tenant, t.Session)
		t.Turn, t.Session, t.Tenant = newest.ID, newest.Session, cmp.Or(t.Tenant, newest.Tenant)
		return err
	}
	if t.Session != "" {
		return nil
	}
	q, err := queries.Get("turn-sessions")
	if err != nil {
		return err
	}
	given, err := t.arguments(q.Name)
	if err == nil {
		given, err = q.Bind(given)
	}
	if err != nil {
		return cli.AsUsage(err)
	}
	rows, err := shardanswer.Query(ctx, s.shards, q, given, read.DefaultLimits())
	if err != nil {
		return err
	}
	found, err := answer.Collect(rows)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("no shard has facts of a turn %q: on a cluster give the whole id (`ctxledger query turns` lists the turns of a session)", t.Turn)
	}
	if err != nil {
		return err
	}
	return t.choose(a, found)
}

// newestTurn is [cli.Newest] for a cluster.
func newestTurn(ctx context.Context, a *cli.App, shards *cluster.Ledgers, tenant, session string) (read.NamedID, error) {
	turn, at, err := shardanswer.NewestTurn(ctx, shards, tenant, session)
	if err != nil {
		return turn, err
	}
	return turn, cli.SayNewest(a, turn, at, session)
}
