package read

import (
	"context"
	"fmt"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/schema"
)

// sequenceRange is a stretch of a source's sequences in a session.
type sequenceRange struct {
	source      string
	first, last int64
}

// ScopeOutside returns sequences in the seals of a scope that belong to its session and not to
// the scope. Erased events are included. kinds are the kinds of sealed scopes that count.
// Memory holds as many ranges as the seals have.
func (l Reader) ScopeOutside(ctx context.Context, s Scope, kinds []string) ([]schema.SequenceRanges, error) {
	params := s.parameters()
	params["type"], params["kinds"] = chsql.Text(schema.TypeEnvelopeCreated), chsql.Texts(kinds)
	sealed, err := l.sealedRanges(ctx, params)
	if err != nil || len(sealed) == 0 {
		return nil, err
	}
	params["erasure"] = chsql.Text(schema.TypeErasureApplied)
	var list []schema.SequenceRanges
	for row := range l.sql.Rows(ctx, "scope_outside", params) {
		var source string
		var n int64
		if err := row.Scan(&source, &n); err != nil {
			return nil, fmt.Errorf("read events outside of the scope: %w", err)
		}
		for len(sealed) > 0 && (sealed[0].source < source || sealed[0].source == source && sealed[0].last < n) {
			sealed = sealed[1:]
		}
		if len(sealed) > 0 && sealed[0].source == source && sealed[0].first <= n {
			list = addSequence(list, source, n)
		}
	}
	return list, nil
}

// sealedRanges returns the ranges of seals, by source, in rising order and without overlap.
func (l Reader) sealedRanges(ctx context.Context, params chsql.Params) (list []sequenceRange, err error) {
	for row := range l.sql.Rows(ctx, "scope_sealed", params) {
		var r sequenceRange
		if err := row.Scan(&r.source, &r.first, &r.last); err != nil {
			return nil, fmt.Errorf("look for the seals of the scope: %w", err)
		}
		if i := len(list) - 1; i >= 0 && list[i].source == r.source && r.first <= list[i].last {
			list[i].last = max(list[i].last, r.last)
			continue
		}
		list = append(list, r)
	}
	return list, nil
}

// addSequence adds the next sequence to lists in rising order.
func addSequence(list []schema.SequenceRanges, source string, n int64) []schema.SequenceRanges {
	if i := len(list) - 1; i < 0 || list[i].Source != source {
		return append(list, schema.SequenceRanges{Source: source, Ranges: [][2]int64{{n, n}}})
	}
	of := &list[len(list)-1]
	if last := &of.Ranges[len(of.Ranges)-1]; last[1]+1 == n {
		last[1] = n
		return list
	}
	of.Ranges = append(of.Ranges, [2]int64{n, n})
	return list
}
