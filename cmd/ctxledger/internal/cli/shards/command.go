// Package shards has the commands about the shards of a cluster of ClickHouse servers.
package shards

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/rebuild"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// Command is `ctxledger shards`.
func Command(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "shards",
		Short: "Show the shards of a cluster, and move partitions between them",
		Long: `Show which shard of a cluster of ClickHouse servers has which partition, and move a partition
to another shard.`,
		Example: "  ctxledger shards list\n  ctxledger shards move --partition 3 --to 2",
	}, listCommand(a), moveCommand(a))
}

// open connects to the streams and to all shards, and reads the map.
func open(ctx context.Context, a *cli.App) (jetstream.JetStream, *cluster.Ledgers, shardmap.Map, error) {
	js, err := a.ConnectNATS()
	if err != nil {
		return nil, nil, shardmap.Map{}, err
	}
	m, err := shardmap.Read(ctx, js)
	if err != nil {
		return nil, nil, m, err
	}
	all, err := cli.OpenShardsMigrated(ctx, a, m.Cluster)
	return js, all, m, err
}

// placeJSON is a partition in the output of `shards list -o json`.
type placeJSON struct {
	Partition int    `json:"partition"`
	Stream    string `json:"stream"`
	Shard     uint32 `json:"shard"`
	Server    string `json:"server"`
	Committed uint64 `json:"committed_sequence"`
	MovesTo   uint32 `json:"moves_to,omitzero"`
}

func listCommand(a *cli.App) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Show which shard has which partition",
		Long: `Show for each stream its partition, its shard, and the last sequence that is in the tables. A
tenant's own stream is on the shard of its partition. A shard without partitions has a line of
its own. The column moves shows a move that has not ended.`,
		Example: "  ctxledger shards list\n  ctxledger shards list -o json",
		Args:    cli.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return list(cmd.Context(), a, output) },
	}
	cli.OutputFlag(cmd.Flags(), &output, "table or json", "table", "json")
	return cmd
}

func list(ctx context.Context, a *cli.App, output string) error {
	js, all, m, err := open(ctx, a)
	if err != nil {
		return err
	}
	if err := m.Check(ctx, js, all); err != nil {
		return err
	}
	var places []placeJSON
	empty := make(map[uint32]bool)
	servers := make(map[uint32]string)
	for _, s := range all.Shards {
		empty[s.Number], servers[s.Number] = true, s.String()
	}
	streams, err := streamio.ReadStreams(ctx, js)
	if err != nil {
		return err
	}
	for _, stream := range streams {
		i := shardmap.PartitionOf(stream.Name)
		_, incarnation, err := streamio.OpenStream(ctx, js, stream.Name)
		if err != nil {
			return err
		}
		number := m.Shards[i]
		last, _, err := all.Of(number).LastCommit(ctx, incarnation)
		if err != nil {
			return fmt.Errorf("%s: %w", servers[number], err)
		}
		p := placeJSON{Partition: i, Stream: stream.Name, Shard: number, Server: servers[number], Committed: last.Last}
		if m.Move != nil && m.Move.Partition == i {
			p.MovesTo = m.Move.To
		}
		places, empty[number] = append(places, p), false
	}
	if output == "json" {
		return a.PrintJSON(places)
	}
	t := ui.Table{Columns: []ui.Column{{Name: "partition"}, {Name: "stream"}, {Name: "shard"}, {Name: "committed"}, {Name: "moves"}}}
	for _, p := range places {
		moves := ""
		if p.MovesTo > 0 {
			moves = fmt.Sprintf("to shard %d (%s)", p.MovesTo, m.Move.Step)
		}
		t.Rows = append(t.Rows, []string{fmt.Sprint(p.Partition), p.Stream, p.Server, fmt.Sprint(p.Committed), moves})
	}
	for _, s := range all.Shards {
		if empty[s.Number] {
			t.Rows = append(t.Rows, []string{"", "", s.String(), "", ""})
		}
	}
	return t.Write(a.Out, a.TableWidth(), "")
}

