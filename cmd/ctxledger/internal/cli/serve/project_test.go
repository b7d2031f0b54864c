package serve_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
)

const oneLog = `{"type":"user","uuid":"u-1","sessionId":"s-1","timestamp":"2026-01-02T03:00:00Z","message":{"role":"user","content":"x"}}` + "\n"

// TestProjectApartFromUp works as production does: servers of their own,
// migrate, import, and a projector that comes later. An import waits for the
// tables even if an earlier one stored everything.
func TestProjectApartFromUp(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	data := t.TempDir()
	embeddedtest.Start(t, func(c *embedded.Config) { c.Dir = data })
	log := filepath.Join(t.TempDir(), "session.jsonl")
	if err := os.WriteFile(log, []byte(oneLog), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"import", "claude-code", log}, cli.ExitFailed, "run `ctxledger migrate`"},
		{[]string{"publish", log}, cli.ExitFailed, "run `ctxledger migrate`"},
		{[]string{"project"}, cli.ExitFailed, "run `ctxledger migrate`"},
		{[]string{"doctor"}, cli.ExitFailed, "run `ctxledger migrate`"},
		{[]string{"query", "sessions"}, cli.ExitFailed, "run `ctxledger migrate`"},
		{[]string{"migrate"}, cli.ExitDone, "applied 0001_create_migrations"},
		{[]string{"import", "claude-code", log, "--no-wait"}, cli.ExitDone, "facts        3"},
		{[]string{"doctor"}, cli.ExitFailed, "nothing projects them: run `ctxledger project` or `ctxledger up`"},
	} {
		stdout, stderr, code := clitest.Run(t, append(c.args, "--data", data)...)
		if code != c.code || !strings.Contains(stdout+stderr, c.says) {
			t.Errorf("%v ended with %d, want %d and %q\n%s%s", c.args, code, c.code, c.says, stdout, stderr)
		}
	}
	again := clitest.Command("import", "claude-code", log, "--data", data).Begin(t)
	time.Sleep(time.Second)
	if again.Ended() {
		t.Errorf("import did not wait for the tables: %s%s", &again.Results, &again.Messages)
	}
	if _, stderr, code := clitest.Run(t, "project", "--until-caught-up", "--data", data); code != cli.ExitDone {
		t.Fatalf("project ended with %d: %s", code, stderr)
	}
	if code := again.Code(t, 30*time.Second); code != cli.ExitDone || !strings.Contains(again.Results.String(), "everything was there already") {
		t.Errorf("import ended with %d\n%s%s", code, &again.Results, &again.Messages)
	}
	if facts := clitest.Ask(t, data, "event-types"); len(facts) == 0 {
		t.Error("nothing is projected")
	}
	if stdout, _, code := clitest.Run(t, "doctor", "--data", data); code != cli.ExitDone {
		t.Errorf("doctor ended with %d\n%s", code, stdout)
	}
}
