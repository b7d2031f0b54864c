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
		Long: `Create what is missing and upgrade what is old: the JetStream streams and the
lease bucket, and in ClickHouse the database with its tables and views, whose
columns DESCRIBE TABLE explains. It changes no limit of a stream that exists, and
may be run at any time.

Where this version has newer rules of projection, they hold from the sequence after
the last commit on: what was projected stays as it is. migrate takes the lease of the
projectors for that, and prints the sequence. Projectors of older versions stop then;
start those of this version after it. From version 4 of the rules on, an event is the
tenant's on whose subject it was published.

With --partitions N the events are in N streams, CTX_0, CTX_1 and so on, by the
bucket of their session; several projectors share them. N is a power of two up to
256, and is fixed when the streams are created. Without it a new installation has
one stream, CTX. Producers and projectors find N from the server. An event's order
and identity are those within its stream.

To go on with another number: stop the producers, when their outboxes are empty;
wait until "ctxledger project --until-caught-up" has ended, and stop the
projectors; back the streams up; delete them; run migrate with the new number.
What was projected stays in the tables and still tells repeated events.`,
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

// CheckPartitions refuses a number that cannot be; 0 leaves it as it is.
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
