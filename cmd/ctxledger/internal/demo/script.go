// Package demo is what `ctxledger demo` does: a scripted coding agent works
// over real files with a window of 24,000 tokens and no model, and everything
// that happens to that window is recorded.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

const (
	session   = "demo-session"
	namespace = "app/repo"
	envFile   = "deploy.env"
	// secret is planted in a file that the agent reads. It belongs to nobody.
	secret       = "ctxl-demo-7f3a9c51e0b84d26"
	secretPolicy = "policy:no-credentials"
)

// Guard withholds the planted secret.
func Guard() (*redact.Guard, error) {
	return redact.New(redact.Withhold(secret, secretPolicy, "secret"))
}

// Secret is the planted value, to check that it is nowhere.
func Secret() string { return secret }

// Shown is the window that the demo shows.
type Shown struct{ Session, Turn, Call string }

// Record lets the agent work through its script and returns the call with the
// fullest window. Sources are the files that it reads; say gets a line
// for people now and then.
func Record(ctx context.Context, client *producer.Client, counter *window.Counter, sources fs.FS, say func(string, ...any)) (Shown, error) {
	files := withPlanted(sources)
	run, err := client.Open(ctx, producer.Run{
		Session: session, Agent: "coder", Program: "ctxledger demo", MaxDepth: 1, Grants: grant.Set{namespace},
		InheritedTags: []string{"demo"}, ConfigurableKeys: []string{"editor", "api_token"},
	})
	if err != nil {
		return Shown{}, err
	}
	a := &agent{
		run: run, counter: counter, files: files, say: say, titles: make(map[string]string), head: window.NewHead(window.AtOnce),
		model: producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 24_000, ReservedOutput: 2_000}},
	}
	for _, act := range []func(context.Context) error{
		a.prepare, a.askAboutExitCodes, a.askAboutDeployment, a.reviewEverything, a.delegate,
	} {
		if err := act(ctx); err != nil {
			return Shown{}, err
		}
	}
	return Shown{Session: session, Turn: a.fullest.turn, Call: a.fullest.call}, nil
}

// withPlanted adds a file with a secret to the sources.
func withPlanted(sources fs.FS) fs.FS {
	return overlay{sources, fstest.MapFS{envFile: {Data: []byte("REGION=eu-west-1\nAPI_TOKEN=" + secret + "\nLOG_LEVEL=info\n")}}}
}

// overlay is a file system in front of another.
type overlay struct{ under, over fs.FS }

func (o overlay) Open(name string) (fs.File, error) {
	f, err := o.over.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return o.under.Open(name)
	}
	return f, err
}

// ReadDir lists what is under, so that the planted file is not found by looking
// around.
func (o overlay) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(o.under, name) }

