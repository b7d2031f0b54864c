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
	"github.com/ctxledger/ctxledger/projector/streamio"
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

// limitFlags are the flags of `retention set`.
type limitFlags struct {
	age, content, decisions              time.Duration
	bytes, contentBytes                  string
	ownAges, ownBytes                    map[string]string
	tenantAges, tenantBytes, tenantLasts map[string]string
	afterBackup, none                    bool
	output                               string
}

func retentionSetCommand(a *cli.App) *cobra.Command {
	var f limitFlags
	cmd := &cobra.Command{
		Use: "set", Short: "Set the limits of all streams of events and of the tables, and show what may leave",
		Long: retentionHelp + `

The limits hold for all processes from the next minute on. A new call replaces all
limits; --none removes them.

--tenant-age and --tenant-bytes are other limits for the streams of a tenant's own, which
"ctxledger migrate --tenant" makes. Messages that a tenant has in the shared streams leave
by the limits of those.

--content-age also removes old content from the tables: the data of events, with texts.
What the views show of facts stays, and so do ids, digests and leaves. Content stays while
its message is in a stream, so --content-age needs an --age that is not longer. No pack
can be exported of a session whose content has left; older packs verify as before. Messages
in quarantine lose their headers and bytes, and can then be replayed with a file only.

--content-bytes removes the oldest content of each tenant that has more, uncompressed and on
one machine, down to seven eighths. Once an hour a process reads all content for it.

--decision-age also removes the decisions of old sessions from the tables: items, selections,
windows, injections, compactions, gaps, calls and log entries. A session is old by its last
event. Its windows and costs can then not be shown any more. Content leaves first, so
--decision-age needs a --content-age that is not longer. Identities, leaves, scopes,
redactions, revocations, erasures and the reasons of quarantine never leave.

An age below two minutes is refused: for that time, the server remembers the ids of
messages to find repeats.`,
		Example: "  ctxledger retention set --age 720h\n  ctxledger retention set --bytes 20GiB --after-backup\n  ctxledger retention set --age 720h --content-age 2160h --tenant-content-age acme=720h\n  ctxledger retention set --age 720h --content-age 2160h --content-bytes 50GiB --decision-age 8760h\n  ctxledger retention set --none",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := f.policy()
			if err != nil {
				return err
			}
			return setRetention(cmd.Context(), a, p, f.output)
		},
	}
	cmd.Flags().DurationVar(&f.age, "age", 0, "remove messages that are older, such as 720h for 30 days")
	cmd.Flags().StringVar(&f.bytes, "bytes", "", "remove the oldest messages while a stream has more bytes, such as 20GiB")
	cmd.Flags().StringToStringVar(&f.ownAges, "tenant-age", nil, "another age for the messages in the streams of a tenant's own, such as acme=720h; 0s keeps them; may be repeated")
	cmd.Flags().StringToStringVar(&f.ownBytes, "tenant-bytes", nil, "another number of bytes for each stream of a tenant's own, such as acme=10GiB; 0B keeps all; may be repeated")
	cmd.Flags().DurationVar(&f.content, "content-age", 0, "remove content from the tables that is older, such as 2160h for 90 days")
	cmd.Flags().StringToStringVar(&f.tenantAges, "tenant-content-age", nil, "another age for the content of a tenant, such as acme=2160h; 0s keeps it; may be repeated")
	cmd.Flags().StringVar(&f.contentBytes, "content-bytes", "", "remove the oldest content of a tenant that has more bytes in the tables, such as 50GiB")
	cmd.Flags().StringToStringVar(&f.tenantBytes, "tenant-content-bytes", nil, "another number of bytes for a tenant, such as acme=10GiB; 0B keeps its content; may be repeated")
	cmd.Flags().DurationVar(&f.decisions, "decision-age", 0, "remove the decisions of sessions from the tables that ended before, such as 8760h for a year")
	cmd.Flags().StringToStringVar(&f.tenantLasts, "tenant-decision-age", nil, "another age for the decisions of a tenant, such as acme=4380h; 0s keeps them; may be repeated")
	cmd.Flags().BoolVar(&f.afterBackup, "after-backup", false, "keep messages that no full backup of \"ctxledger backup create\" has")
	cmd.Flags().BoolVar(&f.none, "none", false, "keep everything")
	cli.OutputFlag(cmd.Flags(), &f.output, "table or json", "table", "json")
	return cmd
}

