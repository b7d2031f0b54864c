package site_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/schema"
)

// TestProofOfExpiredContent: a step whose content has left the tables is not proved, and not called
// changed. A step whose event is not in the tables is not proved either.
func TestProofOfExpiredContent(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	found := clitest.Up(t, data)
	const fact = `{"specversion":"1.0","id":"e-1","source":"urn:test","type":"dev.ctxledger.context.item.added.v1","subject":"i-1","time":"2026-01-02T03:04:05Z","sessionid":"s-1","turnid":"t-1","data":{"event_type":"context.item.added","schema_version":"1.0.0","item_id":"i-1","context_kind":"note","title":"a note"}}`
	file := filepath.Join(t.TempDir(), "events.json")
	if err := os.WriteFile(file, []byte(fact), 0o600); err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, code := clitest.Run(t, "publish", file, "--data", data); code != cli.ExitDone {
		t.Fatalf("publish ended with %d\n%s%s", code, stdout, stderr)
	}
	why := func(want int, says string) {
		t.Helper()
		for end := time.Now().Add(clitest.StartPatience); ; time.Sleep(100 * time.Millisecond) {
			stdout, stderr, code := clitest.Run(t, "why", "--session", "s-1", "--turn", "t-1", "--item", "i-1", "--proof", "--data", data)
			if code == want && strings.Contains(stdout+stderr, says) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("ended with %d, want %d and %q:\n%s%s", code, want, says, stdout, stderr)
			}
		}
	}
	why(cli.ExitDone, "added")
	l, err := ledger.Open(t.Context(), found.ClickHouseDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if n, err := privacy.Of(l).Expire(t.Context(), privacy.Expiry{Before: time.Now().Add(time.Hour)}); err != nil || n.Events != 1 {
		t.Fatalf("%d events are empty, %v", n, err)
	}
	why(cli.ExitNotVerified, "its content has expired by the retention")
	if err := embeddedtest.Connect(t, found.ClickHouseDSN).Exec(t.Context(), "TRUNCATE TABLE events"); err != nil {
		t.Fatal(err)
	}
	why(cli.ExitNotVerified, "the table of events does not have it")
}

// TestWindowThatHasLeft: a turn whose window left the tables is not called unknown, and the retention is named.
func TestWindowThatHasLeft(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	found := clitest.Up(t, data)
	file := filepath.Join(t.TempDir(), "events.json")
	line := jsontext.Value(schema.Golden(schema.TypeAssemblyCreated))
	e, err := schema.ParseStructured(line)
	if err == nil {
		err = line.Compact()
	}
	if err == nil {
		err = os.WriteFile(file, line, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, code := clitest.Run(t, "publish", file, "--data", data); code != cli.ExitDone {
		t.Fatalf("publish ended with %d\n%s%s", code, stdout, stderr)
	}
	window := func(want int, says string) {
		t.Helper()
		for end := time.Now().Add(clitest.StartPatience); ; time.Sleep(100 * time.Millisecond) {
			stdout, stderr, code := clitest.Run(t, "window", "--session", e.SessionID, "--turn", e.TurnID, "--data", data)
			if code == want && strings.Contains(stdout+stderr, says) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("ended with %d, want %d and %q:\n%s%s", code, want, says, stdout, stderr)
			}
		}
	}
	window(cli.ExitDone, "")
	l, err := ledger.Open(t.Context(), found.ClickHouseDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if n, err := privacy.Of(l).ExpireDecisions(t.Context(), privacy.Expiry{Before: time.Now().Add(time.Hour)}); err != nil || n == 0 {
		t.Fatalf("%d rows left, %v", n, err)
	}
	window(cli.ExitFailed, "which a retention of decisions removes")
}