// prepare fills the fixed part of the window and what memory brings in.
func (a *agent) prepare(ctx context.Context) error {
	fixed := []producer.Content{
		{ID: "system", Title: "system prompt", ContextKind: "system_instruction", Layer: "system", Role: window.RoleSystem, Kind: window.KindFixed, Pinned: true,
			Text: "You are a coding agent. Read before you answer, name files, and never repeat a credential."},
		{ID: "tools", Title: "tool definitions", ContextKind: "tool_definition", Layer: "tools", Role: window.RoleSystem, Kind: window.KindFixed, Pinned: true,
			Text: `[{"name":"Read","description":"Read a file of the repository.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}},` +
				`{"name":"Delegate","description":"Let a reviewer with fewer grants do part of the work.","parameters":{"type":"object","properties":{"task":{"type":"string"},"grants":{"type":"array","items":{"type":"string"}}}}}]`},
	}
	for _, c := range fixed {
		if err := a.add(ctx, c); err != nil {
			return err
		}
	}
	for i, name := range []string{"connect.go", "migrate.go", "keys.go"} {
		text, err := fs.ReadFile(a.files, name)
		if err != nil {
			return fmt.Errorf("read the demo's sources: %w", err)
		}
		err = a.add(ctx, producer.Content{
			ID: "memory:" + name, Title: "memory: " + name, ContextKind: "memory", Layer: "memory", Role: window.RoleSystem, Kind: window.KindRetrieved,
			Text: string(text), SourceURI: "repo:///" + name, SourceKind: "file", Priority: i + 1,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// askAboutExitCodes meets a file that is not there.
func (a *agent) askAboutExitCodes(ctx context.Context) error {
	if err := a.begin(ctx, "Which exit codes does the command line use, and are they documented?"); err != nil {
		return err
	}
	for _, name := range []string{"exit.go", "root.go"} {
		if err := a.read(ctx, name); err != nil {
			return err
		}
	}
	if err := a.read(ctx, "docs/exit-codes.md"); !errors.Is(err, errNoFile) {
		return errors.Join(errors.New("the demo expected a missing file"), err)
	}
	a.say("        docs/exit-codes.md is missing: a gap with an owner, an action and a summary that is safe to show")
	err := a.turn.Missing(ctx, schema.Missing{
		MissingID: "missing-exit-codes", Scope: "turn", Question: "Where are the exit codes documented for users?", NeededFor: "a complete answer",
		Severity: schema.SeverityMedium, RequestedFrom: "user", RequestedAction: "name the page, or say that there is none",
		UserSummary:      "I could not find a page about exit codes and answered from the source alone.",
		CandidateSources: []map[string]any{{"kind": "file", "hint": "docs/exit-codes.md"}},
	})
	if err != nil {
		return err
	}
	return a.answer(ctx, "exit.go has them: 0 done, 1 failed, 2 usage, 3 refused, 5 unreachable; root.go prints them in the help.")
}

// askAboutDeployment meets a secret.
func (a *agent) askAboutDeployment(ctx context.Context) error {
	if err := a.begin(ctx, "How is it deployed, and does start-up wait for the projector?"); err != nil {
		return err
	}
	for _, name := range []string{"up.go", envFile} {
		if err := a.read(ctx, name); err != nil {
			return err
		}
	}
	a.say("        %s holds a credential: masked before anything is recorded", envFile)
	// A careless answer that repeats the secret: the guard masks this one, too.
	return a.answer(ctx, "up.go waits until the projector is ready; "+envFile+" sets API_TOKEN to "+secret+" in eu-west-1.")
}

// reviewEverything reads until the window is full, the largest files first.
func (a *agent) reviewEverything(ctx context.Context) error {
	if err := a.begin(ctx, "Review the whole command line for error texts that do not help."); err != nil {
		return err
	}
	names, err := fs.Glob(a.files, "*.go")
	if err != nil {
		return err
	}
	more, err := fs.Glob(a.files, "internal/*/*.go")
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(append(names, more...), func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	sizes := make(map[string]int64, len(names))
	for _, name := range names {
		info, err := fs.Stat(a.files, name)
		if err != nil {
			return err
		}
		sizes[name] = info.Size()
	}
	slices.SortFunc(names, func(x, y string) int { return cmp.Or(cmp.Compare(sizes[y], sizes[x]), cmp.Compare(x, y)) })
	for _, name := range names {
		if err := a.read(ctx, name); err != nil {
			return err
		}
	}
	return a.answer(ctx, fmt.Sprintf("I read %d files. The texts name the flag, what was found and what to do; publish.go even names line, code and field.", len(names)))
}

// delegate gives part of the work to a run with fewer grants.
func (a *agent) delegate(ctx context.Context) error {
	if err := a.begin(ctx, "Have a reviewer check the demo itself, and nothing else."); err != nil {
		return err
	}
	if err := a.call(ctx); err != nil {
		return err
	}
	const part = namespace + "/internal/demo"
	child, err := a.run.Child(ctx, producer.Child{ID: "run-reviewer", Agent: "reviewer", Thread: "thread-reviewer", Grants: grant.Only(part)})
	if err != nil {
		return err
	}
	if _, err := child.Child(ctx, producer.Child{Grants: grant.Only(namespace)}); !errors.Is(err, producer.ErrDepth) {
		return errors.Join(errors.New("the demo expected a depth limit"), err)
	}
	_, err = a.run.Child(ctx, producer.Child{ID: "run-greedy", Agent: "reviewer", Grants: grant.Only("app")})
	if err == nil {
		return errors.New("the demo expected a denied grant")
	}
	a.say("        a child run got %s; another asked for \"app\" and was denied", part)
	reviewer := &agent{run: child, model: a.model, counter: a.counter, files: a.files, say: a.say, titles: make(map[string]string)}
	reviewer.number.call, reviewer.number.item = 500, 500
	reviewer.turn, reviewer.id.turn = child.Turn(a.id.turn+"-review", a.model), a.id.turn+"-review"
	err = reviewer.add(ctx, producer.Content{
		ID: "review:system", Title: "system prompt", ContextKind: "system_instruction", Layer: "system", Role: window.RoleSystem, Kind: window.KindFixed,
		Pinned: true, Text: "You review Go files and report what is hard to read.",
	})
	if err != nil {
		return err
	}
	if err := reviewer.read(ctx, "internal/demo/script.go"); err != nil {
		return err
	}
	if err := reviewer.read(ctx, "flags.go"); err == nil {
		return errors.New("the demo expected a file outside of the grants")
	}
	if err := reviewer.answer(ctx, path.Base("internal/demo/script.go")+" reads well; I may not open flags.go."); err != nil {
		return err
	}
	return a.answer(ctx, "The reviewer found nothing to change in the demo.")
}
