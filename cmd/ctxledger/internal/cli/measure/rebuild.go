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
		Short: "Measure a rebuild beside a drain of the same events",
		Long: `Start NATS and ClickHouse on this machine, preload a stream as "bench projector"
does, and in turn drain it into fresh tables and rebuild these: project the stream
again beside them, compare the two sets row by row, and swap them.

Printed are the rates, CPU time and peak memory of both, how long the rebuild's
steps took, and the ratio of the times; 1.2 is the bar. Swapping is the time for
which nothing is projected into the live tables. Where a table differs, the
benchmark fails.`,
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
