package measure

import (
	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/bench"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
)

func benchSoakCommand(a *cli.App) *cobra.Command {
	c, flags := bench.DefaultSoakConfig(""), benchFlags{}
	cmd := &cobra.Command{
		Use:   "soak",
		Short: "Load the projector evenly for some time",
		Long: `Publish at an even pace for some time, with a projector running. The benchmark starts
NATS and ClickHouse on this machine. Without --rate it first measures a drain, and uses
half of that rate.

Every ten seconds it prints the rate at which events became queryable, their latency,
the most active parts of a table (asked every second; the bar is 300), and the resident
memory of each process. Projector and publisher share one process.

The benchmark touches no data of yours. Its temporary folder takes about 3 kB an event,
and is removed at the end.`,
		Example: `  ctxledger bench soak
  ctxledger bench soak --rate 5000 --duration 2m -o json >soak.json`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return benchmark(a, &c.Config, flags, func() error { return c.Validate() }, func() (cli.Report, error) {
				report, err := bench.RunSoak(cmd.Context(), c)
				return &report, err
			})
		},
	}
	f := cmd.Flags()
	f.Float64Var(&c.Rate, "rate", 0, "events a second (default: half of the rate of a drain)")
	f.DurationVar(&c.Duration, "duration", c.Duration, "how long to publish")
	f.IntVar(&c.Events, "events", c.Events, "how many events to drain where no rate is given")
	f.Uint64Var(&c.Seed, "seed", c.Seed, "seed of the events")
	flags.register(cmd)
	return cmd
}
