package importer_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
	"github.com/ctxledger/ctxledger/producer/importer"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/producer/producertest/modelserver"
	"github.com/ctxledger/ctxledger/producer/producertest/realclient"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/canonical"
)

func bash(command string) modelserver.Part {
	return call("Bash", map[string]any{"command": command, "description": "runs a command"})
}

func call(tool string, input map[string]any) modelserver.Part {
	text, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return modelserver.Call(tool, string(text))
}

func answer(parts ...modelserver.Part) modelserver.Answer {
	return modelserver.Answer{Parts: parts, Usage: modelserver.Usage{Input: 7, CacheRead: 100, CacheWrite5m: 30, CacheWrite1h: 4, Output: 9}}
}

var done = answer(modelserver.Text("it is done"))

// claudeSessions are sessions of the real Claude Code. run starts the client as often as the
// session needs it.
var claudeSessions = map[string]struct {
	answers []modelserver.Answer
	run     func(t *testing.T, c *realclient.Client)
	missing int // calls that the client's log lacks
}{
	"tools": {
		answers: []modelserver.Answer{
			answer(modelserver.Reasoning("look first"), modelserver.Text("I look."), bash("echo one > f.txt"), bash("ls")),
			answer(bash("cat f.txt")), done,
		},
		run: prompts("list the files"),
	},
	"edits": {
		answers: []modelserver.Answer{
			answer(call("Write", map[string]any{"file_path": "a.txt", "content": "one\ntwo <&> \u2028 é\n"})),
			answer(call("Read", map[string]any{"file_path": "a.txt"})),
			answer(call("Edit", map[string]any{"file_path": "a.txt", "old_string": "one", "new_string": "three"})), done,
		},
		run: prompts("write a file"),
	},
	"sub-agent in the background": {
		answers: []modelserver.Answer{
			answer(call("Agent", map[string]any{"description": "a look", "prompt": "look at it", "subagent_type": "general-purpose"})),
			answer(bash("echo sub")), answer(modelserver.Text("what I found")), done,
		},
		run: prompts("use an agent"),
	},
	"sub-agent that is awaited": {
		answers: []modelserver.Answer{
			answer(call("Agent", map[string]any{"description": "a look", "prompt": "look at it", "subagent_type": "general-purpose", "run_in_background": false})),
			answer(bash("echo sub")), answer(modelserver.Text("what I found")), done,
		},
		run: prompts("use an agent"),
	},
	"compaction": {
		answers: []modelserver.Answer{
			answer(bash("echo 1")), answer(bash("echo 2")), done,
			answer(modelserver.Text("<analysis>a</analysis><summary>we ran echo</summary>")), answer(bash("echo 3")), done,
		},
		run: prompts("one", "/compact", "two"), missing: 1,
	},
	"resume": {
		answers: []modelserver.Answer{answer(bash("echo 1")), done, answer(bash("echo 2")), done},
		run:     prompts("one", "two", "three"),
	},
	"fork": {
		answers: []modelserver.Answer{answer(bash("echo 1")), done, answer(bash("echo 2")), done},
		run: func(t *testing.T, c *realclient.Client) {
			prompts("one")(t, c)
			c.Run(t, claudeArgs("two", "--continue", "--fork-session")...)
		},
	},
	"faults": {
		answers: []modelserver.Answer{
			{Fault: modelserver.Fault{Status: 500}}, answer(bash("echo 1")),
			{Parts: done.Parts, Fault: modelserver.Fault{CutAfter: 2}}, answer(bash("false")), done,
		},
		run: prompts("one"),
	},
	"numbers and texts": {
		answers: []modelserver.Answer{
			answer(call("Bash", map[string]any{"command": "printf '\\001 \\\\ \\xc3\\xa9 \"q\"'", "description": "𝄞 < > & \u2029 \x7f", "timeout": 1e5})),
			answer(call("Bash", map[string]any{"cache_control": map[string]any{"type": "x"}, "command": "echo é"})), done,
		},
		run: prompts("print 𝄞 \\u0001 \"quoted\""),
	},
	"settings of the project": {
		answers: []modelserver.Answer{answer(bash("echo 1"), bash("echo 2"), bash("echo 3")), done},
		run: func(t *testing.T, c *realclient.Client) {
			if err := os.WriteFile(filepath.Join(c.Dir, "CLAUDE.md"), []byte("Always answer briefly.\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			prompts("one")(t, c)
		},
	},
}

func claudeArgs(prompt string, more ...string) []string {
	return append(more, "-p", prompt, "--output-format", "json", "--permission-mode", "acceptEdits", "--allowedTools", "Bash,Read,Write,Edit,Agent,Task")
}

// prompts runs the client once for each prompt, in one session.
func prompts(list ...string) func(t *testing.T, c *realclient.Client) {
	return func(t *testing.T, c *realclient.Client) {
		for i, prompt := range list {
			var more []string
			if i > 0 {
				more = []string{"--continue"}
			}
			c.Run(t, claudeArgs(prompt, more...)...)
		}
	}
}

// TestWindowsOfClaudeCode imports the logs of sessions that the real Claude Code made. Each
// window equals the request that the server received, block for block. The oracle is the bytes on
// the wire.
func TestWindowsOfClaudeCode(t *testing.T) {
	t.Parallel()
	for name, session := range claudeSessions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := modelserver.New(t, modelserver.Sequence(session.answers...))
			client := realclient.ClaudeCode(t, server.URL)
			session.run(t, client)
			got := importLogs(t, model.FormatClaudeCode, client.Logs(t))
			calls, windows := got.calls(t), got.windows(t)
			missing := 0
			for _, request := range server.Calls() {
				usage := calls[request.MessageID]
				switch {
				case request.Status != 200 || request.Answer.Fault.CutAfter > 0:
					continue
				case usage == nil:
					missing++
					continue
				case usage.Fidelity != schema.FidelitySerialized:
					t.Errorf("%s has the fidelity %s %v", request.MessageID, usage.Fidelity, usage.CoverageReasons)
					continue
				}
				if difference := compare(wireBlocks(t, request), windows[usage.AssemblyID]); difference != "" {
					t.Errorf("%s: %s", request.MessageID, difference)
				}
			}
			t.Logf("%d calls, %d windows, %d that the log lacks", len(server.Calls()), len(windows), missing)
			if missing != session.missing || (missing > 0) != (len(got.report.Lacks) > 0) {
				t.Errorf("the log lacks %d calls instead of %d; the report names %+v", missing, session.missing, got.report.Lacks)
			}
			for _, p := range got.report.Problems {
				t.Errorf("a problem: %v", p)
			}
			if len(got.report.Unknown) > 0 {
				t.Errorf("unknown records: %v", got.report.Unknown)
			}
		})
	}
}

