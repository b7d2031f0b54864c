package answer

import (
	"context"
	"slices"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/schema"
)

// Refusals returns the quarantined messages of all shards that fit, in the order in which the streams
// stored them, as [read.Reader.Refusals] visits them on one machine. All are in memory. Errors:
// [cluster.ErrShard] for a shard that does not answer.
func Refusals(ctx context.Context, shards *cluster.Ledgers, f read.RefusalFilter) ([]ledger.Refusal, error) {
	list, err := gather(shards, func(l *ledger.Ledger) (found []ledger.Refusal, err error) {
		err = read.Of(l).Refusals(ctx, f, func(r ledger.Refusal) error {
			found = append(found, r)
			return nil
		})
		return found, err
	})
	if err != nil {
		return nil, err
	}
	if f.Waiting {
		elsewhere, err := replaysElsewhere(ctx, shards)
		if err != nil {
			return nil, err
		}
		replayed := make(map[replayOf]bool, len(elsewhere))
		for _, r := range elsewhere {
			replayed[r.replayOf] = true
		}
		list = slices.DeleteFunc(list, func(r ledger.Refusal) bool {
			return replayed[replayOf{schema.TenantOf(r.Tenant), r.Incarnation, r.StreamSeq}]
		})
	}
	slices.SortStableFunc(list, func(a, b ledger.Refusal) int { return a.RecordedAt.Compare(b.RecordedAt) })
	return list, nil
}

// Replays returns the replays of a quarantined message on all shards, oldest first, as
// [read.Reader.Replays] does on one machine. Errors: [cluster.ErrShard] for a shard that does not answer.
func Replays(ctx context.Context, shards *cluster.Ledgers, of ledger.Refusal) ([]read.Replay, error) {
	list, err := gather(shards, func(l *ledger.Ledger) ([]read.Replay, error) { return read.Of(l).Replays(ctx, of) })
	slices.SortStableFunc(list, func(a, b read.Replay) int { return a.RecordedAt.Compare(b.RecordedAt) })
	return list, err
}

// gather asks all shards at the same time, and returns their rows in the order of the shards. The error
// of a shard names it.
func gather[T any](shards *cluster.Ledgers, ask func(*ledger.Ledger) ([]T, error)) (all []T, _ error) {
	found := make([][]T, len(shards.All()))
	err := shards.Each(func(at int, l *ledger.Ledger) (err error) {
		found[at], err = ask(l)
		return err
	})
	if err != nil {
		return nil, err
	}
	return slices.Concat(found...), nil
}
