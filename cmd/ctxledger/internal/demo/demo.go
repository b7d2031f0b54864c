// Package demo is what `ctxledger demo` does: the example agent works over real
// files with a window of 24,000 tokens and a scripted model, and everything that
// happens to that window is recorded.
package demo

import (
	"context"
	"io/fs"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/exampleagent"
	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/producer/window"
)

const (
	session = "demo-session"
	root    = "app/repo"
	model   = "gpt-4o"
)

// policy is how the window is kept: it holds on to the newest parts.
var policy = window.Policy{TrimKeepLast: 38, SummarizeKeepLast: 6, CompactKeepLast: 1}

// Guard withholds the planted secret.
func Guard() (*redact.Guard, error) {
	return redact.New(redact.Withhold(secret, "policy:no-credentials", "secret"))
}

// Secret is the planted value, to check that it is nowhere.
func Secret() string { return secret }

// Shown is the window that the demo shows.
type Shown struct{ Session, Turn, Call string }

// Record lets the agent work through its script and returns the call whose window
// has the most layers, and of those the fullest. Sources are the files that it
// reads; say gets a line for people now and then, made of the facts that go to the
// transport. Config needs a counter.
func Record(ctx context.Context, config producer.Config, transport publish.Transport, sources fs.FS, say func(string, ...any)) (Shown, error) {
	narrated := &narrator{Transport: transport, say: say}
	client, err := producer.NewClient(config, narrated)
	if err != nil {
		return Shown{}, err
	}
	run, err := client.Open(ctx, producer.Run{
		ID: "demo-run", Session: session, Agent: "coder", Program: "ctxledger demo", MaxDepth: 1,
		Place:  producer.Place{Task: "understand-the-repository", Attempt: "attempt-1"},
		Grants: grant.Set{root}, Resources: []producer.Resource{exampleagent.Repository},
		InheritedTags: []string{"demo"}, ConfigurableKeys: []string{"editor", "api_token"},
	})
	if err != nil {
		return Shown{}, err
	}
	files := withPlanted(sources)
	replies, err := script(files)
	if err != nil {
		return Shown{}, err
	}
	agent, err := exampleagent.New(ctx, exampleagent.Config{
		Run: run, Model: replies, Spec: producer.Model{Name: model, Window: window.Budget{MaxTokens: 24_000, ReservedOutput: 2_000}},
		Policy: policy, Counter: config.Counter, Guard: config.Guard, Files: files, Root: root, Memory: memory,
		System: "You are a coding agent. Read before you answer, name files, and never repeat a credential.",
	})
	if err != nil {
		return Shown{}, err
	}
	for _, prompt := range prompts {
		if _, err := agent.Ask(ctx, prompt); err != nil {
			return Shown{}, err
		}
	}
	return narrated.shown, nil
}