// importLogs imports the logs, each twice. The second import gives the same bytes.
func importLogs(t *testing.T, format model.Format, paths []string) (got imported) {
	t.Helper()
	opts := testOptions()
	opts.Equality = schema.KeyRing{Keys: []schema.Key{opts.Key}}.Equality()
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		one := importAs(t, format, filepath.Base(path), text, opts)
		checkValid(t, one.events)
		again := importAs(t, format, filepath.Base(path), text, opts)
		if !slices.EqualFunc(one.events, again.events, func(a, b *schema.Event) bool { return a.ID == b.ID && bytes.Equal(a.Data, b.Data) }) {
			t.Errorf("a second import of %s gives other bytes", path)
		}
		got.events = append(got.events, one.events...)
		got.report.Merge(one.report)
	}
	got.report.FindLacks()
	return got
}

// calls returns the usages by the provider's message id.
func (got imported) calls(t *testing.T) map[string]*schema.UsageRecorded {
	t.Helper()
	calls := make(map[string]*schema.UsageRecorded)
	for _, e := range got.events {
		if u, ok := decode(t, e).(*schema.UsageRecorded); ok && u.ProviderMessageID != "" {
			// a forked session tells the calls of the first session again, without their requests
			if known := calls[u.ProviderMessageID]; known != nil && known.Fidelity.Rank() <= u.Fidelity.Rank() {
				continue
			}
			calls[u.ProviderMessageID] = u
		}
	}
	return calls
}

// windows returns the assemblies with their bases.
func (got imported) windows(t *testing.T) map[string][]schema.Block {
	t.Helper()
	windows := make(map[string][]schema.Block)
	for _, e := range got.events {
		a, ok := decode(t, e).(*schema.AssemblyCreated)
		if !ok {
			continue
		}
		list := windows[a.AssemblyID]
		if part, split := a.Metadata["part"]; a.BaseAssemblyID != "" && (!split || fmt.Sprint(part) == "1") {
			list = slices.Clip(windows[a.BaseAssemblyID][:*a.Keep])
		}
		for _, b := range a.OrderedBlocks {
			if int(*b.Position) != len(list) {
				t.Errorf("block %d of %s has the position %d", len(list), a.AssemblyID, *b.Position)
			}
			list = append(list, b)
		}
		windows[a.AssemblyID] = list
	}
	return windows
}

