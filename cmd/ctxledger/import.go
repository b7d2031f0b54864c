package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/progress"
	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/importer"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/schema"
)

type importFlags struct {
	tenant    string
	storeText bool
	noWait    bool
}

func (a *app) importCommand() *cobra.Command {
	var flags importFlags
	cmd := &cobra.Command{
		Use:   "import FORMAT PATH…",
		Short: "Turn session logs that you already have into facts",
		Long: `Turn session logs into facts. FORMAT is claude-code; a PATH is a .jsonl file, or
a folder, which is searched for them (Claude Code keeps its own under
~/.claude/projects).

Text is not stored unless --store-text is given: digests, sizes and token counts
are. What a log does not say stays unknown. Importing a log again changes
nothing, and a log that has grown adds what is new; for that, digests are made
with the tenant's first key, whatever the current one is.

Lines that cannot be read are reported with file, line and reason; everything
else goes in, and the exit code is 3.`,
		Example: `  ctxledger import claude-code ~/.claude/projects
  ctxledger import claude-code session.jsonl --tenant acme`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usageError("import takes a format and at least one path: ctxledger import claude-code PATH…")
			}
			if args[0] != "claude-code" {
				return usageError("unknown format %q: there is claude-code", args[0])
			}
			if flags.tenant == "" {
				return usageError("--tenant is empty: leave it away for %q", schema.DefaultTenant)
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return []string{"claude-code"}, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.importLogs(cmd.Context(), args[1:], flags) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.tenant, "tenant", schema.DefaultTenant, "whose sessions these are")
	f.BoolVar(&flags.storeText, "store-text", false, "store the text of the items, too")
	f.BoolVar(&flags.noWait, "no-wait", false, "return once the stream has the facts, without waiting for the tables")
	return cmd
}

func (a *app) importLogs(ctx context.Context, paths []string, flags importFlags) error {
	nc, js, err := a.connectNATS()
	if err != nil {
		return err
	}
	defer nc.Close()
	before, err := lastSequence(ctx, js)
	if err != nil {
		return err
	}
	report, err := a.publishLogs(ctx, producer.NewPublisher(js, 0), paths, flags)
	for _, p := range report.Problems {
		fmt.Fprintln(a.err, p)
	}
	if report.MoreProblems > 0 {
		fmt.Fprintf(a.err, "and %d more problems of the same files\n", report.MoreProblems)
	}
	if err != nil {
		const advice = "a part may be stored; import again, and nothing is stored twice"
		return interrupted(ctx, fmt.Errorf("import: %w; %s", err, advice), advice)
	}
	printReport(a.out, report)
	if !flags.noWait {
		if err := a.awaitTables(ctx, js, before); err != nil {
			const stored = "everything is in the stream, and goes into the tables while a projector runs"
			return interrupted(ctx, fmt.Errorf("wait for the tables: %w; %s", err, stored), stored)
		}
	}
	if len(report.Problems) > 0 {
		return errRefused
	}
	return nil
}

// publishLogs imports every file below the paths. One file's problem does not
// keep the others out; an error is one of the stream or of the machine.
func (a *app) publishLogs(ctx context.Context, publisher *producer.Publisher, paths []string, flags importFlags) (importer.Report, error) {
	var report importer.Report
	ring, err := keyfile.Open(a.flags.data, flags.tenant)
	if err != nil {
		return report, err
	}
	counter := window.NewCounter(window.CounterConfig{})
	for _, path := range paths {
		files, problems := importer.Files(path)
		report.Problems = append(report.Problems, problems...)
		for _, file := range files {
			bar := progress.New(a.err, isTerminal(a.err), "importing "+file)
			options := importer.Options{
				Tenant: flags.tenant, Key: ring.Keys[0], StoreText: flags.storeText, Progress: bar.Set,
				Count: func(model, text string) (int64, string) {
					count := counter.Count(model, text)
					return int64(count.Tokens), count.Estimator
				},
			}
			part, err := importer.ClaudeCodeFile(ctx, file, options, func(e *schema.Event) error { return publisher.Publish(ctx, e) })
			bar.Done()
			report.Merge(part)
			if err != nil {
				return report, err // names the file
			}
		}
	}
	return report, publisher.Flush(ctx)
}

func printReport(w io.Writer, r importer.Report) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	written := r.Tokens.CacheWrite + r.Tokens.CacheWrite5m + r.Tokens.CacheWrite1h
	fmt.Fprintln(t, "FILES\tSESSIONS\tCALLS\tINPUT\tCACHE READ\tCACHE WRITE\tOUTPUT\tTOOL USES\tCOMPACTIONS\tFACTS\t")
	fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", r.Files, r.Sessions, r.Calls, r.Tokens.UncachedInput,
		r.Tokens.CacheRead, written, r.Tokens.Output, r.ToolUses, r.Compactions+r.Microcompactions, r.Facts)
	t.Flush()
}

// awaitTables waits until everything that is in the stream is projected, also
// what an earlier import left there, and says what became of it.
func (a *app) awaitTables(ctx context.Context, js jetstream.JetStream, before uint64) error {
	last, err := lastSequence(ctx, js)
	if err != nil {
		return err
	}
	l, err := a.openLedger(ctx)
	if exitCode(err) == exitUnreachable {
		fmt.Fprintf(a.err, "stored in the stream; whether it is projected was not checked: %v\n", err)
		return nil
	}
	if err != nil {
		return err
	}
	defer l.Close()
	const patience = 15 * time.Second
	level, err := projector.AwaitCommit(ctx, js, l, last, patience)
	if err != nil {
		return err
	}
	if !level {
		fmt.Fprintln(a.err, "stored in the stream; no projector is working on it: run `ctxledger project` or `ctxledger up`")
		return nil
	}
	if last == before {
		fmt.Fprintln(a.out, "everything was there already")
		return nil
	}
	at, err := projector.ReadLevel(ctx, js, l)
	if err != nil {
		return err
	}
	o, err := l.Outcomes(ctx, at.Incarnation, before+1, last)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "in the tables: %d new events, %d that were there already, %d in quarantine\n", o.Events, o.Duplicates, o.Quarantined)
	return nil
}

func lastSequence(ctx context.Context, js jetstream.JetStream) (uint64, error) {
	stream, err := js.Stream(ctx, projector.StreamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, projector.ErrNoStream
	}
	if err != nil {
		return 0, fmt.Errorf("look at the stream: %w", err)
	}
	return stream.CachedInfo().State.LastSeq, nil
}
