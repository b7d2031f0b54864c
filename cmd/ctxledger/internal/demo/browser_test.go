package demo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/browsertest"
)

// lookAtPages opens every page of the demo's session, and its report, in a real browser: wide and
// narrow, light and dark.
func lookAtPages(t *testing.T, data, base, session string) {
	b := browsertest.Start(t)
	base = strings.TrimSuffix(base, "/")
	report := filepath.Join(t.TempDir(), "report.html")
	if _, stderr, code := clitest.Run(t, "report", "--session", session, "--out", report, "--data", data); code != cli.ExitDone {
		t.Fatalf("report ended with %d: %s", code, stderr)
	}
	in := "?session=" + session
	wide := browsertest.View{Width: 1280, Height: 800, Scheme: "light"}
	views := []browsertest.View{wide, {Width: 1280, Height: 800, Scheme: "dark"}, {Width: 390, Height: 800, Scheme: "dark"}, {Width: 390, Height: 800, Scheme: "light"}}
	for _, path := range []string{
		"/", "/s/" + session, "/s/" + session + "/compactions", "/c/call-17" + in, "/i/helper-1%2Ftool-1:result" + in, "/diff" + in + "&before=turn-3&before=call-18&after=turn-3&after=call-19",
		"/q", "/q/model-usage?run=1", "/q/gaps?run=1&session_id=" + session, "/evidence", "/search?id=call-1",
	} {
		b.Visit(t, base+path, base, views...)
		b.Walk(t, path)
	}
	b.Visit(t, "file://"+report, "file://"+report, views...)
	b.Walk(t, "the report")
	packed, key, verdict := filepath.Join(t.TempDir(), "pack"), filepath.Join(t.TempDir(), "ledger.pub"), filepath.Join(t.TempDir(), "verdict.html")
	public, _, _ := clitest.Run(t, "proof", "keygen", "--data", data)
	if err := os.WriteFile(key, []byte(public), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"export", "--session", session, "--turn", "turn-1", "--out", packed, "--data", data, "--unrecorded"}, {"verify", packed, "--key", key, "--html", verdict}} {
		if _, stderr, code := clitest.Run(t, append([]string{"evidence"}, args...)...); code != cli.ExitDone {
			t.Fatalf("evidence %v ended with %d: %s", args, code, stderr)
		}
	}
	for _, file := range []string{filepath.Join(packed, "index.html"), verdict} {
		b.Visit(t, "file://"+file, "file://"+file, views...)
		b.Walk(t, filepath.Base(file))
	}

	comparesByDragging(t, b, data, base, session)
	pageGrowsWhileItRecords(t, b, data, base+"/")

	// by keyboard alone: the first link skips to the content, and the arrows walk the calls
	b.Visit(t, base+"/c/call-17"+in, base, wide)
	b.Press(t, "\t")
	if focused := browsertest.Eval[string](t, b, "document.activeElement.className"); focused != "skip" {
		t.Errorf("the first Tab is at %q", focused)
	}
	next := browsertest.Eval[string](t, b, "document.querySelector('a[rel=next]').href")
	browsertest.Eval[bool](t, b, "document.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))")
	b.Await(t, next)
}