// wireBlocks are the blocks of a request, without the client's billing header.
func wireBlocks(t *testing.T, r *modelserver.Request) []dialect.Block {
	t.Helper()
	read, err := dialect.AnthropicMessages.ReadRequest(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(read.Blocks, func(b dialect.Block) bool {
		return b.Layer == dialect.LayerSystem && bytes.Contains(b.Raw, []byte("x-anthropic-billing-header"))
	})
}

// compare returns the first difference between the wire and a window, "" if there is none.
func compare(wire []dialect.Block, window []schema.Block) string {
	opts := testOptions()
	equality := schema.KeyRing{Keys: []schema.Key{opts.Key}}.Equality()
	for i, b := range wire {
		digest, err := canonical.Sum(b.Raw)
		if err != nil {
			return err.Error()
		}
		if i >= len(window) {
			break
		}
		if w := window[i]; w.EqualityDigest != equality.EqualityDigest(digest) || w.Layer != string(b.Layer) || w.Role != b.Role || w.Block != b.Kind {
			return fmt.Sprintf("block %d is %s %s %s %s… on the wire and %s %s %s in the log", i, b.Kind, b.Layer, b.Role, hex.EncodeToString(digest[:4]), w.Block, w.Layer, w.Role)
		}
	}
	if len(wire) != len(window) {
		return fmt.Sprintf("%d blocks on the wire and %d in the log", len(wire), len(window))
	}
	return ""
}

// codexSessions are sessions of the real Codex.
var codexSessions = map[string]struct {
	answers []modelserver.Answer
	prompts []string
}{
	"tools": {
		[]modelserver.Answer{
			answer(modelserver.Reasoning("look first"), runs("echo one > f.txt")),
			answer(modelserver.Text("I look."), runs("ls"), runs("cat f.txt")), done,
		},
		[]string{"list the files"},
	},
	"resume":         {[]modelserver.Answer{answer(runs("echo 1")), done, answer(runs("echo 2")), done}, []string{"one", "two"}},
	"texts":          {[]modelserver.Answer{answer(runs(`printf '\001 "q" é'`)), done}, []string{"print 𝄞 \\u0001 \"quoted\"\n<&>"}},
	"faults":         {[]modelserver.Answer{{Fault: modelserver.Fault{Status: 500}}, answer(runs("false")), done}, []string{"one"}},
	"an answer only": {[]modelserver.Answer{done}, []string{"one"}},
}

func runs(command string) modelserver.Part {
	return call("exec_command", map[string]any{"cmd": command})
}

// TestWindowsOfCodex imports rollouts that the real Codex made. The texts of each request are
// those of the window's entries, in order; the coverage names the parts that the log lacks. The oracle is the bytes on the wire.
func TestWindowsOfCodex(t *testing.T) {
	t.Parallel()
	for name, session := range codexSessions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := modelserver.New(t, modelserver.Sequence(session.answers...))
			client := realclient.Codex(t, server.URL)
			for i, prompt := range session.prompts {
				args := []string{"exec", "--skip-git-repo-check"}
				if i > 0 {
					args = append(args, "resume", "--last")
				}
				client.Run(t, append(args, prompt)...)
			}
			got := importLogs(t, model.FormatCodex, client.Logs(t))
			calls, entries := got.calls(t), factsOf[*schema.LogAppended](t, got)
			for _, request := range server.Calls() {
				if request.Status != 200 {
					continue
				}
				usage := calls[request.MessageID]
				if usage == nil {
					t.Errorf("the log has no call %s", request.MessageID)
					continue
				}
				read, err := dialect.OpenAIResponses.ReadRequest(request.Body)
				if err != nil {
					t.Fatal(err)
				}
				var wire, log []string
				for _, b := range read.Blocks {
					if b.Layer != dialect.LayerTools && b.Message >= 0 {
						digest := testOptions().Digest(string(b.Text))
						if b.Kind == "reasoning" { // encrypted: the log and the wire have no text but the display's
							digest = ""
						}
						wire = append(wire, digest)
					}
				}
				for _, e := range entries {
					if *e.Position >= *usage.WindowFirst && *e.Position < *usage.WindowNext {
						log = append(log, e.ContentDigest)
					}
				}
				// the first text is the system prompt, which the client edits before it sends it
				if len(wire) != len(log) || !slices.Equal(wire[1:], log[1:]) {
					t.Errorf("%s: %d texts on the wire and %d in the log", request.MessageID, len(wire), len(log))
				}
				edited := slices.Contains(usage.CoverageReasons, string(schema.PartialSystem))
				if wire[0] != log[0] && !edited || !slices.Contains(usage.CoverageReasons, string(schema.PartialTools)) {
					t.Errorf("%s does not name what the log lacks: %v", request.MessageID, usage.CoverageReasons)
				}
				if u := request.Answer.Usage; *usage.Usage.UncachedInput != u.Input || *usage.Usage.CacheRead != u.CacheRead || *usage.Usage.Output != u.Output {
					t.Errorf("%s has the usage %+v", request.MessageID, usage.Usage)
				}
			}
			t.Logf("%d calls", len(calls))
			if len(got.report.Problems) > 0 || len(got.report.Unknown) > 0 {
				t.Errorf("problems %v, unknown %v", got.report.Problems, got.report.Unknown)
			}
		})
	}
}

