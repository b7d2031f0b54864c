package operate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

func MigrateCommand(a *cli.App) *cobra.Command {
	var partitions int
	var layout streamio.Layout
	var readers []string
	var cluster string
	own := tenantFlags{}
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Create or upgrade the streams, the lease bucket and the tables",
		Long: `Create missing streams, buckets, tables and views, and upgrade old ones. DESCRIBE TABLE
explains the columns of a view. The command changes no limit of an existing stream, and
may be run at any time.

New rules of projection hold from the sequence after the last commit. Rows of earlier
events keep their rules. migrate takes the lease of the projectors for this, and prints
the sequence. Projectors of older versions then stop; start projectors of this version.
From version 4 of the rules on, the subject of an event decides its tenant.

--partitions N lays the events into N streams, CTX_0, CTX_1 and so on, by the bucket of
their session. Several projectors share them. N is a power of two up to 256, and is
fixed when the streams are created. The default is one stream, CTX. Producers and
projectors read N from the server. Order and identity of an event hold within its
stream.

--tenant T --partitions N gives tenant T streams of its own: CTX-T, or CTX_0-T, CTX_1-T and so
on. They have their own window for repeated messages, their own limit of batches under way
and their own transparency logs. --max-bytes is their size together on one server, and may
be changed later: a full stream refuses messages, which stay in the outbox of their publisher.
Events of T so far stay where they are, and one that is sent again counts once. The shared
streams then take the events of listed tenants only. The command prints the list. It has
the tenants with events or keys, and --tenant U adds U. A tenant keeps its own streams. On a
cluster of ClickHouse servers the number must be that of the shared streams: the sessions of a
tenant then stay on their shards.

--replicas 3 keeps every stream and bucket on three servers of a NATS cluster, and raises
those that have fewer replicas. The command waits until the new replicas have all
messages; it may be interrupted and run again. It refuses a number for which there are
not enough servers. The default is as many as there are, or 1.

--reader T makes the database ctxledger_of_T for the SQL of tenant T. It has one view for
each view of the ledger, with the rows of T. The user reader_T may read nothing else. Each
later migrate renews these databases after a change of a view. For this, the user of the
address needs these rights, which "ctxledger deploy clickhouse" gives:
  GRANT ALL ON ctxledger*.*
  GRANT SET DEFINER ON rows_*
  GRANT SELECT ON system.*
To remove a reader, drop its database and leave out its tenant in the configuration. On a
cluster the database is made on every shard, and dropped on every shard.

--cluster NAME makes the tables on every shard of a cluster of ClickHouse servers. NAME is
its name in remote_servers of their configuration. Each server has its number as the macro
shard. The address names any shard, and all have the same users, databases and TLS. A new
installation has 16 partitions then. The command assigns each partition to a shard. A shard
that is added later gets none: "ctxledger shards move" moves them. The command checks all
shards first. If one cannot be reached or differs, nothing is changed. SQL clients read all
shards in the database ctxledger_all; deploy/README.md says how. A shard may be several
servers, its replicas: it gets replicated tables. These were not run yet.

To change the number of streams:
  1. Stop the producers when their outboxes are empty.
  2. Wait for the end of "ctxledger project --until-caught-up". Stop the projectors.
  3. Back up the streams, and delete them.
  4. Run migrate with the new number.
Rows in the tables stay, and repeated events are still recognised.`,
		Example: `  ctxledger migrate --partitions 4
  ctxledger migrate --replicas 3
  ctxledger migrate --cluster shop
  ctxledger migrate --tenant acme --partitions 2 --max-bytes 20GB
  ctxledger migrate --tenant umbrella
  ctxledger migrate --cluster shop --tenant acme --partitions 16
  ctxledger migrate --reader acme --reader umbrella
  CTXLEDGER_NATS_URL=nats://… CTXLEDGER_CLICKHOUSE_DSN=clickhouse://… ctxledger migrate`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := CheckPartitions(partitions); err != nil {
				return err
			}
			if cmd.Flags().Changed("tenant") || cmd.Flags().Changed("max-bytes") {
				if err := own.check(partitions); err != nil {
					return err
				}
			} else {
				layout.Partitions = schema.Partitions(partitions)
			}
			if cmd.Flags().Changed("replicas") && layout.Replicas < 1 {
				return cli.UsageError("--replicas %d: want a number from 1 to 5", layout.Replicas)
			}
			if cmd.Flags().Changed("cluster") {
				return migrateCluster(cmd.Context(), a, layout, own, cluster, readers)
			}
			js, err := a.ConnectNATS()
			if err != nil {
				return err
			}
			if own.Tenant != "" {
				if m, err := shardmap.Read(cmd.Context(), js); err == nil {
					return cli.UsageError("the streams are laid out for the cluster %s: give --cluster %[1]s, too", m.Cluster)
				}
			}
			created, err := streamio.Ensure(cmd.Context(), js, layout)
			for _, what := range created {
				fmt.Fprintln(a.Out, what)
			}
			if err != nil {
				return layoutExit(err)
			}
			if err := awaitReplicas(cmd.Context(), a, js); err != nil {
				return err
			}
			l, err := a.OpenLedger(cmd.Context())
			if ledger.NotMigrated(err) {
				l, err = createLedger(cmd.Context(), a)
			}
			if err != nil {
				return onCluster(err)
			}
			applied, err := shadow.Of(l).Migrate(cmd.Context())
			for _, name := range applied {
				fmt.Fprintf(a.Out, "applied %s\n", name)
			}
			if err != nil {
				return err
			}
			waiting := tellWaiting(a)
			changed, err := streamio.EnsureRules(cmd.Context(), js, l, "", a.Log())
			waiting.Stop()
			for _, what := range changed {
				fmt.Fprintln(a.Out, what)
			}
			if err != nil {
				return err
			}
			laid, err := own.ensure(cmd.Context(), a, js, l)
			for _, what := range laid {
				fmt.Fprintln(a.Out, what)
			}
			if err != nil {
				return layoutExit(err)
			}
			made, err := shadow.Of(l).Readers(cmd.Context(), readers...)
			for _, name := range made {
				fmt.Fprintf(a.Out, "made the database %s\n", name)
			}
			if err == nil && len(created)+len(applied)+len(laid)+len(made)+len(changed) == 0 {
				fmt.Fprintln(a.Out, "everything is up to date")
			}
			return err
		},
	}
	cmd.Flags().IntVar(&partitions, "partitions", 0, "in how many streams the events are (default: as many as there are, or 1)")
	cmd.Flags().IntVar(&layout.Replicas, "replicas", 0, "on how many servers of a NATS cluster each stream is (default: as many as there are, or 1)")
	cmd.Flags().StringVar(&own.Tenant, "tenant", "", "the tenant of --partitions and --max-bytes; alone: a tenant of the shared streams")
	cmd.Flags().StringVar(&own.size, "max-bytes", "", "size of all streams of the tenant on one server, such as 20GB (default: what they have, or no limit)")
	cmd.Flags().StringVar(&cluster, "cluster", "", "make the tables on every shard of this cluster of ClickHouse servers")
	cmd.Flags().StringSliceVar(&readers, "reader", nil, "make the database of this tenant's reader; may be repeated")
	return cmd
}

