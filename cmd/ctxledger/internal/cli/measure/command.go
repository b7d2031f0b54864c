package measure

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/bench"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
)

func Command(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:     "bench",
		Short:   "Measure ctxledger on this machine",
		Example: `  ctxledger bench projector`,
	},
		benchAllCommand(a), benchProjectorCommand(a), benchRebuildCommand(a), benchSoakCommand(a), benchSeedCommand(a), benchQueriesCommand(a),
		benchServeCommand(a), benchWayCommand(a),
	)
}

type benchFlags struct {
	keep   string
	output string
}

func benchProjectorCommand(a *cli.App) *cobra.Command {
	c, flags := bench.DefaultConfig(""), benchFlags{}
	cmd := &cobra.Command{
		Use:   "projector",
		Short: "Measure the projector against the limit of its servers",
		Long: `Measure the projector in ratio to a raw copy of the same stream. The benchmark starts
NATS and ClickHouse in separate processes, and fills a stream with events of realistic
kinds and sizes. It then drains the stream into new tables, in turns:

  raw copy     reads by sequence, inserts the bytes of each message as one column
  drain        the projector, with the settings of "ctxledger project"
  without log  the projector without the transparency log

The ratio of drain to raw copy is the cost of validation, typed tables, digests and log.
Each drain is a separate process with its own CPU time and peak memory. Other work on
the machine slows all ways, but the projector more, since it uses all processors.

The report has events a second, CPU time and peak memory by process, parts, bytes on
disk by table and column, and latency. CPU time includes the merges of a round. Bytes
are counted before and after OPTIMIZE TABLE … FINAL.

Latency is the time from the due time of an event until a query finds it. Events are due
at an even pace: 25, 50 and 80% of the rate of the drain with default settings, and
2,000 a second with --linger 20ms. Events are published every 5 ms, and a query asks
every 20 ms. The figures are therefore up to 25 ms plus one query too long, and never
too short. The first second is left out.

200,000 events and five rounds take about five minutes. The benchmark touches no data of
yours. Its temporary folder takes about 2 kB an event and 1.3 kB more a round, and is
removed at the end.`,
		Example: `  ctxledger bench projector
  ctxledger bench projector --events 50000 --rounds 1 --latency 0
  ctxledger bench projector --events 500000 --rounds 1 --latency 0    # memory at a long backlog
  ctxledger bench projector -o json >bench.json
  ctxledger bench projector --profile drain.pprof && go tool pprof -top drain.pprof`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return benchmark(a, &c, flags, func() error { return c.Validate() }, func() (cli.Report, error) {
				report, err := bench.Run(cmd.Context(), c)
				return &report, err
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&c.Events, "events", c.Events, "how many events to preload")
	f.IntVar(&c.Rounds, "rounds", c.Rounds, "how often to copy and to drain; figures are medians")
	f.Uint64Var(&c.Seed, "seed", c.Seed, "seed of the events")
	f.DurationVar(&c.Latency, "latency", c.Latency, "how long to publish at each rate; 0 leaves latency out")
	f.StringVar(&c.Profile, "profile", "", "write a CPU profile of the last drain to this file")
	flags.register(cmd)
	return cmd
}

// register adds the common flags of benchmarks that start servers.
func (f *benchFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.keep, "keep", "", "use this folder for the servers' data and keep it; what an earlier run left there is replaced")
	cli.OutputFlag(cmd.Flags(), &f.output, "table or json", "table", "json")
}

// benchmark runs a benchmark in a temporary folder and prints its report.
func benchmark(a *cli.App, c *bench.Config, flags benchFlags, validate func() error, run func() (cli.Report, error)) (err error) {
	c.Dir = flags.keep
	if c.Dir == "" {
		if c.Dir, err = os.MkdirTemp("", "ctxledger-bench-"); err != nil {
			return fmt.Errorf("make a temporary folder: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(c.Dir)) }()
	}
	if err := validate(); err != nil {
		return cli.UsageError("%w", err)
	}
	c.Fetch, c.Log = a.FetchProgress(), a.Log()
	bar := benchBar(a)
	c.Progress = bar.set
	report, err := run()
	bar.done()
	if err != nil {
		return err
	}
	return a.PrintReport(report, flags.output)
}

// stepBar is a progress bar whose title is the step under way.
type stepBar struct {
	a    *cli.App
	step string
	bar  *ui.Bar
}

func benchBar(a *cli.App) *stepBar { return &stepBar{a: a, bar: ui.NewBar(a.Err, false, "")} }

func (b *stepBar) set(step string, done, total int64) {
	if step != b.step {
		b.bar.Done()
		b.step, b.bar = step, ui.NewBar(b.a.Err, cli.IsTerminal(b.a.Err), step)
	}
	b.bar.Set(done, total)
}

func (b *stepBar) done() { b.bar.Done() }

// benchServeCommand is the command of the child process of a benchmark.
func benchServeCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     bench.ServeCommand[1],
		Short:   "Run NATS for a benchmark until standard input ends",
		Hidden:  true,
		Example: `  ctxledger bench serve-nats --data DIR`,
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.Quietly(cmd.Context(), bench.ServeNATS(cmd.Context(), a.Flags.Data, a.In, a.Out))
		},
	}
}

// benchWayCommand is the command of each round of a benchmark, in a separate process.
func benchWayCommand(a *cli.App) *cobra.Command {
	var c bench.WayConfig
	cmd := &cobra.Command{
		Use:     bench.WayCommand[1],
		Short:   "Empty the stream one way, once standard input says so",
		Hidden:  true,
		Example: `  ctxledger bench way --way drain --events 1000`,
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.NATS, c.ClickHouse = a.Flags.NATS, a.Flags.ClickHouse
			return cli.Quietly(cmd.Context(), bench.FollowWay(cmd.Context(), c, a.In, a.Out))
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.Way, "way", "", "raw, unlogged, drain or rebuild")
	f.IntVar(&c.Events, "events", 0, "how many the stream has")
	f.StringVar(&c.Profile, "profile", "", "write a CPU profile to this file")
	return cmd
}
