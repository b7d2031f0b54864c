package ask_test

import (
	"bufio"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest/shardtest"
)

// served begins serve for a ledger, and returns the address of its pages.
func (r *shardRig) served(dsn string) string {
	r.T.Helper()
	server := r.Command("serve", "--listen", "127.0.0.1:0")
	server.Env = append(server.Env, "CTXLEDGER_CLICKHOUSE_DSN="+dsn)
	out, w := io.Pipe()
	server.Stdout = w
	server.Begin(r.T)
	lines := bufio.NewScanner(out)
	lines.Scan()
	address, ok := strings.CutPrefix(lines.Text(), "explorer  ")
	if !ok {
		r.T.Fatalf("serve printed %q", lines.Text())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return address
}

// samePages compares the pages and the read API of serve with one machine, for a session of each shard. A
// pack of the evidence page verifies. It returns the address of the pages of the shards.
func (r *shardRig) samePages(places ...shardtest.Place) (address string) {
	r.T.Helper()
	address = r.served(r.Shards[0].ClickHouseDSN())
	one := r.served(r.DSN)
	paths := []string{
		"", "last", "q", "q/sessions?run=1", "q/event-types?run=1", "api/v1/sessions?limit=3", "api/v1/evidence", "api/v1/queries/model-usage",
	}
	for i, p := range places {
		session, in := url.PathEscape(p.Session), "session="+url.QueryEscape(p.Session)
		item, turn := url.PathEscape(p.Item), url.PathEscape(p.Turn)
		paths = append(paths,
			"t/"+turn, "i/"+item+"?"+in+"&turn="+turn, "api/v1/turns/"+turn+"/window?session_id="+session)
		if i > 0 {
			continue // pages of a session ask its shard in the same way
		}
		paths = append(paths,
			"s/"+session, "s/"+session+"/compactions", "t/"+turn+"?"+in, "c/"+url.PathEscape(p.Call)+"?"+in, "search?id="+session,
			"api/v1/sessions/"+session, "api/v1/sessions/"+session+"/calls", "api/v1/items/"+item+"/history?session_id="+session)
	}
	for _, path := range paths {
		got, text := clitest.Get(r.T, address+path)
		want, wantText := clitest.Get(r.T, one+path)
		if at := differAt(text, wantText); got.StatusCode != want.StatusCode || at >= 0 || got.Header.Get("Location") != want.Header.Get("Location") {
			at = max(at-100, 0)
			r.T.Errorf("%s is %d and on one machine %d, and from there on\n%.500s\nand on one machine\n%.500s", path, got.StatusCode, want.StatusCode, text[min(at, len(text)):], wantText[min(at, len(wantText)):])
		}
		if want.StatusCode >= http.StatusBadRequest {
			r.T.Errorf("%s is %d on one machine: %.300s", path, want.StatusCode, wantText)
		}
	}
	if response, text := clitest.Get(r.T, address+"evidence"); response.StatusCode != http.StatusOK || strings.Contains(text, "on a cluster") {
		r.T.Errorf("the evidence page is %d: %.600s", response.StatusCode, text)
	}
	reader := r.served(r.Shards[0].ReaderDSN())
	if response, text := clitest.Get(r.T, reader+"sql?q="+url.QueryEscape("SELECT 40 + 2 AS answer")); response.StatusCode != http.StatusOK || strings.Count(text, "<td>42</td>") != 2 {
		r.T.Errorf("a statement is answered with %d: %.2000s", response.StatusCode, text)
	}
	if response, text := clitest.Get(r.T, reader+"sql?q=DROP+TABLE+calls"); response.StatusCode != http.StatusOK || !strings.Contains(text, `role="alert"`) {
		r.T.Errorf("a statement that writes is answered with %d: %.2000s", response.StatusCode, text)
	}
	if response, _ := clitest.Get(r.T, address+"sql?q=SELECT+1"); response.StatusCode != http.StatusForbidden {
		r.T.Errorf("a statement as the writer is answered with %d", response.StatusCode)
	}
	key := strings.TrimSpace(r.Must("proof", "keygen"))
	for _, p := range places {
		response, text := clitest.Post(r.T, address+"evidence/packs", []byte(`{"session":"`+p.Session+`"}`), "Content-Type", "application/json")
		file := filepath.Join(r.Data, "page-"+p.Session+".zip")
		if err := os.WriteFile(file, text, 0o600); err != nil || response.StatusCode != http.StatusOK {
			r.T.Fatalf("a pack of the page is %d, %v: %.600s", response.StatusCode, err, text)
		}
		r.Must("evidence", "verify", file, "--key", key)
	}
	return address
}

// pagesLackAShard: without a shard no page has a part of its answer.
func pagesLackAShard(t *testing.T, address string, p shardtest.Place) {
	t.Helper()
	for _, path := range []string{"", "q/sessions?run=1", "s/" + url.PathEscape(p.Session), "api/v1/sessions"} {
		if response, text := clitest.Get(t, address+path); response.StatusCode < http.StatusInternalServerError || !strings.Contains(text, "shard 2 at 127.0.0.1:") {
			t.Errorf("%s without a shard is %d: %.600s", path, response.StatusCode, text)
		}
	}
}