// policy returns the policy that the flags describe.
func (f *limitFlags) policy() (p retention.Policy, err error) {
	p = retention.Policy{
		AgeSeconds: int64(f.age / time.Second), AfterBackup: f.afterBackup,
		ContentAgeSeconds: int64(f.content / time.Second), DecisionAgeSeconds: int64(f.decisions / time.Second),
	}
	if p.TenantAges, err = byTenant(f.ownAges, "--tenant-age", "an age, such as acme=720h", parseSeconds); err != nil {
		return p, err
	}
	if p.TenantBytes, err = byTenant(f.ownBytes, "--tenant-bytes", "a size, such as acme=10GiB", humanize.ParseBytes); err != nil {
		return p, err
	}
	if p.TenantContent, err = byTenant(f.tenantAges, "--tenant-content-age", "an age, such as acme=2160h", parseSeconds); err != nil {
		return p, err
	}
	if p.TenantDecisions, err = byTenant(f.tenantLasts, "--tenant-decision-age", "an age, such as acme=4380h", parseSeconds); err != nil {
		return p, err
	}
	if p.TenantContentBytes, err = byTenant(f.tenantBytes, "--tenant-content-bytes", "a size, such as acme=10GiB", humanize.ParseBytes); err != nil {
		return p, err
	}
	if p.Bytes, err = parseSize("--bytes", f.bytes); err != nil {
		return p, err
	}
	if p.ContentBytes, err = parseSize("--content-bytes", f.contentBytes); err != nil {
		return p, err
	}
	if f.none == !p.IsZero() || f.none && f.afterBackup {
		return p, cli.UsageError("give --age, --bytes or both, or --none to keep everything")
	}
	if err := p.Validate(); err != nil {
		return p, cli.WithCode(cli.ExitUsage, err)
	}
	return p, nil
}

// byTenant parses the values of a flag that has a value for each of several tenants.
func byTenant[N any](texts map[string]string, flag, want string, parse func(string) (N, error)) (map[string]N, error) {
	var all map[string]N
	for tenant, text := range texts {
		n, err := parse(text)
		if err != nil || tenant == "" {
			return nil, cli.UsageError("%s %s=%s: want a tenant and %s", flag, tenant, text, want)
		}
		if all == nil {
			all = make(map[string]N)
		}
		all[tenant] = n
	}
	return all, nil
}

func parseSeconds(text string) (int64, error) {
	age, err := time.ParseDuration(text)
	return int64(age / time.Second), err
}

// parseSize parses a size that is not 0. No text is no limit.
func parseSize(flag, text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := humanize.ParseBytes(text)
	if err != nil || n == 0 {
		return 0, cli.UsageError("%s %q: want a size, such as 20GiB", flag, text)
	}
	return n, nil
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
	streams, err := streamio.ReadStreams(ctx, js)
	if err != nil {
		return err
	}
	for _, tenant := range p.Tenants() {
		if !slices.ContainsFunc(streams, func(s streamio.EventStream) bool { return s.Tenant == tenant }) {
			return cli.UsageError("tenant %s has no streams of its own: only the limits of all streams hold for its messages; `ctxledger migrate --help` says how to make them", tenant)
		}
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
	for _, tenant := range r.Policy.Tenants() {
		of := r.Policy.Of(tenant)
		fmt.Fprintf(w, "the streams of tenant %s: messages older than %v leave, and the oldest ones above %s (0 is no limit)\n", tenant, of.Age(), storage.Size(int64(of.Bytes)))
	}
	writeTableLimits(w, r.Policy)
	if r.Policy.AfterBackup {
		fmt.Fprintln(w, "a message leaves after a backup has it")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Streams)) {
		fmt.Fprintf(w, "stream %s: %s\n", name, stateOf(r.Streams[name]))
	}
	return nil
}

// writeTableLimits writes the limits of the tables: those of all tenants, then those of single ones.
func writeTableLimits(w io.Writer, p retention.Policy) {
	age := func(seconds int64) time.Duration { return time.Duration(seconds) * time.Second }
	if p.ContentAgeSeconds > 0 {
		fmt.Fprintf(w, "content older than %v leaves the tables\n", age(p.ContentAgeSeconds))
	}
	for _, tenant := range slices.Sorted(maps.Keys(p.TenantContent)) {
		if own := p.TenantContent[tenant]; own > 0 {
			fmt.Fprintf(w, "content of tenant %s leaves the tables when it is older than %v\n", tenant, age(own))
		} else {
			fmt.Fprintf(w, "content of tenant %s stays in the tables at any age\n", tenant)
		}
	}
	if p.ContentBytes > 0 {
		fmt.Fprintf(w, "the oldest content of a tenant leaves the tables while it has more than %s\n", storage.Size(int64(p.ContentBytes)))
	}
	for _, tenant := range slices.Sorted(maps.Keys(p.TenantContentBytes)) {
		if own := p.TenantContentBytes[tenant]; own > 0 {
			fmt.Fprintf(w, "the oldest content of tenant %s leaves the tables while it has more than %s\n", tenant, storage.Size(int64(own)))
		} else {
			fmt.Fprintf(w, "content of tenant %s stays in the tables at any size\n", tenant)
		}
	}
	if p.DecisionAgeSeconds > 0 {
		fmt.Fprintf(w, "decisions of sessions that ended more than %v ago leave the tables\n", age(p.DecisionAgeSeconds))
	}
	for _, tenant := range slices.Sorted(maps.Keys(p.TenantDecisions)) {
		if own := p.TenantDecisions[tenant]; own > 0 {
			fmt.Fprintf(w, "decisions of tenant %s leave the tables %v after the end of their session\n", tenant, age(own))
		} else {
			fmt.Fprintf(w, "decisions of tenant %s stay in the tables\n", tenant)
		}
	}
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
	if r.Decisions > 0 {
		fmt.Fprintf(w, "removed %s of old sessions from the tables\n", ui.Plural(r.Decisions, "decision"))
	}
	return nil
}