// tenantFlags describe the streams of one tenant.
type tenantFlags struct {
	streamio.TenantLayout
	size string // of all streams, such as 20GB
}

// check parses the flags. It asks no server.
func (f *tenantFlags) check(partitions int) error {
	size, err := parseSize("--max-bytes", f.size)
	switch {
	case err != nil:
		return err
	case f.Tenant == "":
		return cli.UsageError("--max-bytes is for the streams of one tenant: give --tenant, too")
	}
	if err := schema.CheckStreamTenant(f.Tenant); err != nil {
		return cli.UsageError("--tenant: %w", err)
	}
	f.Partitions, f.MaxBytes = schema.Partitions(partitions), int64(min(size, math.MaxInt64))
	return nil
}

// ensure makes the streams of the tenant. Without a tenant it does nothing.
func (f *tenantFlags) ensure(ctx context.Context, a *cli.App, js jetstream.JetStream, ledgers ...*ledger.Ledger) ([]string, error) {
	if f.Tenant == "" {
		return nil, nil
	}
	for _, l := range ledgers {
		tables, err := ledger.ReadStorage(ctx, l)
		if err != nil {
			return nil, err
		}
		for _, t := range tables.Tenants {
			f.Known = append(f.Known, schema.TenantOf(t.Tenant))
		}
	}
	rings, err := cli.KeysIn(a.Flags.Data)()
	if err != nil {
		return nil, err
	}
	for _, ring := range rings {
		f.Known = append(f.Known, ring.Tenant)
	}
	return streamio.EnsureTenant(ctx, js, f.TenantLayout)
}