func moveCommand(a *cli.App) *cobra.Command {
	var partition int
	var to uint32
	var output string
	cmd := &cobra.Command{
		Use:   "move",
		Short: "Move a partition to another shard",
		Long: `Move all facts of a partition, with its sessions and its transparency log, to another shard. Producers,
projectors and queries go on.

Its streams, the shared one and those of tenants, are projected on the new shard, next to the tables
that answers come from, up to what the old shard has. Rows of messages that have left a stream are
copied. Both sides are compared, with their transparency logs. If they differ, nothing is moved, and
the exit code is 4. Then nobody projects the partition for a moment, and the rest is projected and
compared. Readers wait while the rows go from one side to the other. A reader that began before gets
an error, and asks again.

The command may be interrupted or killed at any moment: run it again. "ctxledger shards list" shows
a move that has not ended. While it is at the step "switching" or "dropping", readers get an error
and nobody projects this partition. One move runs at a time. It refuses to run next to a rebuild or
a retention. The new shard needs room for the partition twice, for a moment.

To add a shard, put it into remote_servers of all servers, with the next number, and run
"ctxledger migrate --cluster NAME". The new shard has no partition then.`,
		Example: "  ctxledger shards move --partition 3 --to 2",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, flag := range []string{"partition", "to"} {
				if !cmd.Flags().Changed(flag) {
					return cli.UsageError("--%s is missing: `ctxledger shards list` shows partitions and shards", flag)
				}
			}
			return move(cmd.Context(), a, partition, to, output)
		},
	}
	cmd.Flags().IntVar(&partition, "partition", 0, "number of the partition, from 0")
	cmd.Flags().Uint32Var(&to, "to", 0, "number of the new shard")
	cli.OutputFlag(cmd.Flags(), &output, "table or json", "table", "json")
	return cmd
}

// movedJSON is the output of `shards move -o json`.
type movedJSON struct {
	Stream    string   `json:"stream"`                   // the shared stream of the partition
	Tenants   []string `json:"tenant_streams,omitempty"` // the streams of tenants
	From      uint32   `json:"from"`
	To        uint32   `json:"to"`
	Already   bool     `json:"already"`
	Resumed   bool     `json:"resumed"`
	Messages  uint64   `json:"messages"`
	Rows      uint64   `json:"rows_compared"`
	Differing []string `json:"differing_tables"`
	Seconds   float64  `json:"seconds"`
	Switching float64  `json:"switching_seconds"`
	Waiting   float64  `json:"waiting_seconds"`
}

func move(ctx context.Context, a *cli.App, partition int, to uint32, output string) error {
	js, all, _, err := open(ctx, a)
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
	bar := ui.NewBar(a.Err, cli.IsTerminal(a.Err), "projecting again")
	done, err := rebuild.Move{
		JetStream: js, Shards: all, Partition: partition, To: to, Keys: keys, Ring: ring, Projector: projector.ForRebuild, Log: a.Log(),
		Progress: func(done, total uint64) { bar.Set(int64(done), int64(total)) },
	}.Run(ctx)
	bar.Done()
	switch {
	case errors.Is(err, rebuild.ErrMove):
		return cli.WithCode(cli.ExitUsage, err)
	case err != nil && !errors.Is(err, rebuild.ErrDiffer):
		return cli.Interrupted(ctx, err, "the move has not ended: run it again")
	}
	var tables []string
	for _, d := range done.Compared.Differences {
		tables = append(tables, fmt.Sprintf("%s: %d rows on shard %d, %d in its copy", d.Table, d.LiveRows, done.From, d.RebuiltRows))
	}
	if output == "json" {
		if err := a.PrintJSON(movedJSON{
			done.Streams[0], done.Streams[1:], done.From, done.To, done.Already, done.Resumed, done.Messages, done.Compared.Rows, tables,
			done.Took.Seconds(), done.Switching.Seconds(), done.Waiting.Seconds(),
		}); err != nil {
			return err
		}
	}
	if err != nil {
		return cli.WithCode(cli.ExitNotVerified, fmt.Errorf("nothing was moved: the copy of partition %d differs (%s). `ctxledger rebuild --compare-only` looks for the reason", partition, strings.Join(tables, "; ")))
	}
	if output == "json" {
		return nil
	}
	if done.Already {
		_, err = fmt.Fprintf(a.Out, "partition %d is on shard %d\n", partition, done.To)
		return err
	}
	_, err = fmt.Fprintf(a.Out, "moved %s from shard %d to shard %d: projected %d messages, compared %d rows, in %s; nobody projected it for %s, and readers waited for %s\n",
		"stream "+strings.Join(done.Streams, " and stream "), done.From, done.To, done.Messages, done.Compared.Rows, done.Took.Round(time.Millisecond), done.Switching.Round(time.Millisecond), done.Waiting.Round(time.Millisecond))
	return err
}
