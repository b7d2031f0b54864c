package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"filippo.io/age"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/status"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/projector/backup"
)

const backupHelp = `Copy the tables and the streams to a folder or a store, while everything runs. ClickHouse copies
the tables by its own BACKUP, and JetStream copies the streams by its snapshots. The
streams are copied after the tables, so that they are never older. The texts in CTX_TEXTS
are copied, too, encrypted by the tenants' keys. A backup has a
manifest with positions, signed tree heads, versions, and the SHA-256 of every file.

Keys are copied only with --recipient, encrypted by age (age-encryption.org). Without it,
keep a copy of keys/ in the data folder elsewhere. Content that is erased later stays in
a backup: delete old backups.

An incremental backup has only the messages that came since its base, another backup of the
target, and names those that were deleted meanwhile. A restore begins with the tables of the full
backup and projects the messages.`

// BackupCommand makes, verifies, lists and restores backups.
func BackupCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "backup", Short: "Copy both sides to a folder, check the copies, restore one", Long: backupHelp,
		Example: "  ctxledger backup create /mnt/backups\n  ctxledger backup create /mnt/backups --incremental\n  ctxledger backup list /mnt/backups\n  ctxledger backup verify /mnt/backups/backup-20261126T010000Z\n  ctxledger backup restore /mnt/backups/backup-20261126T010000Z",
	}
	return cli.Group(cmd, backupCreateCommand(a), backupVerifyCommand(a), backupListCommand(a), backupKeysCommand(a), backupRestoreCommand(a))
}

// folder accepts one argument, the folder of a backup or of several.
func folder(cmd *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return cli.UsageError("%s takes one folder, found %q", cmd.CommandPath(), args)
	}
	return nil
}

// createFlags are the flags of `backup create`.
type createFlags struct {
	base, output        string
	incremental         bool
	staging, recipients []string
	store               storeFlags
}

func backupCreateCommand(a *cli.App) *cobra.Command {
	var f createFlags
	cmd := &cobra.Command{
		Use: "create TARGET", Short: "Make a backup below a folder or in a store",
		Long: backupHelp + `

--incremental continues the newest whole backup of the target, --base another one. The command
refuses a base of another installation. It also refuses if messages have left a stream that the
tables of the full backup do not have, or if the tables were migrated since. Then make a full backup.
Do not delete a backup that others continue: "ctxledger backup list" shows the bases.

One backup runs at a time. An interrupted or killed backup leaves nothing that
"ctxledger backup list" shows; run the command again.

ClickHouse first writes to its own folder of backups (backups.allowed_path). This
program must see that folder. It is known for the servers of "ctxledger up"; for
another server, name it with --clickhouse-backups.

On a cluster a backup has the tables of all shards. Repeat --clickhouse-backups for each shard, in the
order of their numbers, or name one folder that all servers use. The command refuses while a partition
moves, and shards with replicas.
` + storeHelp,
		Example: "  ctxledger backup create /mnt/backups\n  ctxledger backup create /mnt/backups --incremental\n  ctxledger backup create /mnt/backups --clickhouse-backups /var/lib/clickhouse/backups\n  ctxledger backup create /mnt/backups --clickhouse-backups /mnt/shard1 --clickhouse-backups /mnt/shard2\n  ctxledger backup create /mnt/backups --recipient age1…\n  ctxledger backup create s3://bucket/ledger --s3-endpoint https://store.example.com",
		Args:    folder,
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := recipientsOf(f.recipients)
			if err != nil {
				return err
			}
			if f.base != filepath.Base(f.base) && f.base != "" {
				return cli.UsageError("--base %q: want the name of a backup of the target, such as %s…", f.base, backup.NamePrefix)
			}
			return createBackup(cmd.Context(), a, args[0], f, to)
		},
	}
	stagingFlag(cmd.Flags(), &f.staging)
	cmd.Flags().BoolVar(&f.incremental, "incremental", false, "copy only the messages since the newest backup of the target")
	cmd.Flags().StringVar(&f.base, "base", "", "copy only the messages since this backup of the target")
	f.store.add(cmd.Flags())
	cmd.Flags().StringArrayVar(&f.recipients, "recipient", nil, "copy the keys of the data folder, encrypted to this recipient of age; may be repeated")
	cli.OutputFlag(cmd.Flags(), &f.output, "table or json", "table", "json")
	return cmd
}

