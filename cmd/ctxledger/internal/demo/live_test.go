package demo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/browsertest"
)

// pageGrowsWhileItRecords opens the page of a session that is being recorded. The page shows each
// further call within a second of its projection. A hidden page closes its event stream, and shows the
// present state when it is visible again. So does each of ten tabs.
func pageGrowsWhileItRecords(t *testing.T, b *browsertest.Browser, data, base string) {
	t.Helper()
	began := time.Now()
	publish := func(n int) {
		file := filepath.Join(t.TempDir(), "calls.ndjson")
		if err := os.WriteFile(file, []byte(clitest.CallEvents(n, began)), 0o600); err != nil {
			t.Fatal(err)
		}
		if stdout, stderr, code := clitest.Run(t, "publish", file, "--data", data); code != cli.ExitDone {
			t.Fatalf("publish ended with %d: %s%s", code, stdout, stderr)
		}
	}
	projected := func(n int) time.Time {
		for end := time.Now().Add(clitest.StartPatience); ; time.Sleep(10 * time.Millisecond) {
			if rows := clitest.Ask(t, data, "river", "--param", "session_id=live-1"); len(rows) == n {
				return time.Now()
			}
			if time.Now().After(end) {
				t.Fatalf("call %d is not projected", n)
			}
		}
	}
	const rows = `document.querySelectorAll('#calls tbody tr').length`
	shows := func(b *browsertest.Browser, n int) time.Time {
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if browsertest.Eval[int](t, b, rows) == n {
				return time.Now()
			}
			if time.Now().After(end) {
				t.Fatalf("the page shows %d calls, not %d", browsertest.Eval[int](t, b, rows), n)
			}
		}
	}
	publish(1)
	projected(1)
	page := strings.TrimSuffix(base, "/") + "/s/live-1"
	b.Visit(t, page, base, browsertest.View{Width: 1280, Height: 800, Scheme: "light"})
	if n := browsertest.Eval[int](t, b, rows); n != 1 {
		t.Fatalf("the page shows %d calls, not 1", n)
	}
	publish(2)
	at := projected(2)
	if late := shows(b, 2).Sub(at); late > 5*time.Second { // a second on an idle machine
		t.Errorf("the page shows the second call %s after its projection", late)
	} else {
		t.Logf("the page shows the second call %s after its projection", late)
	}
	tabs := []*browsertest.Browser{b}
	b.Show(t, false)
	for len(tabs) < 10 {
		tab := b.Tab(t, page)
		tab.Show(t, false)
		tabs = append(tabs, tab)
	}
	publish(3)
	projected(3)
	time.Sleep(1200 * time.Millisecond) // two looks of an event stream that were open
	for _, tab := range tabs {
		if n := browsertest.Eval[int](t, tab, rows); n != 2 {
			t.Errorf("a hidden page shows %d calls", n)
		}
	}
	for i, tab := range tabs {
		at = time.Now()
		tab.Show(t, true)
		t.Logf("tab %d shows the third call %s after it became visible", i, shows(tab, 3).Sub(at))
		if i > 0 {
			tab.Show(t, false)
		}
	}
	publish(4)
	shows(b, 4)
	// The page shows a call, too, if the server has no answer when the page hears of it.
	browsertest.Eval[bool](t, b, `(() => {
		const real = window.fetch;
		window.fetch = async () => { window.fetch = real; return new Response('', { status: 503 }); };
		return true;
	})()`)
	publish(5)
	shows(b, 5)
	if browsertest.Eval[bool](t, b, `window.fetch.toString().includes('503')`) {
		t.Error("the page read itself without a failure")
	}
}
