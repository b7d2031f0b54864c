package record

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/producer/importer"
	"github.com/ctxledger/ctxledger/producer/importer/follow"
	"github.com/ctxledger/ctxledger/producer/importer/known"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

type importFlags struct {
	tenant    string
	output    string
	storeText bool
	titles    cli.Titles
	noWait    bool
	again     bool
	follow    bool
}

func ImportCommand(a *cli.App) *cobra.Command {
	var flags importFlags
	var format model.Format
	cmd := &cobra.Command{
		Use:   "import FORMAT PATH…",
		Short: "Turn session logs that you already have into facts",
		Long: `Turn session logs into facts. A PATH is a file, or a folder to search.

  FORMAT       logs                                           usual folder
  auto         any of these, recognised file by file
  claude-code  Claude Code sessions, *.jsonl                  ~/.claude/projects
  codex        Codex rollouts, *.jsonl                        ~/.codex/sessions
  swe-agent    SWE-agent trajectories, *.traj or *.json       trajectories/
  openhands    OpenHands runs, events, evaluation outputs,
               trajectories, and folders of event files       ~/.openhands
  claude-bodies  raw bodies of Claude Code, with index.jsonl  the folder of
                 OTEL_LOG_RAW_API_BODIES=file:FOLDER

Logs of any size are read as a stream. Text is stored only with --store-text; digests,
sizes and token counts are always stored. A text of 64 KiB and more goes to the bucket
CTX_TEXTS, encrypted by the tenant's key. Without a bucket that the account may write, it
is left out. Facts that a log lacks stay unknown. For
example, SWE-agent logs have no times.

In the ledger of ` + "`ctxledger up`" + `, titles name what an item is about, in at most 80 characters:
"Read src/app.go", "Bash go test ./...", or the first words of a prompt. Secrets that the
rules of gitleaks find are replaced. On other servers, titles say only "Read call" or "User
prompt", unless --titles is given. --titles=false leaves the words out everywhere.

The import says at its end what the model calls cost by ` + "`ctxledger prices`" + `, and which cache
breaks cost most of it. Without new calls it says nothing of that.

A second import of a log changes nothing. A log that has grown adds its new facts;
digests therefore use the first key of the tenant. A session in several files counts
once.
Imports remember what the stream has: per log in the data folder, and per source in
the bucket CTX_IMPORTS. A log that is as it was is not read. A log that has grown is
read, and its new facts are published. What was erased or has expired is not
published again. --again publishes everything; each fact still counts once.
An import with other options, or by a later version, tells the log again. One telling
counts: the one that reaches furthest, then the newest version, then one with text,
then the last one. A log that was rewritten after an import is told again, too; the
import names it, and "ctxledger query tellings" compares the calls.

--follow goes on as the logs grow, until it is interrupted. A new line is in the stream
within a second; a log of more than 30 MB takes longer. New logs of a folder are followed,
too. Facts that a later line may change wait for that line; the trajectory of SWE-agent
waits until its program ends. After an interruption, the next import goes on where this
one ended.

The account of a tenant suffices. An account without access to the stream ends the
import without waiting for the tables.

Lines that cannot be read are reported with file, line and reason. All other lines are
imported, and the exit code is 3. Files of a folder that auto does not recognise are
listed and are no error. -o json prints totals, and counts records without facts.`,
		Example: `  ctxledger import auto ~/.claude/projects ~/.codex/sessions
  ctxledger import claude-code session.jsonl --tenant acme
  ctxledger import swe-agent trajectories/ -o json
  ctxledger import openhands output.jsonl --store-text
  ctxledger import auto ~/.claude/projects --follow`,
		Args: func(_ *cobra.Command, args []string) (err error) {
			if len(args) < 2 {
				return cli.UsageError("import takes a format and at least one path: ctxledger import auto PATH…")
			}
			if format, err = model.ParseFormat(args[0]); err != nil {
				return cli.UsageError("%v", err)
			}
			if flags.tenant == "" {
				return cli.UsageError("--tenant is empty: leave it away for %q", schema.DefaultTenant)
			}
			if flags.output != "table" && flags.output != "json" {
				return cli.UsageError("unknown output %q: there are table and json", flags.output)
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			var names []string
			for _, f := range model.Sources() {
				names = append(names, string(f))
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return importLogs(cmd.Context(), a, format, args[1:], flags)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.tenant, "tenant", schema.DefaultTenant, "whose sessions these are")
	f.BoolVar(&flags.storeText, "store-text", false, "store the text of the items, too")
	flags.titles.Flag(f)
	f.BoolVar(&flags.noWait, "no-wait", false, "return once the stream has the facts, without waiting for the tables")
	f.BoolVar(&flags.again, "again", false, "publish all facts, also those that earlier imports remember")
	f.BoolVar(&flags.follow, "follow", false, "go on as the logs grow, until interrupted")
	f.StringVarP(&flags.output, "output", "o", "table", "table or json")
	return cmd
}

func importLogs(ctx context.Context, a *cli.App, format model.Format, paths []string, flags importFlags) error {
	var follower *follow.Follower
	if flags.follow { // before the logs are read, so that no change is missed
		follower = follow.New(follow.Config{Paths: paths, Format: format, Stamp: func(log string) known.Stamp { return stampOf(format, log) }})
		defer follower.Close()
	}
	im, err := openImport(ctx, a, format, flags)
	if err != nil {
		return err
	}
	others, err := im.all(ctx, paths)
	report := im.report()
	for _, problem := range report.Problems {
		im.say(problem)
	}
	listOthers(a, others)
	report.FindLacks()
	listUnknown(a, report)
	if report.MoreProblems > 0 {
		fmt.Fprintf(a.Err, "and %d more problems of the same files\n", report.MoreProblems)
	}
	if report.Facts == 0 && format != model.FormatAuto && len(report.Problems) > 0 {
		file := report.Problems[0].File
		if other := formatOf(file); other != "" && other != format {
			_ = ui.Line(a.Err, "%s is a log of %s: give that format, or auto", file, other)
		}
	}
	if err != nil {
		const advice = "a part may be stored; import again, and nothing is stored twice"
		return cli.Interrupted(ctx, fmt.Errorf("import: %w; %s", err, advice), advice)
	}
	sayTakenIDs(a, im.stream.publisher)
	note := a.Out
	if flags.output == "json" {
		note = a.Err // standard output is for the program that reads it
	}
	if !flags.follow || flags.output != "json" {
		if err := printReport(a.Out, report, im.stream.memory.published, flags.output, a.Width()); err != nil {
			return err
		}
	}
	switch {
	case report.Facts == 0: // events of other publishers do not count
		if !flags.follow {
			fmt.Fprintln(note, "nothing was imported")
		}
	case flags.noWait:
	case im.stream.blind:
		fmt.Fprintln(a.Err, "stored in the stream; this account may not look into it, so whether it is projected was not checked")
	default:
		if err := awaitTables(ctx, a, im.stream.js, im.stream.before, note, flags.tenant, slices.Sorted(maps.Keys(im.stream.billed))); err != nil {
			const stored = "everything is in the stream, and goes into the tables while a projector runs"
			return cli.Interrupted(ctx, fmt.Errorf("wait for the tables: %w; %s", err, stored), stored)
		}
	}
	if flags.follow {
		if err := im.follow(ctx, follower, note); err != nil {
			return err
		}
		report = im.report()
		if flags.output == "json" {
			report.FindLacks()
			if err := printReport(a.Out, report, im.stream.memory.published, flags.output, a.Width()); err != nil {
				return err
			}
		}
	}
	if len(report.Problems)+len(report.Unknown) > 0 {
		return cli.ErrRefused
	}
	return nil
}

// formatOf is the format that a log turns out to have, "" for none.
func formatOf(file string) model.Format {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	format, _, err := importer.Detect(f)
	if err != nil {
		return ""
	}
	return format
}

// mostOthers is how many files that are no logs are listed.
const mostOthers = 20

// listOthers lists the files of folders that are no session logs.
func listOthers(a *cli.App, others []model.Problem) {
	for _, p := range others[:min(len(others), mostOthers)] {
		_, found, _ := strings.Cut(p.Detail, "; found ")
		_ = ui.Line(a.Err, "%s: not a session log: %s", p.File, found)
	}
	if n := len(others) - mostOthers; n > 0 {
		fmt.Fprintf(a.Err, "and %d more files that are not session logs\n", n)
	}
}

// listUnknown tells in one line each which records have unknown types and which sessions have
// calls that no log has.
func listUnknown(a *cli.App, r model.Report) {
	if len(r.Unknown) > 0 {
		var list []string
		for _, kind := range slices.Sorted(maps.Keys(r.Unknown)) {
			list = append(list, fmt.Sprintf("%d of %s", r.Unknown[kind], kind))
		}
		_ = ui.Line(a.Err, "%s: not imported: %s", model.ReasonUnknownType, strings.Join(list, ", "))
	}
	for _, l := range r.Lacks {
		_ = ui.Line(a.Err, "session %s: the client counted more than its logs have: %s input, %s cache read, %s cache write, %s output tokens; calls such as the summary of a compaction are missing",
			l.Session, ui.Thousands(l.Tokens.UncachedInput), ui.Thousands(l.Tokens.CacheRead), ui.Thousands(l.Tokens.CacheWrite), ui.Thousands(l.Tokens.Output))
	}
}

func printReport(w io.Writer, r model.Report, published int, output string, width int) error {
	written := r.Tokens.CacheWrite + r.Tokens.CacheWrite5m + r.Tokens.CacheWrite1h
	if output == "json" {
		lacks := make([]lack, 0, len(r.Lacks))
		for _, l := range r.Lacks {
			lacks = append(lacks, lack{l.Session, l.Tokens.UncachedInput, l.Tokens.CacheRead, l.Tokens.CacheWrite, l.Tokens.Output})
		}
		defer fmt.Fprintln(w)
		return json.MarshalWrite(w, struct {
			Files      int            `json:"files"`
			Sessions   int            `json:"sessions"`
			Lines      int            `json:"lines"`
			Calls      int            `json:"calls"`
			Input      int64          `json:"uncached_input_tokens"`
			CacheRead  int64          `json:"cache_read_tokens"`
			CacheWrite int64          `json:"cache_write_tokens"`
			Output     int64          `json:"output_tokens"`
			Reasoning  int64          `json:"reasoning_tokens"`
			ToolUses   int            `json:"tool_uses"`
			Results    int            `json:"tool_results"`
			Unanswered int            `json:"unanswered_tool_uses"`
			Compacted  int            `json:"compactions"`
			Elided     int            `json:"elisions"`
			Summaries  int            `json:"summaries"`
			Facts      int            `json:"facts"`
			Published  int            `json:"published_facts"`
			Problems   int            `json:"problems"`
			Ignored    map[string]int `json:"records_without_facts"`
			Unknown    map[string]int `json:"records_of_unknown_types"`
			Lacks      []lack         `json:"sessions_with_missing_calls"`
		}{
			r.Files, r.Sessions, r.Lines, r.Calls, r.Tokens.UncachedInput, r.Tokens.CacheRead, written, r.Tokens.Output, r.Tokens.Reasoning,
			r.ToolUses, r.ToolResults, r.UnansweredToolUses, r.Compactions, r.Elisions, r.Summaries, r.Facts, published, len(r.Problems) + r.MoreProblems, r.Ignored, r.Unknown, lacks,
		}, json.Deterministic(true), jsontext.WithIndent("  "))
	}
	t := ui.Table{Columns: []ui.Column{{Least: 8}, {Right: true}, {Least: 1}}}
	for _, line := range []struct {
		name string
		n    int64
		unit string
	}{
		{"files", int64(r.Files), ""}, {"sessions", int64(r.Sessions), ""}, {"model calls", int64(r.Calls), ""},
		{"input", r.Tokens.UncachedInput, "tokens"}, {"cache read", r.Tokens.CacheRead, "tokens"}, {"cache write", written, "tokens"},
		{"output", r.Tokens.Output + r.Tokens.Reasoning, "tokens"}, {"tool uses", int64(r.ToolUses), ""},
		{"compactions", int64(r.Compactions), ""}, {"elisions", int64(r.Elisions), ""}, {"facts", int64(r.Facts), ""},
		{"published", int64(published), "facts"},
	} {
		t.Rows = append(t.Rows, []string{line.name, ui.Thousands(line.n), line.unit})
	}
	return t.Write(w, width, "  ")
}

// lack is a session with calls that no log has, and the tokens of these calls.
type lack struct {
	Session    string `json:"session_id"`
	Input      int64  `json:"uncached_input_tokens"`
	CacheRead  int64  `json:"cache_read_tokens"`
	CacheWrite int64  `json:"cache_write_tokens"`
	Output     int64  `json:"output_tokens"`
}

// awaitTables waits until the whole stream is projected, facts of earlier imports
// included, and reports the outcome, with one sentence about the costs of the sessions that have new
// model calls.
func awaitTables(ctx context.Context, a *cli.App, js jetstream.JetStream, before streamio.LastSequences, note io.Writer, tenant string, sessions []string) error {
	last, err := streamio.ReadLastSequences(ctx, js)
	if err != nil {
		return err
	}
	l, err := a.OpenLedger(ctx)
	if cli.ExitCode(err) == cli.ExitUnreachable {
		fmt.Fprintf(a.Err, "stored in the stream; whether it is projected was not checked: %v\n", err)
		return nil
	}
	if err != nil {
		return err
	}
	const patience = 15 * time.Second
	bar := ui.NewBar(a.Err, cli.IsTerminal(a.Err), "stored in the stream; projecting")
	level, err := streamio.AwaitCommit(ctx, js, l, last, patience, bar.Set)
	bar.Done()
	if err != nil {
		return err
	}
	if !level {
		fmt.Fprintln(a.Err, "stored in the stream; no projector is working on it: run `ctxledger project` or `ctxledger up`")
		return nil
	}
	if maps.Equal(last, before) {
		fmt.Fprintln(note, "everything was there already")
		return nil
	}
	levels, err := streamio.ReadLevels(ctx, js, l)
	if err != nil {
		return err
	}
	var all read.Outcomes
	for _, at := range levels {
		o, err := read.Of(l).Outcomes(ctx, at.Incarnation, before[at.Stream]+1, last[at.Stream])
		if err != nil {
			return err
		}
		all.Events, all.Duplicates, all.Quarantined = all.Events+o.Events, all.Duplicates+o.Duplicates, all.Quarantined+o.Quarantined
	}
	fmt.Fprintf(note, "in the tables: %d new events, %d that were there already, %d in quarantine\n", all.Events, all.Duplicates, all.Quarantined)
	sentence, err := headline(ctx, read.Of(l), tenant, sessions)
	if err != nil {
		return err
	}
	if sentence != "" {
		_ = ui.Line(note, "%s", sentence)
	}
	fmt.Fprintln(note, "see the newest session in a browser: ctxledger report --last --out report.html"+a.Flags.DataArgument())
	return nil
}
