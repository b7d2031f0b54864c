package answer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/queries"
)

// ShardColumn is the first column of an answer of [Statement].
const ShardColumn = "shard"

// ErrShardColumn means that a statement has a column with the name of [ShardColumn].
var ErrShardColumn = errors.New("on a cluster the column " + ShardColumn + " is the number of the shard: give the column of the statement another name")

// Statement asks every shard a statement of the caller, and returns the rows of the first shard, then those
// of the next. The number of the shard is a column before the others. The limits apply to each shard, that
// of rows also to the answer. The caller closes the rows. Errors: [ErrShardColumn]; [read.ErrStatement] and
// [read.ErrReadOnly] for a wrong statement; [cluster.ErrShard] for a shard that does not answer.
func Statement(ctx context.Context, shards *cluster.Ledgers, sql string, limits read.Limits) (read.Rows, error) {
	wrong := make([]error, len(shards.All()))
	answers, err := askAll(ctx, shards, func(ctx context.Context, at int, l *ledger.Ledger) (read.Rows, error) {
		rows, err := turn.Query(ctx, l, queries.Query{SQL: sql}, nil, limits)
		if errors.Is(err, read.ErrStatement) || errors.Is(err, read.ErrReadOnly) {
			wrong[at] = err // on every shard
		}
		return rows, err
	})
	if err != nil {
		return nil, cmp.Or(cmp.Or(wrong...), err)
	}
	s := &statement{answers: answers, allowed: limits.Rows, columns: []read.ResultColumn{{Name: ShardColumn, Type: "UInt32"}}}
	for _, shard := range shards.Shards {
		s.numbers = append(s.numbers, shard.Number)
	}
	if slices.ContainsFunc(answers[0].Columns(), func(c read.ResultColumn) bool { return c.Name == ShardColumn }) {
		return nil, cmp.Or(s.Close(), ErrShardColumn)
	}
	s.columns = append(s.columns, answers[0].Columns()...)
	return s, nil
}

// statement are the rows of one shard after another.
type statement struct {
	columns []read.ResultColumn
	answers []read.Rows
	numbers []uint32 // of their shards
	at      int
	count   uint64
	allowed uint64 // more rows are an error; 0 allows any
	err     error
}

// Columns implements [read.Rows].
func (s *statement) Columns() []read.ResultColumn { return s.columns }

// Next implements [read.Rows].
func (s *statement) Next() bool {
	for s.err == nil && s.at < len(s.answers) {
		if s.answers[s.at].Next() {
			if s.count++; s.allowed > 0 && s.count > s.allowed {
				s.err = &read.LimitError{Limit: "rows", Value: fmt.Sprint(s.allowed)}
			}
			return s.err == nil
		}
		if s.err = s.answers[s.at].Err(); s.err == nil {
			s.at++
		}
	}
	return false
}

// Values implements [read.Rows].
func (s *statement) Values() []any {
	return append([]any{s.numbers[s.at]}, s.answers[s.at].Values()...)
}

// Err implements [read.Rows].
func (s *statement) Err() error { return s.err }

// Close implements [read.Rows].
func (s *statement) Close() error {
	var err error
	for _, rows := range s.answers {
		err = cmp.Or(err, rows.Close())
	}
	return cmp.Or(err, s.err)
}
