package exampleagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// toolDefinitions describes the tools to the model.
const toolDefinitions = `[
{"name":"repo_read","description":"Read a file of the repository.","parameters":{"path":"string"}},
{"name":"repo_list","description":"List a folder of the repository.","parameters":{"path":"string"}},
{"name":"lint","description":"Check the files that were read.","parameters":{}},
{"name":"restore","description":"Put a file that was left out back into view.","parameters":{"path":"string"}},
{"name":"recall","description":"Recall what is known of a topic.","parameters":{"path":"string"}},
{"name":"delegate","description":"Let a helper with fewer grants do part of the work.","parameters":{"task":"string","grants":["string"]}}]`

// Repository is the declared resource of a run with files to read.
var Repository = producer.Resource{
	Name: "repo", Kind: "files", Tools: []producer.Tool{{Name: "read", Mode: grant.Read}, {Name: "list", Mode: grant.Read}},
}

// Memory is the declared resource of a run whose agent has topics to recall.
var Memory = producer.Resource{Name: "memory", Tools: []producer.Tool{{Name: "recall", Mode: grant.Read}}}

// use runs a tool and puts the call and its result into the context.
func (a *Agent) use(ctx context.Context, call ToolCall) error {
	a.count.tools++
	id := a.id("tool", a.count.tools)
	step := a.turn
	a.turn = step.In(producer.Place{ToolCall: id}) // context that the tool consumes
	defer func() { a.turn = step }()
	arguments, err := json.Marshal(call)
	if err != nil {
		return err
	}
	about := call.Tool + " " + call.Path + call.Task
	err = a.add(ctx, producer.Content{
		ID: id, Title: about, ContextKind: "tool_call", Layer: "tool_calls", Role: window.RoleAssistant, Kind: window.KindToolCall,
		Text: string(arguments), ToolName: call.Tool, ToolCallID: id, CallID: a.callID(),
	})
	if err != nil {
		return err
	}
	result := producer.Content{
		ID: id + ":result", Title: "result of " + about, ContextKind: "tool_result", Layer: "tool_results", Role: window.RoleTool,
		Kind: window.KindToolResult, ToolName: call.Tool, ToolCallID: id, CallID: a.callID(),
	}
	switch call.Tool {
	case "repo_read":
		result.Text, err = a.open(ctx, id, "read", call.Path, fs.ReadFile)
		result.Title = "contents of " + call.Path
		result.Reads, result.SourceURI, result.SourceKind = call.Path, "repo:///"+call.Path, "file"
	case "repo_list":
		result.Text, err = a.open(ctx, id, "list", call.Path, list)
	case "lint":
		result.Text, err = a.lint(ctx, id)
	case "restore":
		result.Text, err = a.restore(ctx, call.Path)
	case "recall":
		result.Text, err = a.recall(ctx, id, call.Path)
		result.Title, result.ContextKind, result.Layer, result.OfferedBy = "memory: "+call.Path, "memory", "memory", a.offer
	case "delegate":
		result.Text, err = a.delegate(ctx, id, call)
	default:
		err = &toolError{"there is no such tool"}
	}
	var told *toolError // the model sees this error and may react; any other error ends the turn
	if errors.As(err, &told) {
		result.Text = "error: " + told.problem
		result.Title = result.Text
	} else if err != nil {
		return err
	}
	return a.add(ctx, result)
}

// toolError is an error that a tool reports to the model.
type toolError struct{ problem string }

func (e *toolError) Error() string { return e.problem }

// open calls do with a path if the run's grants reach the path. The ledger records the
// access in both cases, and a gap for a missing file.
func (a *Agent) open(ctx context.Context, call, operation, path string, do func(fs.FS, string) ([]byte, error)) (string, error) {
	err := a.turn.Access(ctx, producer.Access{
		Resource: Repository.Name, Operation: operation, Mode: grant.Read, Path: strings.TrimSuffix(string(a.Root)+"/"+path, "/."), ToolCall: call,
	})
	if errors.Is(err, producer.ErrAccess) {
		return "", &toolError{path + " is outside of what this run may touch"}
	}
	if err != nil {
		return "", err
	}
	text, err := do(a.Files, path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := a.missing(ctx, path); err != nil {
			return "", err
		}
		return "", &toolError{path + " is missing"}
	}
	if err != nil {
		return "", &toolError{err.Error()}
	}
	if gap, was := a.gaps[path]; was {
		delete(a.gaps, path)
		return string(text), gap.Resolve(ctx, schema.Ref(call+":result"))
	}
	return string(text), nil
}

