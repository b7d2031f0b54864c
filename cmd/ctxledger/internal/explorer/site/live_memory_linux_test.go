package site_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
)

// residentMemory returns the bytes of a process that are in memory.
func residentMemory(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}

// TestTenLivePagesTakeLittleMemory: ten pages follow a session by event streams and load it anew for
// each new call, as ten open tabs do. `up` takes less than 40 MB more for them.
func TestTenLivePagesTakeLittleMemory(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	p, found := clitest.BeginUp(t, data)
	base := strings.TrimSuffix(found.Explorer, "/")
	began := time.Now()
	publish := func(n int) {
		file := filepath.Join(t.TempDir(), "calls.ndjson")
		if err := os.WriteFile(file, []byte(clitest.CallEvents(n, began)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, stderr, code := clitest.Run(t, "publish", file, "--data", data); code != cli.ExitDone {
			t.Fatalf("publish ended with %d: %s", code, stderr)
		}
	}
	publish(1)
	for end := time.Now().Add(clitest.StartPatience); ; time.Sleep(20 * time.Millisecond) {
		if response, _ := clitest.Get(t, base+"/s/live-1"); response.StatusCode == http.StatusOK {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the session has no page")
		}
	}
	before := residentMemory(t, p.Process.Pid)
	const pages, calls = 10, 6
	shown := make(chan error, pages)
	for range pages {
		go follow(base, calls, shown)
	}
	for n := 2; n <= calls; n++ {
		publish(n)
		for range pages { // each loads the page with this call
			if err := <-shown; err != nil {
				t.Fatal(err)
			}
		}
	}
	grew := residentMemory(t, p.Process.Pid) - before
	t.Logf("up grew by %.1f MB", float64(grew)/1e6)
	if grew > 40e6 {
		t.Errorf("up grew by %d bytes with %d pages that follow live", grew, pages)
	}
}

// follow follows the session live-1 as its page does, and reports each call that the page shows.
func follow(base string, calls int, shown chan<- error) {
	response, err := http.Get(base + "/events/s/live-1?events=2")
	if err != nil {
		shown <- err
		return
	}
	defer response.Body.Close()
	lines, has := bufio.NewScanner(response.Body), 1
	for has < calls && lines.Scan() {
		if lines.Text() != "event: change" {
			continue
		}
		n, err := callsOnPage(base + "/s/live-1")
		for tries := 0; errors.Is(err, errAway) && tries < 60; tries++ {
			time.Sleep(time.Second)
			n, err = callsOnPage(base + "/s/live-1")
		}
		for ; err == nil && has < n; has++ {
			shown <- nil
		}
		if err != nil {
			shown <- err
			return
		}
	}
	if has < calls {
		shown <- fmt.Errorf("the stream ended: %w", lines.Err())
	}
}

// errAway means that the server has no answer for a page now. A browser asks again.
var errAway = errors.New("the page was not answered")

// callsOnPage loads a page and returns the number of its calls.
func callsOnPage(address string) (int, error) {
	page, err := http.Get(address)
	if err != nil {
		return 0, err
	}
	defer page.Body.Close()
	switch {
	case page.StatusCode >= http.StatusInternalServerError:
		return 0, fmt.Errorf("%w: %s", errAway, page.Status)
	case page.StatusCode != http.StatusOK:
		return 0, fmt.Errorf("the page was refused: %s", page.Status)
	}
	text, err := io.ReadAll(page.Body)
	return strings.Count(string(text), `data-call="live-call-`), err
}
