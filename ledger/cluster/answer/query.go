package answer

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/queries"
)

//go:embed statements/*.sql
var files embed.FS

// ErrNotOnCluster means that shards.txt does not list a query.
var ErrNotOnCluster = errors.New("this query does not work on a cluster yet")

// ErrDifferent means that shards have different rows which should be the same.
var ErrDifferent = errors.New("the shards do not have the same rows: repeat the command that wrote them last")

// Query answers a named query with the values of [queries.Query.Bind], as [turn.Query] does on one
// machine. The limits apply to each shard, that of rows also to the answer. The caller closes the
// rows. Errors: [ErrNotOnCluster]; [ErrDifferent], also later; [cluster.ErrShard] for a shard that does not answer; those of
// [turn.Query].
func Query(ctx context.Context, shards *cluster.Ledgers, q queries.Query, bound map[string]string, limits read.Limits) (read.Rows, error) {
	how, ok := q.Merge()
	if !ok {
		return nil, fmt.Errorf("query %s: %w", q.Name, ErrNotOnCluster)
	}
	most := mostRows(bound, limits)
	alone := how.Alone(bound["session_id"])
	var err error
	if len(how.Combine) > 0 && !alone {
		q.SQL = unlimited(q.SQL)
		q.SQL, err = inParts(q, how)
	}
	if err == nil && !alone {
		q.SQL, err = withAdded(q, how.Added)
	}
	if err == nil {
		q, bound, err = withHead(ctx, shards, q, bound)
	}
	if err == nil {
		q, bound, err = withReplays(ctx, shards, q, bound)
	}
	var each []map[string]string
	ofGaps := readsGaps.MatchString(q.SQL)
	if err == nil {
		q, each, err = withChecks(ctx, shards, q, bound)
	}
	if err == nil && ofGaps {
		q, each, err = withGaps(ctx, shards, q, each)
	}
	if err != nil {
		return nil, err
	}
	if alone {
		return askSession(ctx, shards, q, bound["session_id"], each, limits)
	}
	answers, err := askAll(ctx, shards, func(ctx context.Context, at int, l *ledger.Ledger) (read.Rows, error) {
		return turn.Query(ctx, l, q, each[at], limits)
	})
	if err != nil {
		return nil, err
	}
	if how.Same {
		return newSame(answers), nil
	}
	if len(how.Combine) > 0 {
		g, err := newGrouped(answers, how)
		if err != nil {
			return nil, err
		}
		answers = []read.Rows{g}
	}
	m, err := newMerged(answers, how.Keys, most)
	if err != nil {
		return nil, err
	}
	return &shortened{m, len(m.Columns()) - len(how.Added)}, nil
}

// askSession asks the shard of a session alone. The answer names it in errors.
func askSession(ctx context.Context, shards *cluster.Ledgers, q queries.Query, session string, each []map[string]string, limits read.Limits) (read.Rows, error) {
	at, err := shardOf(ctx, shards, session)
	if err != nil {
		return nil, err
	}
	at = max(at, 0) // without facts any shard gives the answer of one machine
	rows, err := turn.Query(ctx, shards.All()[at], q, each[at], limits)
	if err != nil {
		return nil, shards.Shards[at].Failed(err)
	}
	return &named{rows, shards.Shards[at]}, nil
}

// limitClause is the limit at the end of a query.
const limitClause = "\nLIMIT {limit:UInt32}"

// unlimited returns a statement without its limit, because a shard must not leave out rows of a group.
func unlimited(sql string) string {
	return strings.TrimSuffix(strings.TrimRight(sql, "; \n"), limitClause)
}

// askAll asks all shards at the same time. The answers name their shards in errors.
func askAll(ctx context.Context, shards *cluster.Ledgers, ask func(ctx context.Context, at int, l *ledger.Ledger) (read.Rows, error)) ([]read.Rows, error) {
	answers := make([]read.Rows, len(shards.All()))
	err := shards.Each(func(at int, l *ledger.Ledger) error {
		rows, err := ask(ctx, at, l)
		if err == nil {
			answers[at] = &named{rows, shards.Shards[at]}
		}
		return err
	})
	if err == nil {
		return answers, nil
	}
	for _, rows := range answers {
		if rows != nil {
			_ = rows.Close()
		}
	}
	return nil, err
}

