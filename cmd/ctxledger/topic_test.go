package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
)

// TestTopicsFitOnAScreen: help prints each topic, completion and the list of commands name
// it, and it fits on a terminal of 80 columns and 24 lines.
func TestTopicsFitOnAScreen(t *testing.T) {
	t.Parallel()
	overview, _, _ := ctxledger(t, "help")
	completed, _, _ := ctxledger(t, "__complete", "help", "")
	for _, topic := range topics {
		stdout, stderr, code := ctxledger(t, "help", topic.name)
		if code != cli.ExitDone || stdout != topic.text || stderr != "" {
			t.Errorf("help %s ended with %d: %q, %q", topic.name, code, stdout, stderr)
		}
		if n := strings.Count(topic.text, "\n"); n > 24 {
			t.Errorf("%s has %d lines", topic.name, n)
		}
		for line := range strings.Lines(topic.text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s: %d columns: %s", topic.name, n, line)
			}
		}
		if !strings.Contains(overview, "ctxledger help "+topic.name) {
			t.Errorf("`ctxledger help` does not name %s", topic.name)
		}
		if !strings.Contains(completed, topic.name+"\t"+topic.short) {
			t.Errorf("completion does not know %s: %s", topic.name, completed)
		}
	}
	for _, word := range []string{"item", "selection", "window", "layer", "compaction", "tenant"} {
		if !strings.Contains(topics[0].text, "\n  "+word+" ") {
			t.Errorf("concepts does not explain %s", word)
		}
	}
}
