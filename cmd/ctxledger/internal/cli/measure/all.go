package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/bench"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
)

func benchAllCommand(a *cli.App) *cobra.Command {
	var quick bool
	var events int
	var suites []string
	var output string
	cmd := &cobra.Command{
		Use:   "all",
		Short: "Run all benchmarks and print one table",
		Long: `Run the benchmarks projector, rebuild, soak and queries one after the other, and
print their main figures as one table. The peer of a figure is a simpler way to do
the same, which is measured in the same run: a raw copy of the stream, the stream
itself, a drain. -o json has the whole reports, too.

The queries are asked about a corpus of 1,000,000 events that is made for them. All
of it takes less than ten minutes on two cores, and about a minute with --quick. The
figures of --quick only show that everything runs. Each benchmark has a command of
its own with more flags: see "ctxledger bench --help".

Nothing of your own is touched. The temporary folder takes about 2 GB; it is
removed at the end.`,
		Example: `  ctxledger bench all --quick
  ctxledger bench all -o json >bench.json
  ctxledger bench all --suite rebuild --events 5000`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			set := func(c *bench.AllConfig) {
				if c.Only = suites; cmd.Flags().Changed("events") {
					c.Size(events)
				}
			}
			return benchAll(cmd.Context(), a, quick, set, output)
		},
	}
	cmd.Flags().BoolVar(&quick, "quick", false, "use small sizes, to see that everything runs")
	cmd.Flags().IntVar(&events, "events", 0, "how many events each benchmark has; the corpus has ten times as many (default 100000)")
	cmd.Flags().StringArrayVar(&suites, "suite", nil, "only this benchmark: "+strings.Join(bench.Suites, ", ")+"; may be repeated")
	cli.OutputFlag(cmd.Flags(), &output, "table or json", "table", "json")
	return cmd
}

func benchAll(ctx context.Context, a *cli.App, quick bool, set func(*bench.AllConfig), output string) (err error) {
	dir, err := os.MkdirTemp("", "ctxledger-bench-")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c := bench.DefaultAllConfig(dir, quick)
	set(&c)
	if err := c.Validate(); err != nil {
		return cli.UsageError("%w", err)
	}
	bar := benchBar(a)
	c.Watch(func(suite string) {
		bar.done()
		fmt.Fprintf(a.Err, "bench %s\n", suite)
	}, bar.set, a.FetchProgress())
	report, err := bench.RunAll(ctx, c)
	bar.done()
	if err != nil {
		return err
	}
	return a.PrintReport(&report, output)
}
