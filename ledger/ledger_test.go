package ledger_test

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
)

func TestOpenErrorsKeepThePassword(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	listener.Close()
	dsn := embeddedtest.ClickHouse(t).ClickHouseDSN()
	_, host, _ := strings.Cut(dsn, "@")
	for _, c := range []struct {
		name, dsn   string
		unreachable bool
		says        string
	}{
		{"nobody listens", "clickhouse://u:s3cret%2Fpw@" + closed + "/db", true, closed},
		{"wrong password", "clickhouse://ctxledger:s3cret%2Fpw@" + host, false, "Authentication failed"},
		{"no such database", dsn + "_absent", false, "does not exist"},
		{"bad port", "clickhouse://u:s3cret%2Fpw@host:port/db", false, "port"},
		{"bad option", "clickhouse://u:s3cret%2Fpw@host/db?dial_timeout=s3cret", false, "parse"},
	} {
		_, err := ledger.Open(t.Context(), c.dsn)
		if err == nil {
			t.Errorf("%s: opened", c.name)
			continue
		}
		if strings.Contains(err.Error(), "s3cret/pw") || strings.Contains(err.Error(), "s3cret%2Fpw") {
			t.Errorf("%s: the error tells the password: %v", c.name, err)
		}
		if errors.Is(err, ledger.ErrUnreachable) != c.unreachable || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
