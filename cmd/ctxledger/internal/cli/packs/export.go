package packs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/ask"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/view"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/status"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/evidence"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/schema"
)

// ExportFlags name the scope of an export and its target.
type ExportFlags struct {
	tenant, session, run, turn string
	task, attempt              string
	Out, output                string
	zip, redactIDs, unrecorded bool
	last                       bool
}

// ids returns the ids of the flags by column.
func (f *ExportFlags) ids() cli.IDs {
	return cli.IDs{read.SessionID: &f.session, read.TurnID: &f.turn, read.RunID: &f.run, read.TaskID: &f.task, read.AttemptID: &f.attempt}
}

// given are the ids that the command line names: a row fills no other.
func (f *ExportFlags) given() cli.IDs {
	ids := f.ids()
	for column, value := range ids {
		if *value == "" && column != read.SessionID {
			delete(ids, column)
		}
	}
	return ids
}

func evidenceExportCommand(a *cli.App) *cobra.Command {
	var flags ExportFlags
	cmd := &cobra.Command{
		Use:   "export (--turn T | --run R | --task K [--attempt A] | --session S | --last) --out DIR",
		Short: "Write the facts of a turn, a run, a task or a session as a pack that anyone can check",
		Long: `Write an evidence pack: the records in log order, their proof in the log, the documents
that follow from the records, and a signed list of all files. index.html in the pack is
for people: any browser shows the windows, and what was withheld, left out, summarised or
missing. README.md has the same as text. Facts from elsewhere in the session are included if
they describe an exported one.

The pack appears at --out whole or not at all. --out must not exist, or be an empty
folder. --zip writes one file. --redact-ids withholds the records, keeps their leaves,
and replaces ids by pseudonyms of this pack.

The export first searches the pack for values that a redaction withholds, with the keys
of the data folder. A value that is found ends the export. The key of the ledger signs
the pack. The export itself becomes a fact, context.exported, with the id of the pack
as evidence id.

If an id occurs in several sessions, a terminal is asked for one. In a pipe the choices
are printed and the exit code is 2.

` + cli.IDHelp,
		Example: `  ctxledger evidence export --last --out pack
  ctxledger evidence export --turn turn-1 --out pack
  ctxledger evidence export --run demo-run-2 --session demo-session --out pack -o json
  ctxledger evidence export --task understand-the-repository --attempt attempt-2 --out pack
  ctxledger evidence export --session demo-session --out demo.zip --zip --redact-ids`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return evidenceExport(cmd.Context(), a, flags) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.turn, "turn", "", "the turn")
	f.StringVar(&flags.run, "run", "", "the run")
	f.StringVar(&flags.task, "task", "", "the task")
	f.StringVar(&flags.attempt, "attempt", "", "only this attempt at the task")
	f.StringVar(&flags.session, "session", "", "the session, or that of the turn, run or task")
	f.StringVar(&flags.tenant, "tenant", "", "only this tenant")
	f.BoolVar(&flags.last, "last", false, "the newest session")
	f.StringVar(&flags.Out, "out", "", "where the pack goes (required)")
	f.BoolVar(&flags.zip, "zip", false, "write one zip file instead of a folder")
	f.BoolVar(&flags.redactIDs, "redact-ids", false, "withhold the records and put pseudonyms for all ids")
	f.BoolVar(&flags.unrecorded, "unrecorded", false, "do not publish context.exported")
	f.StringVarP(&flags.output, "output", "o", "table", "table or json")
	_ = cmd.RegisterFlagCompletionFunc("turn", ask.CompleteTurn(a)) // the flag is there
	return cmd
}

func evidenceExport(ctx context.Context, a *cli.App, flags ExportFlags) error {
	if err := flags.given().FromRows(a); err != nil {
		return err
	}
	if err := flags.check(); err != nil {
		return err
	}
	s, err := ask.OpenSessions(ctx, a)
	if err != nil {
		return err
	}
	l, err := flags.ledger(ctx, a, s)
	if err != nil {
		return err
	}
	if err := flags.complete(ctx, a, l); err != nil {
		return err
	}
	scope, err := findScope(ctx, a, l, flags)
	if err != nil {
		return err
	}
	made, err := ExportPack(ctx, a, l, s.Shards(), a.Flags.Data, scope, flags)
	if err != nil {
		return err
	}
	if err := cli.Whole(ctx, a); err != nil {
		return fmt.Errorf("%s was written, and may lack facts: remove it, and export again: %w", flags.Out, err)
	}
	if !flags.unrecorded {
		if err := recordExport(ctx, a, scope, made); err != nil {
			return fmt.Errorf("%s was written, and that it was is not recorded: %w", flags.Out, err)
		}
	}
	return sayExport(a, made, flags)
}

