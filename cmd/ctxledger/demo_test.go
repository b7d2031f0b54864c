package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/demo"
)

// TestDemo runs the demo as a stranger does, in a process of its own.
func TestDemo(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	temporary := t.TempDir()
	p := clitest.Command("demo")
	p.Env = append(os.Environ(), "TMPDIR="+temporary)
	p.Begin(t)
	if code := p.Code(t, 2*time.Minute); code != cli.ExitDone {
		t.Fatalf("demo ended with %d\n%s", code, &p.Messages)
	}
	out := p.Results.String()
	for _, part := range []string{
		"in a window of 24,000", "  #     LAYER         ROLE       TOKENS  WHAT", // the bar and the table
		"elided ", "do not fit into 22000", "drop_retrieved", "summarize_messages", "superseded_by_summary",
		"contents of deploy.env holds a secret: masked under policy:no-credentials",                                           // a secret
		"docs/exit-codes.md is missing",                                                                                       // a missing file
		"helper-1  a child run with only the grant app/repo/internal/demo",                                                    // narrowed grants
		"helper-1  may not read app/repo/internal/cli/flags.go", `a child run asked for "app" and was denied`, "sealed with ", // and what they are for
		"the task is tried again", "attempt-1/turn-1  user: ", // two attempts at a task
		"read from the scratchpad team/handover", "wrote the answer to the scratchpad", "the persona changes from coder to reviewer",
		"  persona    reviewer", "memory: deployment, offered to the model", "a tool was given 3 items of the window",
		"with an image by reference: artifact:demo/error.png", "restored 1 item, as the model asked",
		"a summary keeps goal:know-the-exit-codes and goal:review-error-texts",
		"What fills the window?", "What was left out, and why?", "What did each rung of the pressure ladder do?",
		"The session as an evidence pack", "inclusion", "completeness",
		"How to go on:",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("the demo did not print %q", part)
		}
	}
	if !regexp.MustCompile(`EVENTS +EVENTS_WITH_THE_SECRET\n +\d+ +0\n`).MatchString(out) {
		t.Error("the demo did not find the secret in 0 events")
	}
	if strings.Contains(out+p.Messages.String(), demo.Secret()) {
		t.Error("the demo printed the secret")
	}
	if strings.Contains(out+p.Messages.String(), "\x1b") {
		t.Error("the demo coloured what is no terminal")
	}
	left, err := os.ReadDir(temporary)
	if err != nil || len(left) != 1 || !strings.Contains(out, filepath.Join(temporary, left[0].Name())+"\n") {
		t.Errorf("the demo left %v in the temporary folder, %v; want the report, and its name in the output", left, err)
	}
	clitest.NothingRunsOn(t, temporary, 0)
	if t.Failed() {
		t.Logf("\n%s", out)
	}
}
