package operate

import (
	"context"
	"errors"
	"fmt"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// migrateCluster makes the streams, the tables of all shards and the map from partitions to shards.
func migrateCluster(ctx context.Context, a *cli.App, layout streamio.Layout, name string, readers []string) error {
	js, err := a.ConnectNATS()
	if err != nil {
		return err
	}
	found, err := a.Addresses()
	if err != nil {
		return err
	}
	streams, err := streamio.ReadStreams(ctx, js)
	if err == nil && streams[len(streams)-1].Tenant != "" {
		return cli.UsageError("tenant %s has streams of its own, which a cluster cannot project: keep ClickHouse on one server", streams[len(streams)-1].Tenant)
	}
	m, err := cluster.Prepare(ctx, found.ClickHouseDSN, name)
	if err == nil {
		defer m.Close()
		err = m.CheckReaders(ctx, readers)
	}
	switch {
	case errors.Is(err, ledger.ErrUnreachable):
		return cli.WithCode(cli.ExitUnreachable, err)
	case errors.Is(err, cluster.ErrCluster):
		return cli.UsageError("%w", err)
	case err != nil:
		return err
	}
	done := 0
	told := func(what string) {
		done++
		fmt.Fprintln(a.Out, what)
	}
	if _, err := streamio.ReadPartitions(ctx, js); errors.Is(err, streamio.ErrNoStream) && layout.Partitions == 0 {
		layout.Partitions = shardmap.DefaultPartitions
	}
	created, err := streamio.Ensure(ctx, js, layout)
	for _, what := range created {
		told(what)
	}
	if err != nil {
		return layoutExit(err)
	}
	if err := awaitReplicas(ctx, a, js); err != nil {
		return err
	}
	if err := m.Run(ctx, told); err != nil {
		return err
	}
	if err := m.Readers(ctx, readers, told); err != nil {
		return err
	}
	shards, err := cli.OpenShards(ctx, a)
	if err != nil {
		return err
	}
	laid, made, err := shardmap.Ensure(ctx, js, shards)
	if err != nil {
		return err
	}
	if made {
		told(fmt.Sprintf("assigned %d partitions to %d shards", len(laid.Shards), len(shards.Shards)))
	}
	n, err := streamio.ReadPartitions(ctx, js)
	if err != nil {
		return err
	}
	ledgers := laid.Ledgers(shards)
	defer tellWaiting(a).Stop()
	for i, stream := range n.EventStreams() {
		what, err := streamio.EnsureStreamRules(ctx, js, ledgers[i], stream.Name, "", a.Log())
		if err != nil {
			return err
		}
		if what != "" {
			told(what)
		}
	}
	if done == 0 {
		fmt.Fprintln(a.Out, "everything is up to date")
	}
	return nil
}
