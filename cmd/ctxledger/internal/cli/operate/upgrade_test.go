package operate_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/ledger"
)

// unpack puts a ledger of testdata/ledgers into a folder.
func unpack(t *testing.T, name string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	file, err := os.Open(clitest.Repository("cmd", "ctxledger", "testdata", "ledgers", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	zipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for list := tar.NewReader(zipped); ; {
		entry, err := list.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(entry.Name))
		switch entry.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(path, 0o700)
		case tar.TypeSymlink:
			err = os.Symlink(entry.Linkname, path)
		default:
			var text []byte
			if text, err = io.ReadAll(list); err == nil {
				err = os.WriteFile(path, text, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A ledger of a version before the rules had a position, with what tenants could forge
// then: it keeps its tables, its root and its packs, and takes no more of it.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	const size = 160
	dir := unpack(t, "d7b8dd1.tar.gz")
	data := filepath.Join(dir, "data")
	clitest.Up(t, data)
	sql := func(text string) string {
		t.Helper()
		stdout, stderr, code := clitest.Run(t, "query", "--data", data, "-o", "csv", "--sql", text)
		if code != cli.ExitDone {
			t.Fatalf("%s: %s", text, stderr)
		}
		_, rows, _ := strings.Cut(strings.TrimSpace(stdout), "\n")
		return strings.ReplaceAll(rows, "\n", " ")
	}
	done := func(args ...string) string {
		t.Helper()
		stdout, stderr, code := clitest.Run(t, append(args, "--data", data)...)
		if code != cli.ExitDone {
			t.Errorf("%v ended with %d: %s%s", args, code, stdout, stderr)
		}
		return stdout
	}
	publish := func(event string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "events.ndjson")
		if err := os.WriteFile(file, []byte(event), 0o600); err != nil {
			t.Fatal(err)
		}
		done("publish", file)
	}
	rootAt := fmt.Sprintf("SELECT hex(tree_root) FROM commits FINAL WHERE tree_size = %d", size)
	before := sql(rootAt)
	if before == "" {
		t.Fatal("the ledger has no log")
	}
	var suspects []struct{ Tenant, Code string }
	if err := json.Unmarshal([]byte(done("quarantine", "preview", "-o", "json")), &suspects, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	if len(suspects) != 20 || suspects[0].Tenant != "acme" || suspects[0].Code != "tenant_mismatch" {
		t.Errorf("today's rules would quarantine %d: %+v", len(suspects), suspects)
	}
	if got := done("migrate"); !strings.Contains(got, "everything is up to date") {
		t.Errorf("migrate says %q", got)
	}

	publish(strings.Replace(clitest.OneEvent, `"id":"`, `"id":"new-`, 1)) // without a tenant
	for _, args := range [][]string{{"rebuild", "--compare-only"}, {"rebuild"}} {
		if got := done(args...); !strings.Contains(got, "the tables are equal") {
			t.Errorf("%v says %q", args, got)
		}
	}
	if got := sql(rootAt); got != before {
		t.Errorf("the root of the first %d was %s and is %s", size, before, got)
	}
	for _, name := range []string{"bolt.zip", "log.zip"} {
		done("evidence", "verify", filepath.Join(dir, "packs", name), "--key", filepath.Join(dir, "ledger.pub"))
	}
	pack := filepath.Join(t.TempDir(), "pack")
	done("evidence", "export", "--session", "s-bolt", "--tenant", "bolt", "--out", pack)
	plus := filepath.Join(t.TempDir(), "c++")
	if err := os.Symlink(dir, plus); err != nil {
		t.Fatal(err)
	}
	done("evidence", "verify", pack, "--key", filepath.Join(plus, "ledger.pub")) // a path, though a key has two plus signs, too

	// The tenant that older versions left away is one with "default".
	for text, want := range map[string]string{
		"SELECT DISTINCT tenant FROM recorded_events WHERE event_id LIKE 'new-%'":                                     "default",
		"SELECT count() FROM recorded_events WHERE tenant = ''":                                                       "12",
		"SELECT arraySort(groupUniqArray(projection_version)) FROM commits":                                           fmt.Sprintf("\"[3,%d]\"", ledger.NewestRules),
		"SELECT toString(count()), toString(countIf(code = 'id_conflict')) FROM refused_events WHERE tenant = 'bolt'": "20,20",
	} {
		if got := sql(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	sessions := make(map[string]bool)
	for _, row := range clitest.Ask(t, data, "sessions", "--param", "tenant=default") {
		sessions[fmt.Sprint(row["tenant"], "/", row["session_id"])] = true
	}
	if !sessions["/s-"] || !sessions["/gone-"] || len(sessions) < 4 || sessions["bolt/s-bolt"] {
		t.Errorf("the sessions of the tenant default: %v", sessions)
	}
}
