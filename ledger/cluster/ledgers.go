package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/ctxledger/ctxledger/ledger"
)

// ErrShard is wrapped by every error of one shard. The text names the shard.
var ErrShard = errors.New("the cluster does not answer")

// Ledgers are the connections to all shards of a cluster. Safe for concurrent use.
type Ledgers struct {
	Membership
	list    []*ledger.Ledger // in the order of Membership.Shards
	records []uint64         // revisions of their rows of cluster_shards
	stale   atomic.Bool      // the list of the shards has changed
}

// Open connects to all shards of the cluster that the ledger of dsn is one of. Open refuses a shard
// with another membership: a migration was cut off there, or the address leads to another server.
// Errors: [ErrShard] if a shard cannot be used. The caller closes the result.
func Open(ctx context.Context, dsn string, m Membership) (_ *Ledgers, err error) {
	all := &Ledgers{Membership: m, list: make([]*ledger.Ledger, len(m.Shards)), records: make([]uint64, len(m.Shards))}
	if err := all.Each(func(at int, _ *ledger.Ledger) error { return all.open(ctx, dsn, at) }); err != nil {
		return nil, errors.Join(err, all.Close())
	}
	return all, nil
}

// open connects to one shard.
func (all *Ledgers) open(ctx context.Context, dsn string, i int) (err error) {
	if all.list[i], err = all.Shards[i].open(ctx, dsn); err != nil {
		return err
	}
	found, err := Of(ctx, all.list[i])
	if err != nil {
		return err
	}
	want := all.Membership
	want.Own = all.Shards[i].Number
	if !want.equal(found) {
		return fmt.Errorf("it does not have the same record of the cluster: run `ctxledger migrate --cluster %s`", all.Cluster)
	}
	all.records[i] = found.revision
	return nil
}

// Close gives the connections back.
func (all *Ledgers) Close() error {
	var errs []error
	for _, l := range all.list {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	return errors.Join(errs...)
}

// All returns the ledgers in the order of the shards' numbers.
func (all *Ledgers) All() []*ledger.Ledger { return all.list }

// Each does the same on all shards at the same time, and returns the first error by [Shard.Failed]. at
// is the place of the shard in Shards.
func (all *Ledgers) Each(do func(at int, l *ledger.Ledger) error) error {
	var g errgroup.Group
	for i, l := range all.list {
		g.Go(func() error {
			if err := do(i, l); err != nil {
				return all.Shards[i].Failed(err)
			}
			return nil
		})
	}
	return g.Wait()
}

// Of returns the ledger of the shard with that number, or nil.
func (all *Ledgers) Of(number uint32) *ledger.Ledger {
	for i, s := range all.Shards {
		if s.Number == number {
			return all.list[i]
		}
	}
	return nil
}
