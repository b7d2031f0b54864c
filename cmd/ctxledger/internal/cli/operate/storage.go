package operate

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/storage"
	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/ledger"
)

// StorageCommand shows the bytes of both sides.
func StorageCommand(a *cli.App) *cobra.Command {
	var output, monitor string
	cmd := &cobra.Command{
		Use:   "storage",
		Short: "Show what both sides store, how fast it grows, and when a limit is reached",
		Long: `Show the size of each stream, bucket and table, its limit, and the free room of the disks.
Growth is estimated from the facts of the last hour and the last day, by the time of the
stream. A forecast uses the faster of both rates. A tenant's share in bytes is estimated
from its number of events. The forecast "retention" is that of a stream from which a
retention removes the oldest messages; see "ctxledger retention".

NATS does not tell its clients the limit of the whole server (max_file_store).
--nats-monitor names the address that does. The free room of NATS's disk is known only
for the servers of "ctxledger up".

On a cluster the tables of all shards are added, and the disks of each are shown. The command
waits while a partition moves to another shard.

A side that does not answer is named, and the other one is shown. The exit codes are
those of doctor: 5 if a server does not answer, 1 if it refuses.`,
		Example: "  ctxledger storage\n  ctxledger storage -o json",
		Args:    cli.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return showStorage(cmd.Context(), a, monitor, output) },
	}
	cmd.Flags().StringVar(&monitor, "nats-monitor", "", "monitoring address of the NATS server, such as http://127.0.0.1:8222")
	cli.OutputFlag(cmd.Flags(), &output, "table or json", "table", "json")
	return cmd
}

func showStorage(ctx context.Context, a *cli.App, monitor, output string) error {
	if _, err := a.Addresses(); err != nil {
		return err
	}
	var r storage.Report
	var natsErr, ledgerErr error
	if r.NATS, natsErr = natsStorage(ctx, a, monitor); natsErr != nil {
		r.NATS.Error = natsErr.Error()
	}
	if r.ClickHouse, ledgerErr = ledgerStorage(ctx, a); ledgerErr != nil {
		r.ClickHouse.Error = ledgerErr.Error()
	}
	if !a.NamesNATS() && a.Flags.ClickHouse == "" {
		local, err := localStorage(a.Flags.Data, r)
		if err != nil {
			return err
		}
		r.Local = &local
	}
	if err := a.PrintReport(r, output); err != nil {
		return err
	}
	worst := natsErr
	if worst == nil || cli.ExitCode(ledgerErr) == cli.ExitUnreachable {
		worst = ledgerErr
	}
	if worst == nil {
		return nil
	}
	return cli.WithCode(cli.ExitCode(worst), errors.New("a side could not be read: see above"))
}

func natsStorage(ctx context.Context, a *cli.App, monitor string) (n storage.NATS, err error) {
	js, err := a.ConnectNATS()
	if err != nil {
		return n, err
	}
	list, account, err := storage.ReadStreams(ctx, js)
	if err != nil {
		return n, err
	}
	n.Streams, n.Account = list, &account
	if monitor != "" {
		n.Server, err = storage.ReadMonitor(ctx, monitor, account.Growth)
	}
	return n, err
}

func ledgerStorage(ctx context.Context, a *cli.App) (c storage.ClickHouse, err error) {
	plain, all, err := cli.OpenWriters(ctx, a)
	if err != nil {
		return c, err
	}
	c.Growth = new(storage.Growth)
	if all == nil {
		s, err := ledger.ReadStorage(ctx, plain)
		if err == nil {
			c.Add(storage.OfLedger(s), "")
		}
		return c, err
	}
	err = all.Settled(ctx, func() error {
		c = storage.ClickHouse{Growth: new(storage.Growth)}
		for i, l := range all.All() {
			s, err := ledger.ReadStorage(ctx, l)
			if err != nil {
				return all.Shards[i].Failed(err)
			}
			c.Add(storage.OfLedger(s), all.Shards[i].String())
		}
		return nil
	})
	if err != nil {
		return storage.ClickHouse{}, err
	}
	return c, nil
}

// localStorage reads the disk of a data folder. Both sides fill it.
func localStorage(data string, r storage.Report) (storage.Local, error) {
	disk, err := storage.DiskOf(data)
	if err != nil {
		return storage.Local{}, err
	}
	var streams *storage.Growth
	if r.NATS.Account != nil {
		streams = r.NATS.Account.Growth
	}
	disk.Forecast = storage.Estimate(&disk.Free, streams.Add(r.ClickHouse.Growth))
	return storage.Local{Disk: disk, Backups: storage.SizeOf(embedded.BackupsDir(data))}, nil
}
