package operate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/rebuild"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

type rebuildFlags struct {
	compareOnly, accept bool
	output              string
}

func RebuildCommand(a *cli.App) *cobra.Command {
	var flags rebuildFlags
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Project again from the stream, compare, and swap the tables",
		Long: `Project the stream again into new tables, in the database <database>_rebuild. Compare
the new tables with the live ones by row counts and digests over all columns, and swap
them. The live tables answer queries throughout. The live projector continues, and
hands over its lease for the swap. A rebuild needs no downtime.

If the tables differ, nothing is swapped, the differing tables are printed, and the exit
code is 4. Find out why; then --accept swaps the rebuilt tables in. --compare-only
(or --dry-run) never swaps, and removes the new tables.

If the stream begins later than the tables, older rows are kept. The first rebuilt
sequence is printed. Use this, too, if events expired before they were projected.

On a cluster the shards are rebuilt one after the other. Each keeps its live tables where
they differ, and the others are rebuilt all the same. Shards with replicas are refused.

The command may be interrupted or killed at any moment. Before the swap the live tables
do not change, and the next rebuild continues with the new tables. An interrupted swap
is finished by the next projector, rebuild or migrate.`,
		Example: `  ctxledger rebuild
  ctxledger rebuild --compare-only -o json
  ctxledger rebuild --accept`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags.compareOnly && flags.accept {
				return cli.UsageError("--compare-only swaps nothing: leave --accept away")
			}
			return runRebuild(cmd.Context(), a, flags)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&flags.compareOnly, "compare-only", false, "only compare; exit code 4 where the tables differ")
	f.BoolVar(&flags.compareOnly, "dry-run", false, "the same as --compare-only")
	f.BoolVar(&flags.accept, "accept", false, "swap although the tables differ")
	cli.OutputFlag(f, &flags.output, "table or json", "table", "json")
	return cmd
}

func runRebuild(ctx context.Context, a *cli.App, flags rebuildFlags) error {
	js, tables, err := openTables(ctx, a)
	if err != nil {
		return err
	}
	keys := cli.KeysIn(a.Flags.Data)
	if _, err := keys(); err != nil {
		return err
	}
	ring, err := a.RingIfAny()
	if err != nil {
		return err
	}
	streams, err := streamio.ReadStreams(ctx, js)
	if err != nil {
		return err
	}
	names := streamio.StreamNames(streams)
	var all []rebuiltJSON
	var differ []string // the shards; "" for a plain ledger
	for _, part := range tables.All() {
		own := part.Of(names)
		if len(own) == 0 { // a new shard
			continue
		}
		bar := ui.NewBar(a.Err, cli.IsTerminal(a.Err), "projecting again")
		done, err := rebuild.Rebuild{
			Projector: projector.ForRebuild, JetStream: js, Ledger: part.Ledger, Streams: own, Shards: tables.Others(part.Ledger),
			Keys: keys, Ring: ring, CompareOnly: flags.compareOnly, Accept: flags.accept, Log: a.Log(),
			Progress: func(done, total uint64) { bar.Set(int64(done), int64(total)) },
		}.Run(ctx)
		bar.Done()
		if err != nil && !errors.Is(err, rebuild.ErrDiffer) {
			err = tables.Failed(part.Ledger, err)
			return cli.Interrupted(ctx, err, "the live tables did not change, unless the swap had begun: the next projector, rebuild or migrate finishes it; run it again to continue")
		}
		if err != nil {
			differ = append(differ, part.Shard)
		}
		all = append(all, rebuiltJSON{
			part.Shard, len(done.Compared.Differences) == 0, done.Swapped, done.Finished, done.Resumed, done.Messages, done.Compared.Rows,
			done.Took.Seconds(), done.From, done.Compared.Differences,
		})
		if flags.output == "table" {
			if err := printRebuilt(a, part.Shard, done); err != nil {
				return err
			}
		}
	}
	if flags.output == "json" {
		var answer any = all
		if !tables.OnCluster() {
			answer = all[0]
		}
		if err := a.PrintJSON(answer); err != nil {
			return err
		}
	}
	switch {
	case len(differ) == 0:
		return nil
	case tables.OnCluster():
		return cli.WithCode(cli.ExitNotVerified, fmt.Errorf("the rebuilt tables of %s differ from the live ones, which stay: find out why; to use the rebuilt ones, run `ctxledger rebuild --accept`", strings.Join(differ, ", ")))
	case flags.compareOnly:
		return cli.WithCode(cli.ExitNotVerified, errors.New("the rebuilt tables differ from the live ones: find out why; to use the rebuilt ones, run `ctxledger rebuild --accept`"))
	}
	return cli.WithCode(cli.ExitNotVerified, errors.New("nothing was swapped: the rebuilt tables differ from the live ones. Find out why; to use the rebuilt ones, run `ctxledger rebuild --accept`"))
}

// rebuiltJSON is the output of `rebuild -o json`. On a cluster the output is a list, with one for each shard.
type rebuiltJSON struct {
	Shard       string                   `json:"shard,omitempty"`
	Equal       bool                     `json:"equal"`
	Swapped     bool                     `json:"swapped"`
	Finished    bool                     `json:"finished_earlier_swap"`
	Resumed     bool                     `json:"resumed"`
	Messages    uint64                   `json:"messages"`
	Rows        uint64                   `json:"rows_compared"`
	Seconds     float64                  `json:"seconds"`
	Streams     []shadow.Start           `json:"streams"`
	Differences []shadow.TableDifference `json:"differences"`
}

// printRebuilt prints the outcome for a plain ledger, whose shard is "", or for a shard.
func printRebuilt(a *cli.App, shard string, done rebuild.Rebuilt) error {
	if shard != "" {
		fmt.Fprintf(a.Out, "%s:\n", shard)
	}
	if done.Finished {
		_, err := fmt.Fprintln(a.Out, "finished the swap of an earlier rebuild that was cut off; nothing else was done")
		return err
	}
	if done.Resumed {
		fmt.Fprintln(a.Out, "continued an earlier rebuild")
	}
	for _, s := range done.From {
		if s.First > 1 {
			fmt.Fprintf(a.Out, "the stream %s begins with sequence %d: rebuilt from there on, older rows are kept\n", s.Stream, s.First)
		}
	}
	fmt.Fprintf(a.Out, "projected %d messages, compared %d rows in %d tables, in %s\n", done.Messages, done.Compared.Rows, done.Compared.Tables, done.Took.Round(time.Millisecond))
	for _, d := range done.Compared.Differences {
		fmt.Fprintf(a.Out, "%s: %d rows live, %d rebuilt, %d differ, the first at sequence %d of stream %s\n", d.Table, d.LiveRows, d.RebuiltRows, d.Differing, d.StreamSeq, d.Incarnation)
	}
	outcome := "the tables are equal"
	if len(done.Compared.Differences) > 0 {
		outcome = fmt.Sprintf("%d tables differ", len(done.Compared.Differences))
	}
	if done.Swapped {
		outcome += "; swapped"
	}
	_, err := fmt.Fprintln(a.Out, outcome)
	return err
}
