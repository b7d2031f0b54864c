package root_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/root"
)

// TestTopicsFitOnAScreen: help prints each topic, completion and the list of commands name
// it, and it fits on a terminal of 80 columns and 24 lines.
func TestTopicsFitOnAScreen(t *testing.T) {
	t.Parallel()
	overview, _, _ := clitest.Run(t, "help")
	completed, _, _ := clitest.Run(t, "__complete", "help", "")
	for _, topic := range root.Topics() {
		stdout, stderr, code := clitest.Run(t, "help", topic.Name)
		if code != cli.ExitDone || stdout != topic.Text || stderr != "" {
			t.Errorf("help %s ended with %d: %q, %q", topic.Name, code, stdout, stderr)
		}
		if n := strings.Count(topic.Text, "\n"); n > 24 {
			t.Errorf("%s has %d lines", topic.Name, n)
		}
		for line := range strings.Lines(topic.Text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", topic.Name, n, line)
			}
		}
		if !strings.Contains(overview, "ctxledger help "+topic.Name) {
			t.Errorf("`ctxledger help` does not name %s", topic.Name)
		}
		if !strings.Contains(completed, topic.Name+"\t"+topic.Short) {
			t.Errorf("completion does not know %s: %s", topic.Name, completed)
		}
	}
	for _, word := range []string{"item", "selection", "window", "layer", "compaction", "tenant"} {
		if !strings.Contains(root.Topics()[0].Text, "\n  "+word+" ") {
			t.Errorf("concepts does not explain %s", word)
		}
	}
}
