package measure

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/bench"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
)

func benchQueriesCommand(a *cli.App) *cobra.Command {
	c := bench.DefaultQueriesConfig()
	var database, output string
	cmd := &cobra.Command{
		Use:   "queries",
		Short: "Measure every query of the catalogue",
		Long: `Ask every query of the catalogue in each of its scopes, and print times, cold and warm,
and the rows, bytes and memory that it needed. The commands window, why and diff are
measured, too:

  turn            only the required parameters, such as a turn          bar   1 s
                  (window and why: 50 ms; diff, two windows: 100 ms)
  session         one session, without its tenant                       bar   1 s
                  (sessions, its summary: 100 ms)
  tenant 30 days  one tenant, the last 30 days if the query has days    bar   1 s
  everything      the defaults of all parameters, or a turn of any
                  session                                               bar   5 s

The arguments are drawn from the ledger, the same each time. A figure is over its bar if
the warm 95th percentile is. Cold is the first run after the server has dropped its
caches, or the first run with these arguments if the user may not drop them. Pages in
the cache of the system stay. CPU time is the sum of all threads. Rows, bytes, memory
and CPU time are the highest of all runs. An interrupted run prints its figures so far.
The limits of ` + "`ctxledger query`" + ` apply.

Without a running instance, ClickHouse runs on the data folder during the benchmark.`,
		Example: `  ctxledger bench queries
  ctxledger bench queries --data ./corpus --database ` + bench.SeedDatabase + ` -o json >queries.json
  ctxledger bench queries --only window --only sessions`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return benchQueries(cmd.Context(), a, c, database, output) },
	}
	f := cmd.Flags()
	f.StringVar(&database, "database", "", "the database of the ledger (default: that of the address)")
	f.StringArrayVar(&c.Only, "only", nil, "only the query or command of this name; may be repeated")
	f.IntVar(&c.Samples, "samples", c.Samples, "about how many turns and sessions to ask")
	f.IntVar(&c.Rounds, "rounds", c.Rounds, "how often to ask queries about a tenant or everything")
	f.DurationVar(&c.MaxTime, "max-time", c.MaxTime, "end a query after this long")
	cli.OutputFlag(f, &output, "table or json", "table", "json")
	return cmd
}

func benchQueries(ctx context.Context, a *cli.App, c bench.QueriesConfig, database, output string) (err error) {
	if err := c.Validate(); err != nil {
		return cli.UsageError("%w", err)
	}
	dsn, stop, err := writerOrStart(ctx, a)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if database != "" {
		if dsn, err = bench.InDatabase(dsn, database); err != nil {
			return err
		}
	}
	bar := benchBar(a)
	c.Progress = bar.set
	report, err := bench.RunQueries(ctx, c, dsn)
	bar.done()
	if err != nil && len(report.Queries) == 0 {
		return err
	}
	err = cli.Interrupted(ctx, err, "the figures are of the queries until then")
	return errors.Join(err, a.PrintReport(&report, output))
}