func list(files fs.FS, folder string) ([]byte, error) {
	entries, err := fs.ReadDir(files, folder)
	var b []byte
	for _, e := range entries {
		b = append(b, e.Name()+"\n"...)
	}
	return b, err
}

// lint checks the files that the window holds whole. These files are context that a tool
// consumes. The ledger records them separately from the model's context.
func (a *Agent) lint(ctx context.Context, id string) (string, error) {
	given := window.Plan{Window: slices.Clone(a.items)}
	given.Window = slices.DeleteFunc(given.Window, func(it window.Item) bool { return it.Reads == "" || it.Kind != window.KindToolResult })
	if len(given.Window) == 0 {
		return "", &toolError{"no file was read"}
	}
	asm, err := a.asked.AssembleFor(ctx, given, producer.Receiver{Target: schema.VisibleTool, ToolCall: id})
	if err != nil {
		return "", err
	}
	lines := 0
	for _, it := range given.Window {
		lines += strings.Count(a.texts[it.ID], "\n")
	}
	return fmt.Sprintf("%d files with %d lines: nothing found", len(given.Window), lines), a.asked.Inject(ctx, asm, schema.InjectToolArgument)
}

// recall returns the agent's memory of a topic.
func (a *Agent) recall(ctx context.Context, call, topic string) (string, error) {
	err := a.turn.Access(ctx, producer.Access{Resource: Memory.Name, Operation: "recall", Mode: grant.Read, Path: string(a.Root) + "/topics/" + topic, ToolCall: call})
	text, known := a.Topics[topic]
	if errors.Is(err, producer.ErrAccess) || err == nil && !known {
		return "", &toolError{"nothing is remembered of " + topic}
	}
	return text, err
}

// missing records a gap for a missing file and asks the user to fill the gap.
func (a *Agent) missing(ctx context.Context, path string) error {
	if a.gaps[path] != nil {
		return nil // already asked
	}
	a.count.asked++
	gap, err := a.turn.In(producer.Place{Action: a.id("ask", a.count.asked)}).Missing(ctx, schema.Missing{
		Scope: "turn", CallID: a.callID(), Question: "What does " + path + " say?", NeededFor: "a complete answer",
		Severity: schema.SeverityMedium, RequestedFrom: "user", RequestedAction: "say where it is, or that there is none",
		UserSummary: path + " is missing, so the answer does without it.",
	})
	if gap == nil {
		return err
	}
	a.gaps[path] = gap
	return nil // with a gap, an error means that the facts are queued but not yet stored
}

// delegate runs a task in a child run with fewer grants, in a separate turn and window. The
// child never gets more than the parent has: a request for more is recorded as denied.
func (a *Agent) delegate(ctx context.Context, id string, call ToolCall) (string, error) {
	a.count.helpers++
	name := a.id("helper", a.count.helpers)
	run, err := a.Run.Child(ctx, producer.Child{
		ID: name, Thread: name, Agent: "helper", Grants: grant.Only(call.Grants...), Resources: []producer.Resource{Repository},
		Place: producer.Place{Step: a.id("step", a.count.calls), ToolCall: id},
	})
	var denied *grant.Error
	if errors.As(err, &denied) || errors.Is(err, producer.ErrDepth) {
		return "", &toolError{err.Error()}
	}
	if err != nil {
		return "", err
	}
	config := a.Config
	config.Run, config.Prefix = run, name+"/"
	config.Memory, config.Persona, config.Topics, config.Scratchpad, config.Attach = nil, Persona{}, nil, nil, nil
	helper, err := New(ctx, config)
	if err != nil {
		return "", err
	}
	return helper.Ask(ctx, call.Task)
}
