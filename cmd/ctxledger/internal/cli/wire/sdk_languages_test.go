package wire_test

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
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/producer/producertest/realclient"
)

// TestSessionsOfTheSDKs records two sessions with the SDK of each language over HTTP: the agent
// of its example, and the decisions of a file. The ACTX-AR cases pass for each, and a pack of a
// turn verifies.
func TestSessionsOfTheSDKs(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	data := filepath.Join(t.TempDir(), "data")
	url := strings.TrimSuffix(clitest.Up(t, data).Events, "/v1/events")
	file, err := os.ReadFile(clitest.SDKPath("testdata/decisions.json"))
	if err != nil {
		t.Fatal(err)
	}
	key := "key k0123456789 2026-01-01T00:00:00Z " + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("s", 32)))
	var sessions []string
	for _, sdk := range clitest.SDKFolders {
		if _, err := exec.LookPath(sdk.Interpreter); err != nil {
			clitest.Skip(t, err.Error())
		}
		dir := t.TempDir()
		if err := os.CopyFS(filepath.Join(dir, sdk.To), os.DirFS(clitest.SDKPath(sdk.From))); err != nil {
			t.Fatal(err)
		}
		run := func(program, session string, args ...string) string {
			t.Helper()
			sessions = append(sessions, session)
			text, err := os.ReadFile(clitest.SDKPath(program))
			name := filepath.Base(program)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), clitest.StartPatience)
			defer cancel()
			var stderr strings.Builder
			cmd := exec.CommandContext(ctx, sdk.Interpreter, append([]string{name}, args...)...)
			cmd.Dir, cmd.Stderr, cmd.Env = dir, &stderr, append(os.Environ(), "CTXLEDGER_URL="+url, "SESSION="+session)
			cmd.Stdin = strings.NewReader(strings.Replace(string(file), `"session": "d-1"`, `"session": "`+session+`"`, 1))
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s: %v\n%s", program, err, &stderr)
			}
			return string(out)
		}
		if out := run(sdk.Example, sdk.Interpreter+"-agent"); strings.Count(out, " is in the stream, 0 facts refused\n") != 2 {
			t.Errorf("%s printed %s", sdk.Example, out)
		}
		if out := run(sdk.Decisions, sdk.Interpreter+"-decisions", url, key); out != "0 refused\n" {
			t.Errorf("%s printed %s", sdk.Decisions, out)
		}
	}
	awaitSeals(t, data, float64(2*len(sessions)))
	for _, session := range sessions {
		conforms(t, data, session)
	}
	rows := clitest.Ask(t, data, "--sql", "SELECT countIf(positionCaseInsensitive(data, 'sk-live-4f') > 0 OR positionCaseInsensitive(data, 'größe/') > 0) AS found FROM events")
	if rows[0]["found"] != 0.0 {
		t.Errorf("%v events hold a withheld value", rows[0]["found"])
	}
}

// conforms checks that the ACTX-AR cases pass for a session of an SDK, and that a pack of a turn
// verifies.
func conforms(t *testing.T, data, session string) {
	t.Helper()
	stdout, stderr, code := clitest.Run(t, "conformance", "--session", session, "--data", data, "-o", "json")
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
	found := clitest.Up(t, data)
	decisions := clitest.ReadRepository(t, "producer", "sdk", "testdata", "decisions.json")
	key := "key k0123456789 2026-01-01T00:00:00Z " + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("s", 32)))
	for _, sdk := range clitest.SDKFolders {
		app, session := filepath.Join(client.Dir, sdk.Interpreter), sdk.Interpreter+"-decisions"
		name := filepath.Base(sdk.Decisions)
		err := os.CopyFS(filepath.Join(app, sdk.To), os.DirFS(clitest.SDKPath(sdk.From)))
		if err == nil {
			err = os.WriteFile(filepath.Join(app, name), []byte(clitest.ReadRepository(t, "producer", "sdk", "testdata", name)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), sdk.Interpreter, name, found.NATSURL, key)
		cmd.Dir = app
		cmd.Stdin = strings.NewReader(strings.Replace(decisions, `"session": "d-1"`, `"session": "`+session+`"`, 1))
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "0 refused\n" {
			t.Fatalf("it printed %s: %v", out, err)
		}
	}
	awaitSeals(t, data, 4)
	for _, sdk := range clitest.SDKFolders {
		conforms(t, data, sdk.Interpreter+"-decisions")
	}
}