// OfSession returns the ledger of the shard that has the facts of a session, or nil if no shard has
// any. Errors: [cluster.ErrShard] for a shard that does not answer.
func OfSession(ctx context.Context, shards *cluster.Ledgers, session string) (*ledger.Ledger, error) {
	at, err := shardOf(ctx, shards, session)
	if err != nil || at < 0 {
		return nil, err
	}
	return shards.All()[at], nil
}

// NewestTurn returns the turn of the newest window of all shards, as [read.Reader.NewestTurn] does on
// one machine. Errors: [cluster.ErrShard] for a shard that does not answer.
func NewestTurn(ctx context.Context, shards *cluster.Ledgers, tenant, session string) (turn read.NamedID, at time.Time, err error) {
	turns, times := make([]read.NamedID, len(shards.All())), make([]time.Time, len(shards.All()))
	err = shards.Each(func(i int, l *ledger.Ledger) (err error) {
		turns[i], times[i], err = read.Of(l).NewestTurn(ctx, tenant, session)
		return err
	})
	if err != nil {
		return turn, at, err
	}
	i := newest(times)
	return turns[i], times[i], nil
}

// ScopePlaces returns the sessions of all shards with events of a scope, the latest first, at most limit, as
// [read.Reader.ScopePlaces] does on one machine. Errors: [cluster.ErrShard] for a shard that does not answer.
func ScopePlaces(ctx context.Context, shards *cluster.Ledgers, s read.Scope, limit int) ([]read.ScopePlace, error) {
	list, err := gather(shards, func(l *ledger.Ledger) ([]read.ScopePlace, error) { return read.Of(l).ScopePlaces(ctx, s, limit) })
	slices.SortFunc(list, func(a, b read.ScopePlace) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Session, b.Session))
	})
	return list[:min(len(list), limit)], err
}

// newest returns the place of the last time.
func newest(times []time.Time) (at int) {
	for i := range times {
		if times[i].After(times[at]) {
			at = i
		}
	}
	return at
}

// shardOf returns the place of the shard that has facts of a session, or -1. A session of the same id
// in another tenant is on the same shard; see Bucket of package schema.
func shardOf(ctx context.Context, shards *cluster.Ledgers, session string) (int, error) {
	has := make([]bool, len(shards.All()))
	err := shards.Each(func(i int, l *ledger.Ledger) error {
		return l.SQL(files).Row(ctx, "has_session", chsql.Params{"session": chsql.Text(session)}).Scan(&has[i])
	})
	if err != nil {
		return 0, err
	}
	found := -1
	for i, there := range has {
		switch {
		case !there:
		case found >= 0:
			return 0, fmt.Errorf("%s and %s both have facts of session %s, so no answer is whole", shards.Shards[found], shards.Shards[i], session)
		default:
			found = i
		}
	}
	return found, nil
}

const (
	headView = "FROM ledger_head"
	// newestFact is the name of the parameter.
	newestFact = "newest_fact"
	// headGiven replaces the view by a parameter.
	headGiven = "FROM (SELECT parseDateTime64BestEffortOrZero({newest_fact:String}, 9, 'UTC') AS recorded_at)"
)

// withHead makes a query count its days back from the newest fact of all shards.
func withHead(ctx context.Context, shards *cluster.Ledgers, q queries.Query, bound map[string]string) (queries.Query, map[string]string, error) {
	if days := bound["days"]; days == "" || days == "0" || !strings.Contains(q.SQL, headView) {
		return q, bound, nil
	}
	heads := make([]time.Time, len(shards.All()))
	err := shards.Each(func(i int, l *ledger.Ledger) error { return l.SQL(files).Row(ctx, "head", nil).Scan(&heads[i]) })
	if err != nil {
		return q, bound, err
	}
	q.SQL = strings.ReplaceAll(q.SQL, headView, headGiven)
	return q, with(bound, newestFact, formatHead(heads)), nil
}

// formatHead returns the last of the times as the value of newestFact.
func formatHead(heads []time.Time) string {
	return heads[newest(heads)].UTC().Format("2006-01-02 15:04:05.000000000")
}

// with returns the values with one more.
func with(bound map[string]string, name, value string) map[string]string {
	more := map[string]string{name: value}
	maps.Copy(more, bound)
	return more
}

// mostRows returns how many rows an answer has at most, and how many it may have.
func mostRows(bound map[string]string, limits read.Limits) (most bounds) {
	most.allowed = limits.Rows
	if limit, ok := bound["limit"]; ok {
		if n, err := strconv.ParseUint(limit, 10, 64); err == nil {
			most.limit, most.limited = n, true
		}
	}
	return most
}
