package measure

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/bench"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/deploy/embedded"
)

func benchSeedCommand(a *cli.App) *cobra.Command {
	c := bench.DefaultSeedConfig()
	var quick bool
	var output string
	cmd := &cobra.Command{
		Use:   "seed",
		Short: "Fill an installation with a corpus like that of one in use",
		Long: `Fill an installation with sessions of coding agents, in several tenants. Compactions,
elisions, gaps, redactions, child runs and cold caches are about as frequent as in real
session logs. The same seed gives the same events.

Without --quick the events are published into the stream, and the projector makes the
rows: recorded_at is now.

--quick makes tens of millions of rows in minutes. A part of the corpus goes through a
stream and the projector; ClickHouse then writes copies with new ids, positions and
times. The copies are in the database ` + bench.SeedDatabase + `, which no projector,
rebuild or doctor touches. Its earlier content is replaced. These tables have no stream:
they cannot be rebuilt, and have no proofs. Without a running instance, ClickHouse runs
on the data folder during the work.`,
		Example: `  ctxledger bench seed --events 100000
  ctxledger bench seed --quick --events 20000000 --data ./corpus
  ctxledger bench queries --data ./corpus --database ` + bench.SeedDatabase,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return benchSeed(cmd.Context(), a, c, quick, output) },
	}
	f := cmd.Flags()
	f.IntVar(&c.Events, "events", c.Events, "how many events")
	f.Uint64Var(&c.Seed, "seed", c.Seed, "seed of the events")
	f.IntVar(&c.Tenants, "tenants", c.Tenants, "how many tenants share them, the first most")
	f.IntVar(&c.Days, "days", c.Days, "about how many days the events span")
	f.BoolVar(&quick, "quick", false, "multiply rows in ClickHouse instead of publishing every event")
	f.IntVar(&c.Base, "base", c.Base, "how many events to project and multiply with --quick")
	cli.OutputFlag(f, &output, "table or json", "table", "json")
	return cmd
}

func benchSeed(ctx context.Context, a *cli.App, c bench.SeedConfig, quick bool, output string) (err error) {
	if err := c.Validate(); err != nil {
		return cli.UsageError("%w", err)
	}
	bar := benchBar(a)
	defer bar.done()
	c.Progress, c.Log = bar.set, a.Log()
	var seeded bench.Seeded
	if quick {
		seeded, err = seedQuickly(ctx, a, c)
	} else {
		seeded, err = seedStream(ctx, a, c)
	}
	bar.done()
	if err != nil {
		return err
	}
	if output == "json" {
		if err := json.MarshalWrite(a.Out, seeded); err != nil {
			return err
		}
		_, err = fmt.Fprintln(a.Out)
		return err
	}
	fmt.Fprintf(a.Out, "%d events of seed %d in %.1f s\n", seeded.Events, seeded.Seed, seeded.Seconds)
	if quick {
		_, err = fmt.Fprintf(a.Out, "%d copies of %d projected events in the database %s, %.0f MB\n", seeded.Copies, seeded.Base, seeded.Database, float64(seeded.Bytes)/1e6)
	}
	return err
}

func seedStream(ctx context.Context, a *cli.App, c bench.SeedConfig) (bench.Seeded, error) {
	js, err := a.ConnectNATS()
	if err != nil {
		return bench.Seeded{}, err
	}
	return bench.SeedStream(ctx, c, js)
}

func seedQuickly(ctx context.Context, a *cli.App, c bench.SeedConfig) (s bench.Seeded, err error) {
	dsn, stop, err := writerOrStart(ctx, a)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	return bench.SeedQuickly(ctx, c, dsn)
}

// writerOrStart returns the writer's address of ClickHouse: the named server, the running
// instance, or a server that it starts on the data folder. The caller calls stop when all is
// done.
func writerOrStart(ctx context.Context, a *cli.App) (dsn string, stop func() error, err error) {
	found, err := a.Addresses()
	switch {
	case err == nil:
		return found.ClickHouseDSN, func() error { return nil }, nil
	case !errors.Is(err, embedded.ErrNotRunning):
		return "", nil, err
	}
	c := embedded.DefaultConfig(a.Flags.Data)
	c.NoNATS, c.Progress, c.Log = true, a.FetchProgress(), a.Log()
	servers, err := embedded.Start(ctx, c)
	if err != nil {
		return "", nil, err
	}
	return servers.ClickHouseDSN(), servers.Close, nil
}
