package measure

import (
	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/bench"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
)

func benchRebuildCommand(a *cli.App) *cobra.Command {
	c, flags := bench.DefaultConfig(""), benchFlags{}
	c.Rounds = 3
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Measure a rebuild in ratio to a drain of the same events",
		Long: `Measure a rebuild in ratio to a drain of the same events. The benchmark fills a stream
as "bench projector" does, drains it into new tables, and rebuilds these: it projects the
stream again, compares the two sets row by row, and swaps them.

The report has rates, CPU time and peak memory of both, the time of each step of the
rebuild, and the ratio of the times. The bar is 1.2. Nothing is projected into the live
tables during the step "swap". The benchmark fails if a table differs.`,
		Example: `  ctxledger bench rebuild
  ctxledger bench rebuild --events 500000 --rounds 1 -o json
  ctxledger bench rebuild --profile rebuild.pprof && go tool pprof -top rebuild.pprof`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return benchmark(a, &c, flags, func() error { return c.Validate() }, func() (cli.Report, error) {
				report, err := bench.RunRebuild(cmd.Context(), c)
				return &report, err
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&c.Events, "events", c.Events, "how many events to preload")
	f.IntVar(&c.Rounds, "rounds", c.Rounds, "how often to drain and to rebuild; figures are medians")
	f.Uint64Var(&c.Seed, "seed", c.Seed, "seed of the events")
	f.StringVar(&c.Profile, "profile", "", "write a CPU profile of the last rebuild to this file")
	flags.register(cmd)
	return cmd
}
