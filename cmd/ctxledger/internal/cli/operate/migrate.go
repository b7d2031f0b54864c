package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

func MigrateCommand(a *cli.App) *cobra.Command {
	var partitions int
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

To change the number of streams:
  1. Stop the producers when their outboxes are empty.
  2. Wait for the end of "ctxledger project --until-caught-up". Stop the projectors.
  3. Back up the streams, and delete them.
  4. Run migrate with the new number.
Rows in the tables stay, and repeated events are still recognised.`,
		Example: `  ctxledger migrate --partitions 4
  CTXLEDGER_NATS_URL=nats://… CTXLEDGER_CLICKHOUSE_DSN=clickhouse://… ctxledger migrate`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := CheckPartitions(partitions); err != nil {
				return err
			}
			js, err := a.ConnectNATS()
			if err != nil {
				return err
			}
			created, err := streamio.EnsurePartitions(cmd.Context(), js, schema.Partitions(partitions))
			for _, name := range created {
				fmt.Fprintf(a.Out, "created %s\n", name)
			}
			if errors.Is(err, streamio.ErrPartitions) {
				return cli.UsageError("%w; `ctxledger migrate --help` says what to do", err)
			}
			if err != nil {
				return err
			}
			l, err := a.OpenLedger(cmd.Context())
			if ledger.NotMigrated(err) {
				l, err = createLedger(cmd.Context(), a)
			}
			if err != nil {
				return err
			}
			applied, err := shadow.Of(l).Migrate(cmd.Context())
			for _, name := range applied {
				fmt.Fprintf(a.Out, "applied %s\n", name)
			}
			if err != nil {
				return err
			}
			waiting := time.AfterFunc(2*time.Second, func() {
				fmt.Fprintln(a.Err, "waiting for the lease of a projector, which hands it over, or has died and loses it after 10 s")
			})
			changed, err := streamio.EnsureRules(cmd.Context(), js, l, "", a.Log())
			waiting.Stop()
			for _, what := range changed {
				fmt.Fprintln(a.Out, what)
			}
			if err == nil && len(created)+len(applied)+len(changed) == 0 {
				fmt.Fprintln(a.Out, "everything is up to date")
			}
			return err
		},
	}
	cmd.Flags().IntVar(&partitions, "partitions", 0, "in how many streams the events are (default: as many as there are, or 1)")
	return cmd
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
