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
		Long: `Fill an installation with sessions of coding agents of many lengths, in several
tenants, with compactions, elisions, gaps, redactions, child runs and cold caches
about as often as in real session logs. The same seed gives the same events.

Without --quick the corpus is published into the stream, and the projector makes
rows of it as of any other events: recorded_at is now.

With --quick tens of millions are there in minutes: a part of the corpus goes
through a stream and the projector, and ClickHouse writes copies of its rows with
ids, positions and times of their own. They are in a database of their own,
` + bench.SeedDatabase + `, which no projector, rebuild or doctor touches; what was there
before is replaced. There is no stream behind these tables, so they cannot be
rebuilt, and no proof can be made of them: their digests are not those of events.
Without a running instance, ClickHouse is started on the data folder for as long
as it takes.`,
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

// writerOrStart returns the writer's address of ClickHouse: as given, that of the
// running instance, or that of one which it starts on the data folder. The caller
// calls stop when all is done.
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