// equalCount reports whether a count is known and is the one that the server sent.
func equalCount(read *int64, sent int64) bool { return read != nil && *read == sent }

// TestBodiesOfClaudeCode imports the bodies that the real Claude Code keeps of its calls. Each
// window equals the request that the server received, block for block, except for the reasoning
// that the client hides. On a busy machine the client can end before it has written both bodies of
// a call; the import names this call.
func TestBodiesOfClaudeCode(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"edits", "sub-agent that is awaited", "compaction", "faults", "tools"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := claudeSessions[name]
			server := modelserver.New(t, modelserver.Sequence(session.answers...))
			client := realclient.ClaudeCode(t, server.URL)
			index := client.KeepBodies(t, server.URL)
			session.run(t, client)
			opts := testOptions()
			opts.Equality = schema.KeyRing{Keys: []schema.Key{opts.Key}}.Equality()
			var got imported
			var err error
			got.report, err = importer.ImportFile(t.Context(), model.FormatClaudeBodies, index, opts, func(e *schema.Event) error {
				got.events = append(got.events, e)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			calls, windows, hidden := got.calls(t), got.windows(t), 0
			var lost []string
			for _, request := range server.Calls() {
				if request.Status != 200 || request.Answer.Fault.CutAfter > 0 {
					continue
				}
				usage := calls[request.MessageID]
				if usage == nil || usage.Usage.Output == nil {
					lost = append(lost, request.MessageID)
					continue
				}
				wire, err := dialect.AnthropicMessages.ReadRequest(request.Body)
				if err != nil {
					t.Fatal(err)
				}
				difference := compare(wire.Blocks, windows[usage.AssemblyID])
				if usage.Coverage == schema.CoveragePartial {
					hidden++
				}
				if reasons := slices.ContainsFunc(wire.Blocks, func(b dialect.Block) bool { return b.Kind == "reasoning" }); reasons != (difference != "") || reasons != (usage.Coverage == schema.CoveragePartial) {
					t.Errorf("%s: %s, %s %v", request.MessageID, difference, usage.Coverage, usage.CoverageReasons)
				}
				sent, read := request.Answer.Usage, usage.Usage
				if !equalCount(read.UncachedInput, sent.Input) || !equalCount(read.Output, sent.Output) || !equalCount(read.CacheRead, sent.CacheRead) {
					text, _ := json.Marshal(read)
					kept, _ := os.ReadFile(index)
					t.Errorf("%s has the usage %s of %+v, the client kept %s", request.MessageID, text, sent, kept)
				}
			}
			cut := slices.DeleteFunc(slices.Clone(got.report.Problems), func(p model.Problem) bool { return p.Reason != model.ReasonMalformedJSON })
			named := got.report.Ignored["request without a response"] + len(cut)
			t.Logf("%d calls, %d with hidden reasoning, %v, %v", len(calls), hidden, got.report.Ignored, got.report.Problems)
			if len(lost) > min(1, named) || len(cut) > len(lost) || len(cut) < len(got.report.Problems) {
				t.Errorf("%v are lost; the import names %d, with the problems %v", lost, named, got.report.Problems)
			}
			if (name == "tools") != (hidden > 0) {
				t.Errorf("%d calls have hidden reasoning", hidden)
			}
		})
	}
}