// ledger returns the ledger that has the scope. On a cluster it fills the session.
func (f *ExportFlags) ledger(ctx context.Context, a *cli.App, s ask.Sessions) (*ledger.Ledger, error) {
	if s.Shards() != nil {
		if f.session == "" && (f.run != "" || f.task != "") {
			if err := f.find(ctx, a, s); err != nil {
				return nil, err
			}
		}
		t := ask.TurnFlags{Tenant: f.tenant, Session: f.session, Turn: f.turn}
		if err := s.Find(ctx, a, &t, f.last); err != nil {
			return nil, err
		}
		f.session, f.tenant, f.last = t.Session, t.Tenant, false
	}
	return s.Of(ctx, f.session)
}

// find fills the session of a run or a task from all shards of a cluster.
func (f *ExportFlags) find(ctx context.Context, a *cli.App, s ask.Sessions) error {
	kind, id := f.kind()
	found, err := s.Places(ctx, f.scope(), cli.Choices+1)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("no shard has facts of a %s %q: on a cluster give the whole id (`ctxledger query tasks` lists tasks and their runs)", kind, id)
	}
	chosen, err := choose(a, kind, id, found)
	if err == nil {
		f.tenant, f.session = found[chosen].Tenant, found[chosen].Session
	}
	return err
}

// choose lets a person at a terminal choose one of several sessions.
func choose(a *cli.App, kind, id string, found []read.ScopePlace) (int, error) {
	if len(found) == 1 {
		return 0, nil
	}
	places := make([]cli.Place, len(found))
	for i, p := range found {
		places[i] = cli.Place{Tenant: p.Tenant, Session: p.Session}
	}
	return a.Choose(fmt.Sprintf("%s %q", kind, id), places, "--session and --tenant")
}

// complete replaces the beginnings of ids, and fills the session for --last.
func (f *ExportFlags) complete(ctx context.Context, a *cli.App, l *ledger.Ledger) error {
	if f.last {
		newest, err := cli.Newest(ctx, a, l, f.tenant, "")
		f.session = newest.Session
		return err
	}
	_, err := f.given().Complete(ctx, a, l, f.tenant)
	return err
}

// check refuses flags that contradict each other.
func (f ExportFlags) check() error {
	switch {
	case f.turn != "" && f.run != "", f.turn != "" && f.task != "", f.run != "" && f.task != "":
		return cli.UsageError("--turn, --run and --task: give one of them")
	case f.attempt != "" && f.task == "":
		return cli.UsageError("--attempt: give --task, too (`ctxledger query tasks` lists both)")
	case f.last && (f.turn != "" || f.run != "" || f.task != "" || f.session != ""):
		return cli.UsageError("--last exports the newest session: give no --turn, --run, --task or --session")
	case f.turn == "" && f.run == "" && f.task == "" && f.session == "" && !f.last:
		return cli.UsageError("which scope? give --turn, --run, --task, --session or --last (`ctxledger query sessions` lists the sessions)")
	case f.Out == "":
		return cli.UsageError("where to? give --out")
	case f.output != "table" && f.output != "json":
		return cli.UsageError("-o %q: want table or json", f.output)
	}
	entries, err := os.ReadDir(f.Out)
	switch {
	case err == nil && len(entries) > 0:
		return cli.UsageError("--out %s: the folder is not empty", f.Out)
	case err == nil && f.zip:
		return cli.UsageError("--out %s: a folder is there; name a file for the zip", f.Out)
	case err == nil || errors.Is(err, os.ErrNotExist):
		return nil
	}
	if _, err := os.Lstat(f.Out); err == nil {
		return cli.UsageError("--out %s: it exists", f.Out)
	}
	return cli.UsageError("--out: %w", err)
}

