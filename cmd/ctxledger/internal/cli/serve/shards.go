package serve

import (
	"context"
	"errors"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/shardmap"
)

// openLedgers connects until Close to the ledgers to project into: to one, or on a cluster to that
// of each partition. The streams and ClickHouse must be of the same cluster.
func openLedgers(ctx context.Context, a *cli.App, js jetstream.JetStream) ([]*ledger.Ledger, error) {
	m, err := shardmap.Read(ctx, js)
	if errors.Is(err, shardmap.ErrNoMap) {
		l, err := a.OpenMigrated(ctx)
		var shard *cli.OnClusterError
		if errors.As(err, &shard) {
			return nil, shardmap.ErrNoMap
		}
		return []*ledger.Ledger{l}, err
	}
	if err != nil {
		return nil, err
	}
	shards, err := cli.OpenShardsMigrated(ctx, a, m.Cluster)
	if err != nil {
		return nil, err
	}
	if err := m.Check(ctx, js, shards); err != nil {
		return nil, err
	}
	return m.Ledgers(shards), nil
}

// pingAll reports whether every server answers.
func pingAll(ledgers []*ledger.Ledger) func(context.Context) error {
	var distinct []*ledger.Ledger
	for _, l := range ledgers {
		if !slices.Contains(distinct, l) {
			distinct = append(distinct, l)
		}
	}
	return func(ctx context.Context) error {
		for _, l := range distinct {
			if err := l.Ping(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}
