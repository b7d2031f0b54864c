// Package demo runs `ctxledger demo`. The example agent reads real files with a window of
// 24,000 tokens and a scripted model. Every change of that window is recorded.
package demo

import (
	"context"
	"errors"
	"fmt"
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

// policy defines how the window is kept below its limit: the newest parts stay.
var policy = window.Policy{Name: "newest-parts", TrimKeepLast: 38, SummarizeKeepLast: 6, CompactKeepLast: 1}

// Guard withholds the planted secret.
func Guard() (*redact.Guard, error) {
	return redact.New(redact.Withhold(secret, "policy:no-credentials", "secret"))
}

// Secret returns the planted value, for a check that no event holds it.
func Secret() string { return secret }

// Shown names the window that the demo shows.
type Shown struct{ Session, Turn, Call string }

// Record runs the agent through its script. Record returns the call whose window has the most
// layers, and of several the fullest. Sources are the files that the agent reads. say receives
// lines for people, made from the facts that go to the transport. Config needs a counter.
func Record(ctx context.Context, config producer.Config, transport publish.Transport, sources fs.FS, say func(string, ...any)) (Shown, error) {
	narrated := &narrator{Transport: transport, say: say}
	client, err := producer.NewClient(config, narrated)
	if err != nil {
		return Shown{}, err
	}
	files := withPlanted(sources)
	replies, err := script(files)
	if err != nil {
		return Shown{}, err
	}
	w := work{client: client, config: config, files: files}
	first, err := w.attempt(ctx, 1, overloaded{})
	if err != nil {
		return Shown{}, err
	}
	if _, err := first.Ask(ctx, prompts[0].text); !errors.Is(err, errOverloaded) {
		return Shown{}, err
	}
	say("")
	say("        The model is overloaded: the turn is sealed without an answer, and the task is tried again.")
	say("")
	second, err := w.attempt(ctx, 2, replies)
	if err != nil {
		return Shown{}, err
	}
	for _, prompt := range prompts {
		second.Persona, second.Attach = prompt.persona, prompt.attach
		if _, err := second.Ask(ctx, prompt.text); err != nil {
			return Shown{}, err
		}
	}
	return narrated.shown, nil
}

// work holds the common parts of every attempt at the task.
type work struct {
	client *producer.Client
	config producer.Config
	files  fs.FS
}

// attempt begins one attempt at the task, with a separate run and window.
func (w work) attempt(ctx context.Context, n int, answers exampleagent.Model) (*exampleagent.Agent, error) {
	name := fmt.Sprint("attempt-", n)
	run, err := w.client.Open(ctx, producer.Run{
		ID: fmt.Sprint("demo-run-", n), Session: session, Agent: "coder", Program: "ctxledger demo", MaxDepth: 1,
		Place:  producer.Place{Task: "understand-the-repository", Attempt: name},
		Grants: grant.Set{root}, Basis: producer.Basis{Facts: []string{"user:demo"}, PolicyRefs: []string{"policy:own-repository"}},
		Resources:     []producer.Resource{exampleagent.Repository, exampleagent.Memory, {Name: "calendar", Unresolved: "no provider is registered"}},
		InheritedTags: []string{"demo"}, ConfigurableKeys: []string{"editor", "api_token"}, Pressure: &policy, ContextWrite: new(true),
	})
	if err != nil {
		return nil, err
	}
	prefix := ""
	if n == 1 {
		prefix = name + "/" // ids are unique in the session
	}
	return exampleagent.New(ctx, exampleagent.Config{
		Run: run, Model: answers, Spec: producer.Model{Name: model, Window: window.Budget{MaxTokens: 24_000, ReservedOutput: 2_000}},
		Counter: w.config.Counter, Guard: w.config.Guard, Files: w.files, Root: root, Memory: memory, Prefix: prefix,
		System: "You are a coding agent. Read before you answer, name files, and never repeat a credential.",
		Topics: topics, Scratchpad: scratchpad, Persona: coder, Goals: goals,
	})
}

// errOverloaded is the model's answer to the first attempt.
var errOverloaded = errors.New("the model is overloaded")

type overloaded struct{}

func (overloaded) Answer(context.Context, []exampleagent.Message) (exampleagent.Reply, error) {
	return exampleagent.Reply{}, errOverloaded
}
