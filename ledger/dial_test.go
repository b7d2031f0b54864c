package ledger

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
)

// TestALongAnswerIsRead: an answer can take longer than the read timeout if data keeps arriving.
func TestALongAnswerIsRead(t *testing.T) {
	t.Parallel()
	l, err := open(t.Context(), embeddedtest.ClickHouse(t).ClickHouseDSN(), func(o *clickhouse.Options) { o.ReadTimeout = 1500 * time.Millisecond })
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	rows, err := l.conn.Query(t.Context(), "SELECT sleepEachRow(0.14) FROM numbers(20) SETTINGS max_block_size = 1")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		n++
	}
	if err := rows.Err(); err != nil || n != 20 {
		t.Errorf("%d rows of 20: %v", n, err)
	}
	time.Sleep(2 * time.Second) // an idle connection is reused
	if err := l.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestASilentServerIsGivenUp: the client gives up on a silent server after the read timeout, and at
// the deadline of a context.
func TestASilentServerIsGivenUp(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	quick := dialTo(t, silent, 200*time.Millisecond)
	if _, err := quick.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the silent server: %v", err)
	}
	slow := dialTo(t, silent, time.Hour)
	if err := slow.SetDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := slow.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}
}

func dialTo(t *testing.T, l net.Listener, limit time.Duration) net.Conn {
	t.Helper()
	conn, err := dialer(&clickhouse.Options{ReadTimeout: limit, DialTimeout: 10 * time.Second})(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
