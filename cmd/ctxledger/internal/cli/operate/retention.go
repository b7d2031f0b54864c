package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/storage"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/retention"
)

const retentionHelp = `Limit what the streams of events keep. Without limits they keep every message.

Once a minute, "ctxledger up" and "ctxledger project" remove the first messages of each
stream that are beyond a limit. A message stays until a commit before the last one and a
signed tree head have it. The tables keep the rows: queries, packs and proofs stay as
they are, and an event that is sent again still counts once. "ctxledger rebuild" copies
these rows and projects the rest again; it can no longer correct them.

The copies of quarantined messages leave with them; the table quarantine keeps the bytes
until an age of content removes them.
Redactions, their revocations and the facts of erasures never leave: they are copied to
the stream CTX_LASTING. Without the tables, the other facts of removed messages are lost.
Therefore make backups, and let removals wait for them with --after-backup.`

// RetentionCommand limits the streams of events.
func RetentionCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "retention", Short: "Limit the age and the size of the streams of events", Long: retentionHelp,
		Example: "  ctxledger retention set --age 720h --bytes 20GiB\n  ctxledger retention show\n  ctxledger retention run",
	}
	return cli.Group(cmd, retentionSetCommand(a), retentionShowCommand(a), retentionRunCommand(a))
}

func retentionSetCommand(a *cli.App) *cobra.Command {
	var age, content time.Duration
	var tenants map[string]string
	var bytes, output string
	var after, none bool
	cmd := &cobra.Command{
		Use: "set", Short: "Set the limits of all streams of events, and show what may leave",
		Long: retentionHelp + `

The limits hold for all processes from the next minute on. A new call replaces all
limits; --none removes them.

--content-age also removes old content from the tables: the data of events, with texts.
What the views show of facts stays, and so do ids, digests and leaves. Content stays while
its message is in a stream, so --content-age needs an --age that is not longer. No pack
can be exported of a session whose content has left; older packs verify as before. Messages
in quarantine lose their headers and bytes, and can then be replayed with a file only.

An age below two minutes is refused: for that time, the server remembers the ids of
messages to find repeats.`,
		Example: "  ctxledger retention set --age 720h\n  ctxledger retention set --bytes 20GiB --after-backup\n  ctxledger retention set --age 720h --content-age 2160h --tenant-content-age acme=720h\n  ctxledger retention set --none",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p := retention.Policy{AgeSeconds: int64(age / time.Second), AfterBackup: after, ContentAgeSeconds: int64(content / time.Second)}
			for tenant, text := range tenants {
				own, err := time.ParseDuration(text)
				if err != nil || tenant == "" {
					return cli.UsageError("--tenant-content-age %s=%s: want a tenant and an age, such as acme=2160h", tenant, text)
				}
				if p.TenantContent == nil {
					p.TenantContent = make(map[string]int64)
				}
				p.TenantContent[tenant] = int64(own / time.Second)
			}
			if bytes != "" {
				n, err := humanize.ParseBytes(bytes)
				if err != nil || n == 0 {
					return cli.UsageError("--bytes %q: want a size, such as 20GiB", bytes)
				}
				p.Bytes = n
			}
			if none == !p.IsZero() || none && after {
				return cli.UsageError("give --age, --bytes or both, or --none to keep everything")
			}
			if err := p.Validate(); err != nil {
				return cli.WithCode(cli.ExitUsage, err)
			}
			return setRetention(cmd.Context(), a, p, output)
		},
	}
	cmd.Flags().DurationVar(&age, "age", 0, "remove messages that are older, such as 720h for 30 days")
	cmd.Flags().StringVar(&bytes, "bytes", "", "remove the oldest messages while a stream has more bytes, such as 20GiB")
	cmd.Flags().DurationVar(&content, "content-age", 0, "remove content from the tables that is older, such as 2160h for 90 days")
	cmd.Flags().StringToStringVar(&tenants, "tenant-content-age", nil, "another age for the content of a tenant, such as acme=2160h; 0s keeps it; may be repeated")
	cmd.Flags().BoolVar(&after, "after-backup", false, "keep messages that no full backup of \"ctxledger backup create\" has")
	cmd.Flags().BoolVar(&none, "none", false, "keep everything")
	cli.OutputFlag(cmd.Flags(), &output, "table or json", "table", "json")
	return cmd
}

func retentionShowCommand(a *cli.App) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "show", Short: "Show the limits, where each stream begins, and what keeps its next message",
		Long: retentionHelp, Example: "  ctxledger retention show -o json", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return showRetention(cmd.Context(), a, output) },
	}
	cli.OutputFlag(cmd.Flags(), &output, "table or json", "table", "json")
	return cmd
}

