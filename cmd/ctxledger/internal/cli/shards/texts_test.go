package shards_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest/shardtest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/schema"
)

// TestLargeTextsOfAShard: a cluster shows large texts, and withholds those with a value that was redacted on
// another shard.
func TestLargeTextsOfAShard(t *testing.T) {
	t.Parallel()
	c := shardtest.NewRig(t, 2)
	c.Must("migrate", "--cluster", embeddedtest.ClusterName, "--partitions", "8")
	r := &clitest.TextRig{T: t, Data: c.Data, Logs: t.TempDir(), Text: strings.Repeat("The fox lived in Rotterdam. ", 7315), JS: c.JS}
	const sessions = 6
	for i := range sessions {
		clitest.LogWithText(t, r.Logs, fmt.Sprint("s-", i), r.Text)
	}
	c.Must("import", "claude-code", r.Logs, "--store-text", "--no-wait")
	c.Must("project", "--until-caught-up")
	for i, l := range c.Ledgers().All() {
		var n uint64
		if err := l.SQL(nil).Conn.QueryRow(t.Context(), "SELECT uniqExact(session_id) FROM items").Scan(&n); err != nil || n == 0 || n == sessions {
			t.Fatalf("shard %d has %d of the sessions: %v", i+1, n, err)
		}
	}
	windows := func() (list []string) {
		for i := range sessions {
			list = append(list, c.Must("window", "--turn", "u-2", "--session", fmt.Sprint("s-", i), "--text"))
		}
		return list
	}
	for i, said := range windows() {
		if !strings.Contains(said, r.Text) {
			t.Errorf("session %d: %.2000s", i, said)
		}
	}
	ring, err := keyfile.Open(r.Data, schema.DefaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	r.Redact(ring.Current(), "fox lived in Rotterdam")
	c.Must("project", "--until-caught-up")
	for i, said := range windows() {
		if strings.Contains(said, "Rotterdam") || !strings.Contains(said, "that redaction r-1 withholds)") {
			t.Errorf("session %d after the redaction: %.2000s", i, said)
		}
	}
}