// kind returns the kind of scope that the flags name, and its id.
func (f ExportFlags) kind() (kind, id string) {
	switch {
	case f.turn != "":
		return pack.ScopeTurn, f.turn
	case f.run != "":
		return pack.ScopeRun, f.run
	case f.task != "":
		return pack.ScopeTask, f.task
	}
	return pack.ScopeSession, f.session
}

// scope returns the scope of the flags.
func (f ExportFlags) scope() read.Scope {
	return read.Scope{Tenant: f.tenant, Session: f.session, Run: f.run, Turn: f.turn, Task: f.task, Attempt: f.attempt}
}

// findScope fills tenant and session. Of several sessions with the id, a person at a
// terminal chooses one.
func findScope(ctx context.Context, a *cli.App, l *ledger.Ledger, f ExportFlags) (pack.Scope, error) {
	kind, id := f.kind()
	scope := pack.Scope{Kind: kind, Tenant: f.tenant, Session: f.session, Run: f.run, Turn: f.turn, Task: f.task, Attempt: f.attempt}
	found, err := read.Of(l).ScopePlaces(ctx, f.scope(), cli.Choices+1)
	if err != nil {
		return scope, err
	}
	switch {
	case len(found) == 0 && kind == pack.ScopeTurn:
		return scope, ask.UnknownTurn(ctx, a, l, ask.TurnFlags{Tenant: f.tenant, Session: f.session, Turn: f.turn})
	case len(found) == 0:
		return scope, unknownScope(ctx, l, f)
	}
	chosen, err := choose(a, kind, id, found)
	if err != nil {
		return scope, err
	}
	scope.Tenant, scope.Session = found[chosen].Tenant, found[chosen].Session
	return scope, nil
}

// unknownScope is the error for a scope without facts. It names recorded ones.
func unknownScope(ctx context.Context, l *ledger.Ledger, f ExportFlags) error {
	kind, id := f.kind()
	if kind == pack.ScopeRun && f.session != "" {
		known, err := read.Of(l).ScopePlaces(ctx, read.Scope{Tenant: f.tenant, Session: f.session}, 1)
		if err != nil {
			return err
		}
		if len(known) > 0 {
			return fmt.Errorf("nothing is known about a run %q in session %q: `ctxledger query run-tree --param session_id=%s` lists its runs", id, f.session, ui.ShellQuote(f.session))
		}
	}
	known, err := read.Of(l).ScopePlaces(ctx, read.Scope{Tenant: f.tenant}, 3)
	if err != nil {
		return err
	}
	if len(known) == 0 {
		return fmt.Errorf("nothing is known about a %s %q, and nothing else is recorded", kind, id)
	}
	var names []string
	for _, p := range known {
		names = append(names, p.Session)
	}
	return fmt.Errorf("nothing is known about a %s %q: the latest sessions are %s; `ctxledger query sessions` lists all", kind, id, strings.Join(names, ", "))
}

// export is a pack that was made.
type export struct {
	evidence.Result
	id string
}

// ExportPack writes the pack with the keys of a data folder, and shows how far it is. The shards of a
// cluster are nil for a plain ledger.
func ExportPack(ctx context.Context, a *cli.App, l *ledger.Ledger, shards []*ledger.Ledger, data string, scope pack.Scope, f ExportFlags) (export, error) {
	bar := ui.NewBar(a.Err, cli.IsTerminal(a.Err), "export")
	defer bar.Done()
	return writePack(ctx, l, shards, data, scope, f, func(done, all uint64) { bar.Set(int64(done), int64(all)) })
}

