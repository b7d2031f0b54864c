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
		Long: `Start NATS and ClickHouse on this machine and publish at an even pace for some
time, with a projector running. Without --rate, a drain is measured first and half
of its rate is taken.

Printed are, every ten seconds, the rate at which events became queryable and how
long they took from when they were due, the most active parts that a table had
(asked every second; the bar is 300), and the resident memory of each process. The
projector is in this one, with the publisher.

Nothing of your own is touched. The temporary folder takes about 3 kB an event
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
	f.Float64Var(&c.Rate, "rate", 0, "events a second (default: half of what a drain makes)")
	f.DurationVar(&c.Duration, "duration", c.Duration, "how long to publish")
	f.IntVar(&c.Events, "events", c.Events, "how many events to drain where no rate is given")
	f.Uint64Var(&c.Seed, "seed", c.Seed, "seed of the events")
	flags.register(cmd)
	return cmd
}
