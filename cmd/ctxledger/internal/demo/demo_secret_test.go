package demo_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/demo"
)

// TestDemoKeepsNoSecret looks for the planted secret wherever the demo wrote.
func TestDemoKeepsNoSecret(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	data := filepath.Join(t.TempDir(), "kept")
	for range 2 { // a second demo in the same folder must do, too
		if stdout, stderr, code := clitest.Run(t, "demo", "--keep", data); code != cli.ExitDone {
			t.Fatalf("demo ended with %d\n%s%s", code, stdout, stderr)
		}
	}
	noFileHolds(t, data, demo.Secret())

	found := clitest.Up(t, data)
	noMessageHolds(t, found.NATSURL, demo.Secret())
	secret := "secret=" + demo.Secret()
	for _, table := range []string{"events", "items", "log_items", "recorded_events", "redactions"} {
		rows := clitest.Ask(t, data, "--sql",
			"SELECT count() AS rows, countIf(position(toString(tuple(*)), {secret:String}) > 0) AS holding FROM "+table, "--param", secret)
		if rows[0]["holding"] != 0.0 || rows[0]["rows"] == 0.0 {
			t.Errorf("%s: of %v rows, %v hold the secret", table, rows[0]["rows"], rows[0]["holding"])
		}
	}
	checks := clitest.Ask(t, data, "checks")
	if len(checks) == 0 {
		t.Error("there are no standing checks")
	}
	for _, check := range checks {
		if check["violations"] != 0.0 {
			t.Errorf("the demo breaks %v", check)
		}
	}
	if withheld := clitest.Ask(t, data, "redactions", "--param", "session_id=demo-session"); len(withheld) == 0 {
		t.Error("no redaction is recorded")
	}
	reportEqualsAnswers(t, data, "demo-session")
	explorerEqualsAnswers(t, data, found.Explorer, "demo-session")
	packsFromThePage(t, data, found.Explorer, "demo-session")
	itemIsProved(t, data, strings.TrimSuffix(found.Explorer, "/"), "demo-session")
	storedTextIsShown(t, data, strings.TrimSuffix(found.Explorer, "/"))
	t.Run("browser", func(t *testing.T) { lookAtPages(t, data, found.Explorer, "demo-session") })
	tokensBindTheTenant(t, data, "demo-session")
	stdout, stderr, code := clitest.Run(t, "window", "--turn", "turn-3", "--data", data)
	if code != cli.ExitDone || !strings.Contains(stdout, "in a window of 24,000") {
		t.Errorf("the window that the demo suggests ended with %d\n%s%s", code, stdout, stderr)
	}
	packsOfTheDemo(t, data, "demo-session")
}

// noFileHolds looks into the bytes of every file. Compressed ones hide what
// they hold, so the tables are asked, too.
func noFileHolds(t *testing.T, folder, text string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) {
			t.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("looked into %d files: %v", files, err)
	}
}

func noMessageHolds(t *testing.T, natsURL, text string) {
	t.Helper()
	_, stream := clitest.OpenStream(t, natsURL)
	last := stream.CachedInfo().State.LastSeq
	if last == 0 {
		t.Fatal("the stream is empty")
	}
	for seq := uint64(1); seq <= last; seq++ {
		m, err := stream.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		head := ""
		for name, values := range m.Header {
			head += name + ": " + strings.Join(values, ", ") + "\n"
		}
		if strings.Contains(m.Subject+"\n"+head+string(m.Data), text) {
			t.Errorf("message %d holds the secret", seq)
		}
	}
}

// packsOfTheDemo: the pack of every turn, of every run and of the session describes all
// that it names, verifies, and leads from context to each runtime id.
func packsOfTheDemo(t *testing.T, data, session string) {
	t.Helper()
	packs := t.TempDir()
	key, _, _ := clitest.Run(t, "proof", "keygen", "--data", data)
	scopes := [][]string{{}}
	for _, row := range clitest.Ask(t, data, "--sql", "WITH of AS (SELECT * FROM recorded_events WHERE session_id = {session:String}) "+
		"SELECT DISTINCT '--turn' AS flag, turn_id AS id FROM of WHERE turn_id != '' "+
		"UNION ALL SELECT DISTINCT '--run', run_id FROM of WHERE run_id != '' "+
		"UNION ALL SELECT DISTINCT '--task', task_id FROM of WHERE task_id != ''", "--param", "session="+session) {
		scopes = append(scopes, []string{row["flag"].(string), row["id"].(string)})
	}
	scopes = append(scopes, []string{"--task", "understand-the-repository", "--attempt", "attempt-1"})
	if len(scopes) != 1+6+3+1+1 {
		t.Errorf("%d scopes: %v", len(scopes), scopes)
	}
	for i, scope := range scopes {
		pack := filepath.Join(packs, strconv.Itoa(i))
		args := append([]string{"evidence", "export", "--session", session, "--out", pack, "--data", data}, scope...)
		if stdout, stderr, code := clitest.Run(t, args...); code != cli.ExitDone {
			t.Fatalf("%v: export ended with %d: %s%s", scope, code, stdout, stderr)
		}
		stdout, stderr, code := clitest.Run(t, "evidence", "verify", pack, "--key", strings.TrimSpace(key))
		if code != cli.ExitDone || !regexp.MustCompile(`(?m)^passed +references `).MatchString(stdout) {
			t.Errorf("%v: verify ended with %d: %s%s", scope, code, stdout, stderr)
		}
	}
	text, err := os.ReadFile(filepath.Join(packs, "0", "provenance.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"session", "thread", "task", "attempt", "run", "turn", "step", "tool_call", "action", "model_call_usage"} {
		if !strings.Contains(string(text), `_type":"`+kind+`"`) {
			t.Errorf("nothing in provenance.json is a %s", kind)
		}
	}
}
