package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
)

var (
	// ErrMoving means that the rows of a partition are on two shards or on none, so that no answer would
	// be whole.
	ErrMoving = errors.New("a partition moves between two shards")
	// ErrMoved means that a partition moved during an answer. The answer may lack rows, or have some twice.
	ErrMoved = errors.New("a partition moved to another shard during this answer: ask again")
	// ErrOtherShards means that the list of shards is not the one that [Open] read. Open it again.
	ErrOtherShards = errors.New("the list of the shards has changed: ask again")
)

// A Layout is the place of all partitions at one time.
//
// The rows of a partition move between two servers, which no statement changes together. The table
// cluster_moves of the old shard therefore has a row from before the first change (closed) until after the
// last one. A reader takes the layout before its first statement. It compares the layout after the last
// one. In between the partitions were in one place, or the answer is [ErrMoved].
type Layout struct{ moves []move }

// A move is the newest row of cluster_moves of a shard, or zero.
type move struct {
	revision                  uint64
	partition, source, target uint32
	closed                    bool
}

const (
	layoutPatience = 15 * time.Second
	layoutPause    = 50 * time.Millisecond
)

// Layout waits until no partition is between two shards, at most 15 s. Errors: [ErrMoving],
// [ErrOtherShards], [ErrShard].
func (all *Ledgers) Layout(ctx context.Context) (Layout, error) {
	for deadline := time.Now().Add(layoutPatience); ; {
		now, err := all.layout(ctx)
		if err != nil {
			return now, err
		}
		at := slices.IndexFunc(now.moves, func(m move) bool { return m.closed })
		if at < 0 {
			return now, nil
		}
		if m := now.moves[at]; time.Now().After(deadline) {
			return now, fmt.Errorf("%w: partition %d goes from shard %d to shard %d. Ask again; if the move was interrupted, run `ctxledger shards move --partition %[2]d --to %[4]d`", ErrMoving, m.partition, m.source, m.target)
		}
		select {
		case <-ctx.Done():
			return now, context.Cause(ctx)
		case <-time.After(layoutPause):
		}
	}
}

// Still returns an error unless the layout is the same now: [ErrMoved], [ErrOtherShards] or [ErrShard].
func (all *Ledgers) Still(ctx context.Context, was Layout) error {
	now, err := all.layout(ctx)
	if err == nil && !slices.Equal(now.moves, was.moves) {
		err = ErrMoved
	}
	return err
}

// Settled runs a read of the shards, again if a partition has moved meanwhile. It waits while one moves, as
// Layout does. Errors: those of read, of Layout and of Still, but not [ErrMoved].
func (all *Ledgers) Settled(ctx context.Context, read func() error) error {
	for {
		before, err := all.Layout(ctx)
		if err != nil {
			return err
		}
		failed := read()
		if err := all.Still(ctx, before); errors.Is(err, ErrMoved) {
			continue
		} else if failed == nil {
			return err
		}
		return failed
	}
}

// Stale reports whether an earlier call found that the list of the shards has changed.
func (all *Ledgers) Stale() bool { return all.stale.Load() }

// layout reads the layout, which may be between two shards.
func (all *Ledgers) layout(ctx context.Context) (Layout, error) {
	now := Layout{make([]move, len(all.list))}
	err := all.Each(func(at int, l *ledger.Ledger) error {
		db := l.SQL(files)
		var revision uint64
		if err := db.Row(ctx, "revision", nil).Scan(&revision); err != nil {
			return fmt.Errorf("read the shards of the cluster: %w", err)
		}
		if revision != all.records[at] {
			all.stale.Store(true)
			return ErrOtherShards
		}
		m := &now.moves[at]
		_, err := db.First(ctx, "last_move", nil, &m.revision, &m.partition, &m.source, &m.target, &m.closed)
		if err != nil && !ledger.NoTable(err) { // a cluster of an earlier version has no moves
			return fmt.Errorf("read the moves of partitions: %w", err)
		}
		return nil
	})
	return now, err
}

func (all *Ledgers) writeMove(ctx context.Context, partition int, from, to uint32, closed bool) error {
	db := all.Of(from).SQL(files)
	if err := createMoves(ctx, db); err != nil {
		return err
	}
	err := db.Exec(ctx, "write_move", chsql.Params{
		"partition": chsql.Number(partition), "source": chsql.Number(from), "target": chsql.Number(to), "closed": chsql.Bool(closed),
	})
	if err != nil {
		return fmt.Errorf("note the move of the partition: %w", err)
	}
	return nil
}

// BeginMove makes readers wait, because the rows of a partition are about to be on two shards.
func (all *Ledgers) BeginMove(ctx context.Context, partition int, from, to uint32) error {
	return all.writeMove(ctx, partition, from, to, true)
}

// EndMove lets readers go on: the rows of the partition are on one shard. The call may be repeated.
func (all *Ledgers) EndMove(ctx context.Context, partition int, from, to uint32) error {
	return all.writeMove(ctx, partition, from, to, false)
}

func createMoves(ctx context.Context, db chsql.DB) error {
	if err := db.Exec(ctx, "create_moves", nil); err != nil {
		return fmt.Errorf("create the table cluster_moves: %w", err)
	}
	return nil
}