// layoutExit adds the next step to an error of the streams' layout.
func layoutExit(err error) error {
	if errors.Is(err, streamio.ErrTenant) {
		return cli.WithCode(cli.ExitUsage, err)
	}
	if errors.Is(err, streamio.ErrPartitions) {
		return cli.UsageError("%w; `ctxledger migrate --help` says what to do", err)
	}
	return err
}

// tellWaiting tells a person what a change of the rules waits for, until the result is stopped.
func tellWaiting(a *cli.App) *time.Timer {
	return time.AfterFunc(2*time.Second, func() {
		fmt.Fprintln(a.Err, "waiting for the lease of a projector, which hands it over, or has died and loses it within 10 s")
	})
}

// awaitReplicas waits until all replicas have all messages, and tells who is behind. It warns where
// a cluster keeps streams on one server.
func awaitReplicas(ctx context.Context, a *cli.App, js jetstream.JetStream) error {
	told := ""
	for {
		list, err := streamio.ReadReplicas(ctx, js)
		if err != nil {
			return err
		}
		behind := slices.IndexFunc(list, func(r streamio.Replicas) bool { return !r.Healthy() })
		if behind < 0 {
			if alone := slices.IndexFunc(list, streamio.Replicas.Alone); alone >= 0 {
				fmt.Fprintf(a.Err, "%s is on one server of the cluster %s, and is lost with it: `ctxledger migrate --replicas 3` keeps it on three\n", list[alone].Stream, list[alone].Cluster)
			}
			return nil
		}
		if now := list[behind].Stream; now != told {
			told = now
			fmt.Fprintln(a.Err, "waiting for replicas: "+list[behind].String())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// CheckPartitions refuses a number that cannot be; 0 changes nothing.
func CheckPartitions(n int) error {
	if n == 0 {
		return nil
	}
	if err := schema.Partitions(n).Validate(); err != nil {
		return cli.UsageError("--%w", err)
	}
	return nil
}

// onCluster tells a person who migrates one shard how to migrate all.
func onCluster(err error) error {
	var shard *cli.OnClusterError
	if errors.As(err, &shard) {
		return cli.UsageError("this ClickHouse is shard %d of the cluster %s: run `ctxledger migrate --cluster %[2]s`", shard.Own, shard.Cluster)
	}
	return err
}

// createLedger opens a ledger whose database is not there yet.
func createLedger(ctx context.Context, a *cli.App) (*ledger.Ledger, error) {
	found, err := a.Addresses()
	if err != nil {
		return nil, err
	}
	if err := ledger.CreateDatabase(ctx, found.ClickHouseDSN); err != nil {
		return nil, err
	}
	fmt.Fprintln(a.Out, "created the database")
	return a.OpenLedger(ctx)
}
