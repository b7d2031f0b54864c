package embedded

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/deploy/embedded/internal/confine"
)

// TestSQLReadsNoFileOfOurs runs as the user with the most rights. The user reads files outside of
// the engine's folder, and environments. The engine can still use its own files.
//
// Not parallel: it sets a variable of this process.
func TestSQLReadsNoFileOfOurs(t *testing.T) {
	if err := confine.Available(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	const secret = "S3CRET-OF-THIS-PROCESS"
	t.Setenv("CTXLEDGER_TEST_SECRET", secret)
	dir := t.TempDir()
	keys := filepath.Join(dir, "keys")
	if err := os.MkdirAll(keys, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(keys, "ledger.proof"), []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	closed := []string{
		filepath.Join(dir, credentialsFile), filepath.Join(dir, addressesFile), filepath.Join(keys, "ledger.proof"), ClientFilesOf(dir).ReaderPassword,
		outside, "/proc/self/environ", "/proc/" + strconv.Itoa(os.Getpid()) + "/environ", "/proc/" + strconv.Itoa(os.Getpid()) + "/root" + outside,
		filepath.Join(dir, "clickhouse", "..", credentialsFile),
	}
	shared, err := os.MkdirTemp("/dev/shm", "ctxledger-test-")
	switch {
	case err == nil:
		defer os.RemoveAll(shared)
		ofAnother := filepath.Join(shared, "of-another")
		if err := os.WriteFile(ofAnother, []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
		closed = append(closed, ofAnother)
	case !errors.Is(err, fs.ErrNotExist): // a system may have no such folder
		t.Fatal(err)
	}
	s, err := Start(t.Context(), DefaultConfig(dir))
	if err != nil {
		giveUp(t, err)
	}
	t.Cleanup(func() { s.Close() })
	conn := connect(t, s.ClickHouseDSN())

	// The engine reads its own log: the function is there.
	if text := value(t, conn, "SELECT length(file('"+filepath.Join(dir, "clickhouse", "clickhouse.log")+"')) > 0"); text != "1" {
		t.Fatalf("file() of the log gives %q", text)
	}
	for _, path := range closed {
		var text string
		err := conn.QueryRow(t.Context(), "SELECT file('"+path+"')").Scan(&text)
		if strings.Contains(text, secret) || strings.Contains(text, s.creds.Writer) {
			t.Errorf("SQL reads %s", path)
		}
		if err == nil && path != "/proc/self/environ" {
			t.Errorf("SQL opens %s, and found %q", path, text)
		}
	}
	for _, sql := range []string{
		"INSERT INTO FUNCTION file('" + filepath.Join(dir, "written") + "', 'LineAsString', 'line String') VALUES ('x')",
		"SELECT 1 INTO OUTFILE '" + filepath.Join(dir, "written") + "'",
		"BACKUP DATABASE ctxledger TO File('" + filepath.Join(dir, "written") + "')",
	} {
		_ = conn.Exec(t.Context(), sql)
	}
	if _, err := os.Lstat(filepath.Join(dir, "written")); err == nil {
		t.Error("SQL writes into the data folder")
	}

	for _, sql := range []string{
		"CREATE TABLE ctxledger.a (n UInt64) ENGINE = MergeTree ORDER BY n", "CREATE TABLE ctxledger.b AS ctxledger.a",
		"INSERT INTO ctxledger.a SELECT number FROM numbers(1000)", "EXCHANGE TABLES ctxledger.a AND ctxledger.b",
		"RENAME TABLE ctxledger.a TO ctxledger.c", "BACKUP TABLE ctxledger.b TO File('one')", "DROP TABLE ctxledger.b SYNC",
		"RESTORE TABLE ctxledger.b FROM File('one')", "OPTIMIZE TABLE ctxledger.b FINAL", "TRUNCATE TABLE ctxledger.c", "DROP TABLE ctxledger.c SYNC",
	} {
		mustExec(t, conn, sql)
	}
	if n := value(t, conn, "SELECT count() FROM ctxledger.b"); n != "1000" {
		t.Errorf("%s rows after a backup and its restoration", n)
	}

	s.engine.child.Load().kill() // the supervisor restarts the engine, also confined
	eventually(t, "the engine is back", 20*time.Second, func() error {
		var n uint64
		return conn.QueryRow(t.Context(), "SELECT count() FROM ctxledger.b").Scan(&n)
	})
	var text string
	if err := conn.QueryRow(t.Context(), "SELECT file('"+outside+"')").Scan(&text); err == nil {
		t.Errorf("after a restart SQL reads %q", text)
	}
}