func retentionRunCommand(a *cli.App) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "run", Short: "Remove now what the limits let go",
		Long: retentionHelp + `

A backup, a restore and a rebuild exclude this command. It may be interrupted and run
again.`,
		Example: "  ctxledger retention run", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			js, tables, err := openTables(cmd.Context(), a)
			if err != nil {
				return err
			}
			done, err := retention.Pass{JetStream: js, Tables: tables, Owner: uuid.NewString(), Log: a.Log()}.Run(cmd.Context())
			return errors.Join(err, a.PrintReport(removedReport{done}, output))
		},
	}
	cli.OutputFlag(cmd.Flags(), &output, "table or json", "table", "json")
	return cmd
}

func setRetention(ctx context.Context, a *cli.App, p retention.Policy, output string) error {
	js, _, err := openTables(ctx, a)
	if err != nil {
		return err
	}
	kv, err := lease.OpenBucket(ctx, js)
	if err != nil {
		return err
	}
	if err := retention.WritePolicy(ctx, kv, p); err != nil {
		return err
	}
	if err := showRetention(ctx, a, output); err != nil {
		return fmt.Errorf("the limits are set, but their effect cannot be shown: %w", err)
	}
	return nil
}

func showRetention(ctx context.Context, a *cli.App, output string) error {
	js, tables, err := openTables(ctx, a)
	if err != nil {
		return err
	}
	kv, err := lease.OpenBucket(ctx, js)
	if err != nil {
		return err
	}
	r := retentionReport{}
	if r.Policy, err = retention.ReadPolicy(ctx, kv); err != nil {
		return err
	}
	if r.Streams, err = retention.ReadStates(ctx, js, tables, kv); err != nil {
		return err
	}
	return a.PrintReport(r, output)
}

// retentionReport is the output of `retention show`.
type retentionReport struct {
	Policy  retention.Policy           `json:"policy"`
	Streams map[string]retention.State `json:"streams"`
}

// WriteTable writes the limits, and a line for each stream.
func (r retentionReport) WriteTable(w io.Writer) error {
	if r.Policy.IsZero() {
		return ui.Line(w, "The streams keep every message. \"ctxledger retention set\" limits them.")
	}
	if r.Policy.AgeSeconds > 0 {
		fmt.Fprintf(w, "messages older than %v leave\n", r.Policy.Age())
	}
	if r.Policy.Bytes > 0 {
		fmt.Fprintf(w, "the oldest messages leave while a stream has more than %s\n", storage.Size(int64(r.Policy.Bytes)))
	}
	if r.Policy.ContentAgeSeconds > 0 {
		fmt.Fprintf(w, "content older than %v leaves the tables\n", time.Duration(r.Policy.ContentAgeSeconds)*time.Second)
	}
	for _, tenant := range slices.Sorted(maps.Keys(r.Policy.TenantContent)) {
		if own := time.Duration(r.Policy.TenantContent[tenant]) * time.Second; own > 0 {
			fmt.Fprintf(w, "content of tenant %s leaves the tables when it is older than %v\n", tenant, own)
		} else {
			fmt.Fprintf(w, "content of tenant %s stays in the tables\n", tenant)
		}
	}
	if r.Policy.AfterBackup {
		fmt.Fprintln(w, "a message leaves after a backup has it")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Streams)) {
		fmt.Fprintf(w, "stream %s: %s\n", name, stateOf(r.Streams[name]))
	}
	return nil
}

// stateOf says where a stream begins and what may leave it.
func stateOf(s retention.State) string {
	if s.FirstAt.IsZero() {
		return "empty"
	}
	from := fmt.Sprintf("begins at sequence %d of %s", s.First, s.FirstAt.UTC().Format(time.RFC3339))
	reason := map[retention.Bound]string{
		retention.ByPolicy: "it is within the limits", retention.ByCommit: "the next start of a projector reads the last commit again",
		retention.ByHead: "no signed tree head has it", retention.ByBackup: "no full backup has it",
	}[s.Kept]
	if s.Through < s.First {
		return fmt.Sprintf("%s; nothing may leave: %s", from, reason)
	}
	return fmt.Sprintf("%s; may leave up to %d; the next message stays: %s", from, s.Through, reason)
}

// removedReport is the output of `retention run`.
type removedReport struct{ retention.Done }

// WriteTable writes a line for each stream.
func (r removedReport) WriteTable(w io.Writer) error {
	for _, s := range r.Streams {
		fmt.Fprintf(w, "stream %s: removed %s (%s), copied %s that never expire; %s\n", s.Stream, ui.Plural(s.Messages, "message"), storage.Size(int64(s.Bytes)), ui.Plural(s.Lasting, "fact"), stateOf(s.State))
	}
	if r.Emptied > 0 {
		fmt.Fprintf(w, "removed the content of %s from the tables\n", ui.Plural(r.Emptied, "event"))
	}
	if r.EmptiedRefused > 0 {
		fmt.Fprintf(w, "removed the bytes of %s in quarantine\n", ui.Plural(r.EmptiedRefused, "message"))
	}
	return nil
}