func stagingFlag(f *pflag.FlagSet, staging *[]string) {
	f.StringArrayVar(staging, "clickhouse-backups", nil, "ClickHouse's folder of backups, as this machine sees it; may be repeated, once for each shard of a cluster")
}

// stagingOf returns ClickHouse's folders of backups: the named ones, or that of the servers of "up".
func stagingOf(a *cli.App, named []string) ([]string, error) {
	switch {
	case len(named) > 0:
		return named, nil
	case a.Flags.ClickHouse != "":
		return nil, cli.UsageError("which folder does this ClickHouse use for backups? name the folder with --clickhouse-backups")
	}
	return []string{embedded.BackupsDir(a.Flags.Data)}, nil
}

func createBackup(ctx context.Context, a *cli.App, target string, f createFlags, recipients []age.Recipient) error {
	staging, err := stagingOf(a, f.staging)
	if err != nil {
		return err
	}
	js, tables, err := openTables(ctx, a)
	if err != nil {
		return err
	}
	var base string
	if f.incremental || f.base != "" {
		var done func()
		if base, done, err = f.baseOf(ctx, a, target); err != nil {
			return err
		}
		defer done()
	}
	bars := backupBars{a: a}
	var store backup.Store
	if isStore(target) {
		at, err := f.store.open(a, target)
		if err != nil {
			return err
		}
		store, target = receiver{at, bars.set}, f.store.workFolder(a)
	}
	build := status.ReadBuild()
	m, err := backup.Create{
		JetStream: js, Tables: tables, Target: target, Staging: staging, Base: base, Store: store,
		Keys: cli.KeysIn(a.Flags.Data), Seal: backup.Seal{Recipients: recipients, Folder: keyfile.Folder(a.Flags.Data)}, Version: strings.TrimSpace(build.Version + " " + build.Revision), Log: a.Log(), Progress: bars.set,
	}.Run(ctx)
	bars.done()
	if isDamaged(err) {
		return cli.WithCode(cli.ExitNotVerified, err)
	}
	if err != nil {
		return cli.Interrupted(ctx, err, "nothing of the backup is left; run it again")
	}
	return a.PrintReport(backupReport{m}, f.output)
}

// baseOf returns the folder with the manifest of the backup that an incremental one continues. Call done at
// the end.
func (f *createFlags) baseOf(ctx context.Context, a *cli.App, target string) (dir string, done func(), err error) {
	below, done, err := f.store.manifests(ctx, a, target)
	if err != nil || f.base != "" {
		return filepath.Join(below, f.base), done, err
	}
	list, err := backup.List(below)
	for _, l := range slices.Backward(list) {
		if l.Err == nil {
			return l.Dir, done, nil
		}
	}
	if done(); err == nil {
		err = fmt.Errorf("%s has no whole backup to continue: make a full one, without --incremental", target)
	}
	return "", nil, err
}

// isDamaged reports whether a backup or one that it needs cannot be used.
func isDamaged(err error) bool {
	for _, damage := range []error{backup.ErrNoBackup, backup.ErrChanged, backup.ErrChain, backup.ErrLater, backup.ErrOtherLog} {
		if errors.Is(err, damage) {
			return true
		}
	}
	return false
}

// backupBars draws one bar for each step. Safe for concurrent use.
type backupBars struct {
	a    *cli.App
	mu   sync.Mutex
	step string
	bar  *ui.Bar
}

func (b *backupBars) set(step string, done, total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if step != b.step {
		if b.bar != nil {
			b.bar.Done()
		}
		b.step, b.bar = step, ui.NewBar(b.a.Err, cli.IsTerminal(b.a.Err), step)
	}
	if total > 0 {
		done = min(done, total)
	}
	b.bar.Set(done, total)
}

func (b *backupBars) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bar != nil {
		b.bar.Done()
	}
}

