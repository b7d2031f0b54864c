package operate

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/backup"
)

func backupRestoreCommand(a *cli.App) *cobra.Command {
	var output string
	var staging, published []string
	var store storeFlags
	cmd := &cobra.Command{
		Use: "restore BACKUP", Short: "Put a backup into an empty installation",
		Long: `Put a backup into an empty installation. First all files are compared with the manifest.
An incremental backup is restored with all backups that it needs, which are in the same target.
Nothing is overwritten: the command refuses servers that have events. The exit code is 4
if the backup is damaged, and then nothing was changed.

A backup of a cluster needs a cluster with the same numbers of shards, after "ctxledger migrate
--cluster". Each partition goes to the shard that the full backup names.

Put the folder keys/ of the backed-up installation into the data folder first, by
"ctxledger backup keys" or from a copy. The tables are restored into the database
<database>_rebuild and trimmed to the position of the manifest. Then the streams are restored, the rest is projected, and the transparency
log is compared with the manifest. At the end the tables are swapped.

The command may be killed at any moment: run it again with the same backup. Until its
end no projector writes. Until the streams are restored, no event is acknowledged;
runtimes with an outbox keep theirs.

The tables of an incremental backup are those of its full one, and the projection writes the
rest: the command takes longer than for a full backup.

What happened after the backup is not in it. Run erasures and revocations of that time
again. Was a tree head of that time published, such as to a witness? Name its file with
--published: the log then goes on as a new one, whose origin names that head. Otherwise
its next heads could contradict the published one.
` + storeHelp,
		Example: "  ctxledger backup restore /mnt/backups/backup-20261126T010000Z\n  ctxledger backup restore /mnt/backups/backup-20261126T010000Z --published CTX.checkpoint",
		Args:    folder,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, done, err := store.local(cmd.Context(), a, args[0])
			if err != nil {
				return err
			}
			defer done()
			return restoreBackup(cmd.Context(), a, dir, staging, published, output)
		},
	}
	store.add(cmd.Flags())
	cmd.Flags().StringArrayVar(&published, "published", nil, "file with a signed tree head that was published after the backup; may be repeated, once for each stream")
	stagingFlag(cmd.Flags(), &staging)
	cli.OutputFlag(cmd.Flags(), &output, "table or json", "table", "json")
	return cmd
}

func restoreBackup(ctx context.Context, a *cli.App, dir string, staging, published []string, output string) error {
	staging, err := stagingOf(a, staging)
	if err != nil {
		return err
	}
	var heads [][]byte
	for _, file := range published {
		head, err := os.ReadFile(file)
		if err != nil {
			return cli.UsageError("--published: %v", err)
		}
		heads = append(heads, head)
	}
	js, err := a.ConnectNATS()
	if err != nil {
		return err
	}
	tables, err := cli.OpenRestored(ctx, a, js)
	if err != nil {
		return err
	}
	ring, err := a.RingIfAny()
	if err != nil {
		return err
	}
	bars := backupBars{a: a}
	done, err := backup.Restore{
		JetStream: js, Tables: tables, Dir: dir, Staging: staging, Keys: cli.KeysIn(a.Flags.Data), Ring: ring, Published: heads,
		Projector: projector.ForRebuild, Log: a.Log(), Progress: bars.set,
	}.Run(ctx)
	bars.done()
	switch {
	case isDamaged(err):
		return cli.WithCode(cli.ExitNotVerified, err)
	case err != nil:
		return cli.Interrupted(ctx, err, "projectors wait until the restore ends; run it again with the same backup")
	}
	return a.PrintReport(restoreReport{done.Manifest.Name, done.Committed, done.Finished, done.Took.Seconds()}, output)
}

// restoreReport is the output of `backup restore`.
type restoreReport struct {
	Backup    string            `json:"backup"`
	Committed map[string]uint64 `json:"committed"` // last projected sequence by stream
	Finished  bool              `json:"finished_earlier"`
	Seconds   float64           `json:"seconds"`
}

// WriteTable writes a line for the restore and a line for each stream of events.
func (r restoreReport) WriteTable(w io.Writer) error {
	if r.Finished {
		_, err := fmt.Fprintf(w, "the installation already holds %s; nothing was done\n", r.Backup)
		return err
	}
	took := time.Duration(r.Seconds * float64(time.Second)).Round(time.Millisecond)
	fmt.Fprintf(w, "restored %s in %s; the transparency log is the one of the manifest\n", r.Backup, took)
	for _, name := range slices.Sorted(maps.Keys(r.Committed)) {
		fmt.Fprintf(w, "stream %s: projected up to sequence %d\n", name, r.Committed[name])
	}
	return nil
}
