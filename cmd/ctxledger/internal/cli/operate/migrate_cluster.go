package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/rebuild"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// migrateCluster makes the streams, the tables of all shards and the map from partitions to shards, and then the
// streams of a tenant.
func migrateCluster(ctx context.Context, a *cli.App, layout streamio.Layout, own tenantFlags, name string, readers []string) error {
	js, err := a.ConnectNATS()
	if err != nil {
		return err
	}
	found, err := a.Addresses()
	if err != nil {
		return err
	}
	partitions, err := checkPartitions(ctx, js, own)
	if err != nil {
		return err
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
	ctx, release, err := holdTenants(ctx, a, js, own)
	if err != nil {
		return err
	}
	defer release()
	layout.Partitions = cmp.Or(layout.Partitions, partitions)
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
	if err := m.All(ctx, told); err != nil {
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
	added, err := own.ensure(ctx, a, js, shards.All()...)
	for _, what := range added {
		told(what)
	}
	if err != nil {
		return layoutExit(err)
	}
	streams, err := streamio.ReadStreams(ctx, js)
	if err != nil {
		return err
	}
	tables := laid.Tables(shards)
	defer tellWaiting(a).Stop()
	for _, stream := range streams {
		what, err := streamio.EnsureStreamRules(ctx, js, tables.Of(stream.Name), stream.Name, "", a.Log())
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

// checkPartitions returns the number of shared streams, which a new installation gets. It refuses streams of tenants
// that a cluster cannot project.
func checkPartitions(ctx context.Context, js jetstream.JetStream, own tenantFlags) (schema.Partitions, error) {
	n, err := streamio.ReadPartitions(ctx, js)
	if err == nil {
		_, _, err = shardmap.ReadStreams(ctx, js)
	}
	switch {
	case errors.Is(err, shardmap.ErrTenant):
		return 0, cli.UsageError("%w: keep ClickHouse on one server", err)
	case err != nil && !errors.Is(err, streamio.ErrNoStream): // migrate makes what is missing
		return 0, err
	}
	n = cmp.Or(n, shardmap.DefaultPartitions)
	if own.Partitions > 0 && own.Partitions != n {
		return 0, cli.UsageError("--partitions %d: %w: %d", own.Partitions, shardmap.ErrTenant, n)
	}
	return n, nil
}

// holdTenants keeps partitions where they are until release is called: a move goes on with the streams that it found
// when it began. Without streams of tenants there is nothing to wait for.
func holdTenants(ctx context.Context, a *cli.App, js jetstream.JetStream, own tenantFlags) (held context.Context, release func(), err error) {
	none := func() {}
	infos, err := streamio.ReadInfos(ctx, js, func(name string) bool {
		tenant, _, ok := schema.ParseStreamName(name)
		return ok && tenant != ""
	})
	if err != nil || own.Tenant == "" && len(infos) == 0 {
		return ctx, none, err
	}
	kv, err := lease.OpenBucket(ctx, js)
	if errors.Is(err, lease.ErrNoBucket) { // a new installation, in which nothing moves
		return ctx, none, nil
	}
	if err != nil {
		return ctx, none, err
	}
	lock, held, err := lease.Claim{
		KV: kv, Conn: js.Conn(), Key: lease.RebuildKey, Owner: uuid.NewString(), Timing: lease.DefaultTiming, Log: a.Log(),
	}.AcquireFree(ctx, rebuild.ErrBusy)
	if err != nil {
		return ctx, none, err
	}
	return held, func() { lock.End(ctx, nil) }, nil
}
