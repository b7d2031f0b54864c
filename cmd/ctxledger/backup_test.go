package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/projector/backup"
)

// TestKilledBackups kills backups at moments that are spread over their duration. `backup list`
// shows none of them, and the next backup is whole. CTXLEDGER_FAULTS=long kills 20.
func TestKilledBackups(t *testing.T) {
	t.Parallel()
	kills := 3
	if os.Getenv("CTXLEDGER_FAULTS") == "long" {
		kills = 20
	}
	data, target := t.TempDir(), filepath.Join(t.TempDir(), "kept")
	up(t, data)
	var events strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&events, `{"specversion":"1.0","id":"e-%d","source":"urn:test","type":"dev.ctxledger.context.log.appended.v1","subject":"i-%d","time":"2026-01-02T03:04:05Z","tenant":"acme","sessionid":"s-1","data":{"event_type":"context.log.appended","schema_version":"1.0.0","log_item_id":"i-%d","item_type":"message"}}`+"\n", i, i, i)
	}
	file := filepath.Join(t.TempDir(), "events.json")
	if err := os.WriteFile(file, []byte(events.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	whole := func() time.Duration {
		began := time.Now()
		if stdout, stderr, code := ctxledger(t, "backup", "create", target, "--data", data); code != cli.ExitDone {
			t.Fatalf("backup ended with %d\n%s%s", code, stdout, stderr)
		}
		return time.Since(began)
	}
	took, done := whole(), 1
	if stdout, stderr, code := ctxledger(t, "publish", file, "--data", data); code != cli.ExitDone {
		t.Fatalf("publish ended with %d\n%s%s", code, stdout, stderr)
	}
	for i := range kills {
		p := command("backup", "create", target, "--data", data).begin(t)
		time.Sleep(took * time.Duration(i+1) / time.Duration(kills+1))
		if err := p.Process.Signal(syscall.SIGKILL); err != nil && !p.ended() {
			t.Fatal(err)
		}
		if p.code(t, 30*time.Second) == cli.ExitDone { // it was faster than the first one
			done++
		}
		list, err := backup.List(target)
		if err != nil || len(list) != done {
			t.Fatalf("after kill %d: listed %d backups, want %d: %v", i, len(list), done, err)
		}
	}
	whole()
	list, err := backup.List(target)
	if err != nil || len(list) != done+1 {
		t.Fatalf("listed %d backups, want %d: %v", len(list), done+1, err)
	}
	for _, l := range list {
		if _, err := backup.Verify(t.Context(), l.Dir, nil); err != nil {
			t.Errorf("%s: %v", l.Dir, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(data, "clickhouse", "backups", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
	t.Logf("%d kills, %d of them after the end; a backup takes %v", kills, done-1, took)
}