// writePack writes the pack with the keys of a data folder.
func writePack(ctx context.Context, l *ledger.Ledger, shards []*ledger.Ledger, data string, scope pack.Scope, f ExportFlags, progress func(done, all uint64)) (export, error) {
	ring, err := keyfile.ReadRing(data)
	if err != nil {
		return export{}, err
	}
	signer, err := ring.Signer()
	if err != nil {
		return export{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return export{}, fmt.Errorf("make an id: %w", err)
	}
	made := export{id: "pack-" + id.String()}
	target, err := filepath.Abs(f.Out)
	if err != nil {
		return made, err
	}
	c := evidence.Config{
		Header: pack.Header{ID: made.id, Scope: scope, Created: time.Now().UTC().Truncate(time.Second), Exporter: "ctxledger " + status.ReadBuild().Version, RedactIDs: f.redactIDs},
		Target: target, Zip: f.zip, Signer: signer, Known: ring.Verifiers(), Page: view.WritePack,
		Progress: progress, Shards: shards,
	}
	if c.Keys, err = cli.KeysOf(data, scope.Tenant); err != nil {
		return made, err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return made, err
	}
	if err := removeEmpty(target); err != nil {
		return made, err
	}
	made.Result, err = exportCovered(ctx, l, c)
	return made, err
}

// Patience with the projector, which signs a head within a second of the last event.
const (
	headPatience = 15 * time.Second
	headAsked    = 200 * time.Millisecond
)

// exportCovered exports once the log has a head that covers the records.
func exportCovered(ctx context.Context, l *ledger.Ledger, c evidence.Config) (evidence.Result, error) {
	for began := time.Now(); ; {
		made, err := evidence.Export(ctx, l, c)
		switch {
		case !errors.Is(err, evidence.ErrNotCovered):
			return made, err
		case time.Since(began) > headPatience:
			return made, fmt.Errorf("%w: is a projector running that has the ledger's key? `ctxledger proof checkpoint` shows the newest head", err)
		}
		select {
		case <-ctx.Done():
			return made, ctx.Err()
		case <-time.After(headAsked):
		}
	}
}

// removeEmpty takes an empty folder away, in whose place the pack is put.
func removeEmpty(target string) error {
	if err := os.Remove(target); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

// exporterSource begins the source of facts about the ledger. Each export has its own source
// with one fact, and leaves no scope open.
const exporterSource = "urn:ctxledger:export:"

// recordExport publishes that the pack was made.
func recordExport(ctx context.Context, a *cli.App, scope pack.Scope, made export) error {
	js, err := a.ConnectNATS()
	if err != nil {
		return err
	}
	return PublishExport(ctx, js, scope, made)
}

func PublishExport(ctx context.Context, js jetstream.JetStream, scope pack.Scope, made export) error {
	e, err := exportedEvent(scope, made, time.Now())
	if err != nil {
		return err
	}
	publisher := publish.New(js, 0)
	if err := publisher.Publish(ctx, e); err != nil {
		return err
	}
	return publisher.Flush(ctx)
}

// exportedEvent is the fact that a pack was made. Its evidence id is the id of the pack. It has
// the ids of the scope, for joins with the facts in the pack.
func exportedEvent(scope pack.Scope, made export, at time.Time) (*schema.Event, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("make an id: %w", err)
	}
	fact := &schema.Exported{PackID: made.id, Scope: scope.Kind, Digest: made.Digest}
	if len(made.Heads) > 0 {
		fact.Checkpoint = string(made.Heads[len(made.Heads)-1])
	}
	e, err := schema.NewEvent(fact, id.String(), exporterSource+made.id, at.UTC(), schema.Correlation{
		Tenant: scope.Tenant, SessionID: scope.Session, TurnID: scope.Turn, RunID: scope.Run, TaskID: scope.Task, AttemptID: scope.Attempt, EvidenceID: made.id,
	})
	if err == nil {
		e.Sequence = new(int64(1))
	}
	return e, err
}

// exportJSON is the output of -o json.
type exportJSON struct {
	PackID    string `json:"pack_id"`
	Path      string `json:"path"`
	Digest    string `json:"digest"`
	Records   uint64 `json:"records"`
	Erased    uint64 `json:"erased"`
	Withheld  uint64 `json:"withheld"`
	Unchecked int    `json:"unchecked_fingerprints"`
}

func sayExport(a *cli.App, made export, f ExportFlags) error {
	if made.Unchecked > 0 {
		fmt.Fprintf(a.Err, "%s of redactions could not be looked for: the tenant's keys are not in %s\n", ui.Plural(made.Unchecked, "fingerprint"), a.Flags.Data)
	}
	if f.redactIDs {
		made.Withheld = made.Records
	}
	if f.output == "json" {
		return a.PrintJSON(exportJSON{made.id, f.Out, made.Digest, made.Records, made.Erased, made.Withheld, made.Unchecked})
	}
	_, err := fmt.Fprintf(a.Out, "%s: %s, %s\n", ui.Safe(f.Out), ui.Plural(made.Records, "record"), made.id)
	return err
}
