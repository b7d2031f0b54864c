package ledger

import (
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
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

// TestALongChangeIsWaitedFor: the server sends nothing while it rewrites rows, longer than the read timeout.
func TestALongChangeIsWaitedFor(t *testing.T) {
	t.Parallel()
	l, err := open(t.Context(), embeddedtest.ClickHouse(t).ClickHouseDSN(), func(o *clickhouse.Options) { o.ReadTimeout = 1500 * time.Millisecond })
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	exec := func(sql string) {
		t.Helper()
		if err := l.conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE numbers (n UInt64) ENGINE = MergeTree ORDER BY n")
	exec("INSERT INTO numbers SELECT number FROM numbers(10)")
	exec("SYSTEM STOP MERGES numbers") // no rows are rewritten until they start again
	const change = "ALTER TABLE numbers DELETE WHERE n = 1"
	done := make(chan error, 1)
	go func() { done <- l.sql.ChangeText(t.Context(), change, nil) }()
	for begun := uint64(0); begun == 0; {
		select {
		case err := <-done:
			t.Fatalf("the change ended before the merges started: %v", err)
		default:
		}
		const count = "SELECT count() FROM system.mutations WHERE database = currentDatabase() AND table = 'numbers'"
		if err := l.conn.QueryRow(t.Context(), count).Scan(&begun); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.conn.Exec(t.Context(), change+" SETTINGS mutations_sync = 2"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("another connection waited: %v", err)
	}
	exec("SYSTEM START MERGES numbers")
	if err := <-done; err != nil {
		t.Errorf("the change was given up: %v", err)
	}
}

// TestALongAnswerOverHTTP: over HTTP the server sends nothing before the first rows.
func TestALongAnswerOverHTTP(t *testing.T) {
	t.Parallel()
	s := embeddedtest.ClickHouse(t)
	native, err := clickhouse.ParseDSN(s.ClickHouseDSN())
	if err != nil {
		t.Fatal(err)
	}
	address := strings.Replace(s.HTTPURL(), "://", "://"+url.UserPassword(native.Auth.Username, native.Auth.Password).String()+"@", 1)
	l, err := open(t.Context(), address+"/"+native.Auth.Database, func(o *clickhouse.Options) { o.ReadTimeout = time.Second })
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	answer, err := l.conn.QueryFormat(t.Context(), "CSV", "SELECT sleep(2)")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	if text, err := io.ReadAll(answer); err != nil || string(text) != "0\n" {
		t.Errorf("the answer is %q: %v", text, err)
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