func backupVerifyCommand(a *cli.App) *cobra.Command {
	var output string
	var store storeFlags
	cmd := &cobra.Command{
		Use: "verify BACKUP", Short: "Read all files of a backup, and compare them with its manifest",
		Long: `Read all files of a backup, and compare them with the digests in its manifest. An
incremental backup is read with all backups that it needs, which are in the same target. The
command needs no server. The exit code is 4 if a file is missing, changed, or not in the
manifest. The digests find damage; they do not prove who made the backup.
` + storeHelp,
		Example: "  ctxledger backup verify /mnt/backups/backup-20261126T010000Z",
		Args:    folder,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, done, err := store.local(cmd.Context(), a, args[0])
			if err != nil {
				return err
			}
			defer done()
			bars := backupBars{a: a}
			m, err := backup.Verify(cmd.Context(), dir, bars.set)
			bars.done()
			if err != nil {
				return cli.WithCode(cli.ExitNotVerified, err)
			}
			return a.PrintReport(backupReport{m}, output)
		},
	}
	store.add(cmd.Flags())
	cli.OutputFlag(cmd.Flags(), &output, "table or json", "table", "json")
	return cmd
}

// backupReport is a whole backup, for people and for programs.
type backupReport struct{ backup.Manifest }

// WriteTable writes a line for the backup, a line for its base if it has one, and a line for each stream of
// events.
func (r backupReport) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "%s: %d tables, %d streams, %d files, %d bytes; keys %s\n", r.Name, len(r.Tables), len(r.Streams), len(r.Files), r.Bytes(), r.Keys)
	if r.Incremental() {
		fmt.Fprintf(w, "incremental: continues %s\n", r.Base.Name)
	}
	for _, s := range r.Streams {
		if s.HoldsEvents() {
			if shard := r.ShardOf(s.Name); shard > 0 {
				fmt.Fprintf(w, "shard %d, ", shard)
			}
			fmt.Fprintf(w, "stream %s: up to sequence %d; tables: up to sequence %d, %d leaves in the log\n", s.Name, s.Last, s.Committed, s.LogSize)
		}
	}
	return nil
}

func backupListCommand(a *cli.App) *cobra.Command {
	var output string
	var store storeFlags
	cmd := &cobra.Command{
		Use: "list TARGET", Short: "List the whole backups below a folder or in a store",
		Long: `List the whole backups below a folder or in a store, the oldest first. Only their manifests are read;
"ctxledger backup verify" reads all files. Each incremental backup is shown with its base. The
exit code is 4 if a manifest is damaged or of a later version, or if a base is missing.
` + storeHelp,
		Example: "  ctxledger backup list /mnt/backups\n  ctxledger backup list /mnt/backups -o json",
		Args:    folder,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, done, err := store.manifests(cmd.Context(), a, args[0])
			if err != nil {
				return err
			}
			defer done()
			list, err := backup.List(dir)
			if err != nil {
				return err
			}
			var rows backupList
			for _, l := range list {
				if isStore(args[0]) {
					l.Dir = strings.TrimRight(args[0], "/") + "/" + filepath.Base(l.Dir)
				}
				if l.Err != nil {
					err = cli.WithCode(cli.ExitNotVerified, fmt.Errorf("%s: %w", l.Dir, l.Err))
					continue
				}
				row := listedBackup{Dir: l.Dir, MadeAt: l.MadeAt, Bytes: l.Bytes(), Version: l.Version, Base: l.Base.Name}
				for _, s := range l.Streams {
					if s.HoldsEvents() {
						row.Last += s.Last
					}
				}
				rows.Backups = append(rows.Backups, row)
			}
			if printErr := a.PrintReport(rows, output); printErr != nil {
				return printErr
			}
			return err
		},
	}
	store.add(cmd.Flags())
	cli.OutputFlag(cmd.Flags(), &output, "table or json", "table", "json")
	return cmd
}

// backupList is the output of `backup list`.
type backupList struct {
	Backups []listedBackup `json:"backups"`
}

// listedBackup is a whole backup in a list.
type listedBackup struct {
	Dir     string    `json:"dir"`
	MadeAt  time.Time `json:"made_at"`
	Bytes   int64     `json:"bytes"`
	Last    uint64    `json:"last"` // sum of the last sequences of the streams of events
	Version string    `json:"version"`
	Base    string    `json:"base,omitempty"` // the backup that an incremental one continues
}

// WriteTable writes a line for each backup.
func (l backupList) WriteTable(w io.Writer) error {
	for _, b := range l.Backups {
		after := ""
		if b.Base != "" {
			after = "  continues " + b.Base
		}
		fmt.Fprintf(w, "%s  %s  %d bytes  events up to sequence %d%s\n", b.Dir, b.MadeAt.Format(time.RFC3339), b.Bytes, b.Last, after)
	}
	if len(l.Backups) == 0 {
		fmt.Fprintln(w, "no backups")
	}
	return nil
}
