package record_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
)

// TestSlicesOfARolloutInALedger imports slices of a real rollout, each into a ledger of its own order, and
// the whole rollout after them. Each call counts once, before and after the whole, and the cache is
// billed in the order of the session.
func TestSlicesOfARolloutInALedger(t *testing.T) {
	t.Parallel()
	const name = "rollout-2026-02-23T12-54-34-019c8a59-e9dd-71f0-9ae3-4079fe9726a9.jsonl"
	rollout := clitest.Shared(t, "transcripts", "codex", name)
	text, err := os.ReadFile(rollout)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSpace(string(text)), "\n")
	data := t.TempDir()
	clitest.Up(t, data)
	tell := func(path string) {
		t.Helper()
		stdout, stderr, code := clitest.Run(t, "import", "codex", path, "--data", data)
		if code != cli.ExitDone && code != cli.ExitRefused || !strings.Contains(stdout, "0 in quarantine") || strings.Contains(stderr, "rewritten") {
			t.Fatalf("the import of %s ended with %d: %s%s", path, code, stdout, stderr)
		}
	}
	sums := func() string {
		t.Helper()
		rows := clitest.Ask(t, data, "sessions")
		if len(rows) != 1 {
			t.Fatalf("%d sessions", len(rows))
		}
		told := fmt.Sprintf("%.0f %.0f %.0f", rows[0]["calls"], rows[0]["uncached_input"], rows[0]["output"])
		for _, row := range clitest.Ask(t, data, "cache-bill") {
			told += fmt.Sprintf(" %s %.0f %.0f", row["cause"], row["calls"], row["lost_tokens"])
		}
		return told
	}
	const whole = "286 2188981 91886 unexplained 37 1457664 compaction 1 185728 append 247 0"
	for _, part := range []struct {
		from, to int
		sums     string // "" while a slice is missing
	}{{1400, len(lines), ""}, {700, 1423, ""}, {0, 702, whole}, {0, len(lines), whole}, {1001, 1002, whole}} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(strings.Join(lines[part.from:part.to], "")), 0o600); err != nil {
			t.Fatal(err)
		}
		tell(path)
		if got := sums(); part.sums != "" && got != part.sums {
			t.Errorf("after lines %d to %d the calls, input and output are %s instead of %s", part.from, part.to, got, part.sums)
		}
	}
}

// TestSlicesOfAConversationInALedger imports the end of an OpenHands conversation, or its beginning, and the
// whole conversation after it. The state has the use of all calls, and each call counts once, with the window of
// the log that has its answer.
func TestSlicesOfAConversationInALedger(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(clitest.Repository("producer", "importer", "testdata", "openhands", "sdk.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSpace(string(text)), "\n")
	type part struct {
		from, to int
		windows  string
	}
	all := part{1, len(lines), "resp_1 1 resp_2 1 resp_3 1 resp_4 1"}
	for name, parts := range map[string][]part{
		"the end":       {{9, len(lines), "resp_1 0 resp_2 0 resp_3 1 resp_4 1"}, all},
		"the beginning": {{1, 6, "resp_1 1 resp_2 0 resp_3 0 resp_4 0"}, all},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, path := t.TempDir(), filepath.Join(t.TempDir(), "conversation.jsonl")
			clitest.Up(t, data)
			for i, part := range parts {
				log := strings.TrimSpace(lines[0]) + "\n" + strings.Join(lines[part.from:part.to], "")
				if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
					t.Fatal(err)
				}
				stdout, stderr, code := clitest.Run(t, "import", "openhands", path, "--data", data)
				if code != cli.ExitDone && code != cli.ExitRefused || !strings.Contains(stdout, "0 in quarantine") {
					t.Fatalf("the import of lines %d to %d ended with %d: %s%s", part.from, part.to, code, stdout, stderr)
				}
				rows := clitest.Ask(t, data, "sessions")
				if got := fmt.Sprint(len(rows), rows[0]["calls"], rows[0]["uncached_input"], rows[0]["output"]); got != "1 6 1185 49" {
					t.Errorf("import %d: %s", i, got)
				}
				var windows []string
				for _, row := range clitest.Ask(t, data, "--sql", "SELECT call_id, window_next IS NOT NULL AS shown FROM model_calls WHERE startsWith(call_id, 'resp_') ORDER BY call_id") {
					windows = append(windows, fmt.Sprint(row["call_id"], " ", row["shown"]))
				}
				if got := strings.Join(windows, " "); got != part.windows {
					t.Errorf("import %d: the windows are of %s instead of %s", i, got, part.windows)
				}
			}
		})
	}
}
