package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/producer/producertest/realclient"
)

// sdkFolders are the SDKs for other languages, each with the folder in which a program of its
// user finds it.
var sdkFolders = []struct{ interpreter, from, to, example, decisions string }{
	{"node", "typescript", "node_modules/@ctxledger/sdk", "typescript/examples/agent.mjs", "testdata/decisions.mjs"},
	{"python3", "python/ctxledger", "ctxledger", "python/examples/agent.py", "testdata/decisions.py"},
}

func sdkPath(name string) string { return filepath.Join("..", "..", "producer", "sdk", name) }

// TestSessionsOfTheSDKs records two sessions with the SDK of each language over HTTP: the agent
// of its example, and the decisions of a file. The ACTX-AR cases pass for each, and a pack of a
// turn verifies.
func TestSessionsOfTheSDKs(t *testing.T) {
	t.Parallel()
	needEngine(t)
	data := filepath.Join(t.TempDir(), "data")
	url := strings.TrimSuffix(up(t, data).Events, "/v1/events")
	file, err := os.ReadFile(sdkPath("testdata/decisions.json"))
	if err != nil {
		t.Fatal(err)
	}
	key := "key k0123456789 2026-01-01T00:00:00Z " + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("s", 32)))
	var sessions []string
	for _, sdk := range sdkFolders {
		if _, err := exec.LookPath(sdk.interpreter); err != nil {
			skip(t, err.Error())
		}
		dir := t.TempDir()
		if err := os.CopyFS(filepath.Join(dir, sdk.to), os.DirFS(sdkPath(sdk.from))); err != nil {
			t.Fatal(err)
		}
		run := func(program, session string, args ...string) string {
			t.Helper()
			sessions = append(sessions, session)
			text, err := os.ReadFile(sdkPath(program))
			name := filepath.Base(program)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), startPatience)
			defer cancel()
			var stderr strings.Builder
			cmd := exec.CommandContext(ctx, sdk.interpreter, append([]string{name}, args...)...)
			cmd.Dir, cmd.Stderr, cmd.Env = dir, &stderr, append(os.Environ(), "CTXLEDGER_URL="+url, "SESSION="+session)
			cmd.Stdin = strings.NewReader(strings.Replace(string(file), `"session": "d-1"`, `"session": "`+session+`"`, 1))
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s: %v\n%s", program, err, &stderr)
			}
			return string(out)
		}
		if out := run(sdk.example, sdk.interpreter+"-agent"); strings.Count(out, " is in the stream, 0 facts refused\n") != 2 {
			t.Errorf("%s printed %s", sdk.example, out)
		}
		if out := run(sdk.decisions, sdk.interpreter+"-decisions", url, key); out != "0 refused\n" {
			t.Errorf("%s printed %s", sdk.decisions, out)
		}
	}
	awaitSeals(t, data, float64(2*len(sessions)))
	for _, session := range sessions {
		conforms(t, data, session)
	}
	rows := askCLI(t, data, "--sql", "SELECT countIf(positionCaseInsensitive(data, 'sk-live-4f') > 0 OR positionCaseInsensitive(data, 'größe/') > 0) AS found FROM events")
	if rows[0]["found"] != 0.0 {
		t.Errorf("%v events hold a withheld value", rows[0]["found"])
	}
}

// conforms checks that the ACTX-AR cases pass for a session of an SDK, and that a pack of a turn
// verifies.
func conforms(t *testing.T, data, session string) {
	t.Helper()
	stdout, stderr, code := ctxledger(t, "conformance", "--session", session, "--data", data, "-o", "json")
	var report struct {
		Cases []struct {
			Case     string
			Findings []any
		}
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != cli.ExitDone {
		t.Fatalf("conformance of %s ended with %d: %v %s%s", session, code, err, stdout, stderr)
	}
	applied := 0
	for _, c := range report.Cases {
		applied += min(1, len(c.Findings))
	}
	if least := map[bool]int{true: 9, false: 8}[strings.HasSuffix(session, "-decisions")]; applied < least {
		t.Errorf("only %d cases apply to %s: %s", applied, session, stdout)
	}
	verifyTurn(t, data, session, "turn-2")
}

// TestSessionsOverNATS records the decisions of the file with each SDK straight to JetStream, in
// TypeScript through the packages of the NATS project. The ACTX-AR cases pass.
func TestSessionsOverNATS(t *testing.T) {
	t.Parallel()
	client := realclient.Library(t)
	data := filepath.Join(t.TempDir(), "data")
	found := up(t, data)
	decisions := readRepository(t, "producer", "sdk", "testdata", "decisions.json")
	key := "key k0123456789 2026-01-01T00:00:00Z " + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("s", 32)))
	for _, sdk := range sdkFolders {
		app, session := filepath.Join(client.Dir, sdk.interpreter), sdk.interpreter+"-decisions"
		name := filepath.Base(sdk.decisions)
		err := os.CopyFS(filepath.Join(app, sdk.to), os.DirFS(sdkPath(sdk.from)))
		if err == nil {
			err = os.WriteFile(filepath.Join(app, name), []byte(readRepository(t, "producer", "sdk", "testdata", name)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), sdk.interpreter, name, found.NATSURL, key)
		cmd.Dir = app
		cmd.Stdin = strings.NewReader(strings.Replace(decisions, `"session": "d-1"`, `"session": "`+session+`"`, 1))
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "0 refused\n" {
			t.Fatalf("it printed %s: %v", out, err)
		}
	}
	awaitSeals(t, data, 4)
	for _, sdk := range sdkFolders {
		conforms(t, data, sdk.interpreter+"-decisions")
	}
}
