package realclient_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer/producertest/modelserver"
	"github.com/ctxledger/ctxledger/producer/producertest/realclient"
)

// TestClaudeCodeCallsTheServer runs the real Claude Code through two tool calls, with an
// overloaded provider in between.
func TestClaudeCodeCallsTheServer(t *testing.T) {
	t.Parallel()
	server := modelserver.New(t, modelserver.Sequence(
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Call("Bash", `{"command":"echo one","description":"d"}`)}},
		modelserver.Answer{Fault: modelserver.Fault{Status: 529}},
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Reasoning("so"), modelserver.Call("Bash", `{"command":"echo two","description":"d"}`)}},
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("both are done")}},
	))
	client := realclient.ClaudeCode(t, server.URL)
	out := client.Run(t, "-p", "echo one, then two", "--allowedTools", "Bash", "--output-format", "json")
	if !strings.Contains(out, "both are done") {
		t.Errorf("the client printed %s", out)
	}
	calls := server.Calls()
	if len(calls) != 4 {
		t.Fatalf("%d calls instead of 4", len(calls))
	}
	for i, call := range calls {
		if len(call.List("messages")) == 0 || call.Header.Get("x-claude-code-session-id") == "" {
			t.Errorf("call %d has no messages or no session", i)
		}
	}
	if calls[1].Status != 529 || calls[2].Status != http.StatusOK {
		t.Errorf("the states are %d and %d", calls[1].Status, calls[2].Status)
	}
	if logs := client.Logs(t); len(logs) != 1 {
		t.Errorf("the logs are %q", logs)
	}
}

// TestCodexCallsTheServer runs the real Codex through one tool call.
func TestCodexCallsTheServer(t *testing.T) {
	t.Parallel()
	server := modelserver.New(t, modelserver.Sequence(
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Reasoning("so"), modelserver.Call("exec_command", `{"cmd":"echo one"}`)}},
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("it is done")}},
	))
	client := realclient.Codex(t, server.URL)
	out := client.Run(t, "exec", "--skip-git-repo-check", "echo one")
	if !strings.Contains(out, "it is done") {
		t.Errorf("the client printed %s", out)
	}
	calls := server.Calls()
	if len(calls) != 2 || len(calls[1].List("input")) <= len(calls[0].List("input")) {
		t.Fatalf("%d calls instead of 2 that grow", len(calls))
	}
	if logs := client.Logs(t); len(logs) != 1 {
		t.Errorf("the logs are %q", logs)
	}
}
