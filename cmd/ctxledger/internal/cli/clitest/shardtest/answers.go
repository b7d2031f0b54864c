package shardtest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/ledger/cluster/answer"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/queries"
)

// SameAnswers compares the answers of the shards and of one machine, and returns the number of rows. A query
// that one shard answers is asked about one place after another, until it has rows. The rest are asked without a
// session, and every fourth also about a place. Without places, only the defaults are asked.
func (r *Rig) SameAnswers(shards *cluster.Ledgers, list []queries.Query, places []Place) int {
	r.T.Helper()
	var compared atomic.Int64
	var g errgroup.Group
	g.SetLimit(4)
	for i, q := range list {
		how, ok := q.Merge()
		if !ok {
			r.T.Errorf("%s is not answered on a cluster", q.Name)
			continue
		}
		g.Go(func() error {
			about := Questions(q, how)
			if len(places) == 0 {
				about = about[:min(len(about), 1)] // the defaults
			}
			for _, given := range about {
				compared.Add(r.Same(shards, q, given))
			}
			for j := range places { // two that follow each other are of different shards
				given, ok := QuestionOf(q, places[(i+j)%len(places)])
				if !ok || len(about) > 0 && !how.OfSession() && i%4 > 0 {
					break
				}
				if rows := r.Same(shards, q, given); rows > 0 {
					compared.Add(rows)
					break
				}
			}
			return nil
		})
	}
	_ = g.Wait()
	return int(compared.Load())
}

// Place is a turn, by which queries about a session or an item are asked.
type Place struct{ Session, Turn, Call, Item string }

// Places returns turns of this many sessions of every shard, first of those with redactions, decisions,
// gaps, tasks and repeats.
func (r *Rig) Places(shards *cluster.Ledgers, each int) (list []Place) {
	r.T.Helper()
	for i, l := range shards.All() {
		var found []struct {
			Session string `ch:"session_id"`
			Turn    string `ch:"turn"`
			Call    string `ch:"call"`
			Item    string `ch:"item"`
		}
		err := l.SQL(nil).Conn.Select(r.T.Context(), &found, `
			SELECT session_id, any(c.turn_id) AS turn, any(c.call_id) AS call, any(i.item_id) AS item
			FROM calls AS c INNER JOIN items AS i USING (session_id) GROUP BY session_id
			ORDER BY arraySum([
				session_id IN (SELECT session_id FROM redactions), session_id IN (SELECT session_id FROM decisions), session_id IN (SELECT session_id FROM missing),
				session_id IN (SELECT session_id FROM events WHERE task_id != ''), session_id IN (SELECT session_id FROM duplicates)]) DESC, session_id
			LIMIT $1`, each)
		if err != nil || len(found) < each {
			r.T.Fatalf("shard %d has %d sessions: %v", i+1, len(found), err)
		}
		for _, f := range found {
			list = append(list, Place{Session: f.Session, Turn: f.Turn, Call: f.Call, Item: f.Item})
		}
	}
	return list
}

// Has reports whether a query has a parameter.
func Has(q queries.Query, name string) bool {
	return slices.ContainsFunc(q.Parameters, func(p queries.Parameter) bool { return p.Name == name })
}

// Required reports whether a query has parameters without defaults.
func Required(q queries.Query) bool {
	return slices.ContainsFunc(q.Parameters, func(p queries.Parameter) bool { return p.Required })
}

// Questions returns arguments for a query without a place: some rows of some days, and its defaults unless
// these only give more of the same rows.
func Questions(q queries.Query, how queries.Merge) []map[string]string {
	if Required(q) {
		return nil
	}
	some := make(map[string]string)
	for name, value := range map[string]string{"limit": "40", "days": "12", "as_of": "2040-01-01T00:00:00Z"} {
		if Has(q, name) {
			some[name] = value
		}
	}
	if how.Combine == nil || len(some) == 0 {
		return []map[string]string{some}
	}
	return []map[string]string{nil, some}
}

// QuestionOf returns arguments for a query about a place, if it has any.
func QuestionOf(q queries.Query, at Place) (given map[string]string, ok bool) {
	given = make(map[string]string)
	for name, value := range map[string]string{"session_id": at.Session, "turn_id": at.Turn, "call_id": at.Call, "item_id": at.Item, "text": "the"} {
		if Has(q, name) && (name == "session_id" || Required(q)) {
			given[name] = value
		}
	}
	return given, len(given) > 0
}

// Same compares the answers of the shards and of one machine, and returns the number of rows.
func (r *Rig) Same(shards *cluster.Ledgers, q queries.Query, given map[string]string) int64 {
	r.T.Helper()
	bound, err := q.Bind(given)
	if err != nil {
		r.T.Error(err)
		return 0
	}
	got, err := AllRows(answer.Query(r.T.Context(), shards, q, maps.Clone(bound), read.DefaultLimits()))
	if err != nil {
		r.T.Errorf("%s %v: %v", q.Name, given, err)
		return 0
	}
	want, err := AllRows(turn.Query(r.T.Context(), r.Plain, q, bound, read.DefaultLimits()))
	if err != nil {
		r.T.Errorf("%s %v on one machine: %v", q.Name, given, err)
		return 0
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !EqualRows(got[i], want[i]) {
			r.T.Errorf("%s %v: %d rows, and %d on one machine; row %d is\n%v\nand on one machine\n%v", q.Name, given, len(got), len(want), i,
				got[min(i, len(got)):min(i+1, len(got))], want[min(i, len(want)):min(i+1, len(want))])
			return 0
		}
	}
	return int64(len(want))
}

// AllRows reads an answer.
func AllRows(rows read.Rows, err error) (list [][]any, _ error) {
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		list = append(list, slices.Clone(rows.Values()))
	}
	return list, errors.Join(rows.Err(), rows.Close())
}

// EqualRows compares two rows. Fractions may differ in their last digits, because a sum depends on its order.
// Rounding would not do: it takes two neighbours apart that lie on both sides of a half.
func EqualRows(a, b []any) bool {
	return slices.EqualFunc(a, b, func(a, b any) bool {
		x, isFraction := a.(float64)
		y, ok := b.(float64)
		if isFraction && ok {
			return x == y || math.Abs(x-y) <= 1e-12*max(math.Abs(x), math.Abs(y))
		}
		return fmt.Sprint(a) == fmt.Sprint(b)
	})
}
