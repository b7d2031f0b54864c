package operate_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/projector/backup"
)

// storeServer is a server of the S3 protocol that checks signatures and keeps objects as files.
const storeServer = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"

const storeUser, storeSecret = "backups", "the-secret-of-the-store"

// fetchStoreServer builds the server into a cache outside of the clone, in continuous integration only.
func fetchStoreServer(t *testing.T) string {
	t.Helper()
	if os.Getenv("CI") == "" {
		t.Skip("the server of the S3 protocol is fetched in continuous integration only: set CI=true")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "ctxledger", "s3", strings.ReplaceAll(filepath.Base(storeServer), "@", "-"))
	binary := filepath.Join(dir, "versitygw")
	if _, err := os.Stat(binary); err == nil {
		return binary
	}
	build := exec.Command("go", "install", "-ldflags=-s", storeServer)
	build.Dir, build.Env = t.TempDir(), append(os.Environ(), "GOBIN="+dir)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", storeServer, err, out)
	}
	return binary
}

// storeOfObjects runs the server on a folder with one bucket, and returns its address.
func storeOfObjects(t *testing.T, dir string) string {
	t.Helper()
	server := fetchStoreServer(t)
	if err := os.MkdirAll(filepath.Join(dir, "bucket"), 0o700); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := listener.Addr().String()
	listener.Close()
	run := exec.Command(server, "--port", at, "posix", dir)
	run.Env = []string{"ROOT_ACCESS_KEY=" + storeUser, "ROOT_SECRET_KEY=" + storeSecret, "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	run.Stderr = t.Output()
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
	})
	for end := time.Now().Add(clitest.StartPatience); ; time.Sleep(50 * time.Millisecond) {
		if conn, err := net.Dial("tcp", at); err == nil {
			conn.Close()
			return "http://" + at
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// TestBackupInAStore: a backup goes to a store and comes back on another machine. Wrong credentials,
// a missing bucket, damage and an interrupted upload are named, and none leaves something half.
func TestBackupInAStore(t *testing.T) {
	t.Parallel()
	objects := t.TempDir()
	endpoint := storeOfObjects(t, objects)
	ledger := filepath.Join(objects, "bucket", "ledger")
	data, other := t.TempDir(), t.TempDir()
	clitest.Up(t, data)
	clitest.PublishItems(t, data, 0, 500)
	backups := func(data, secret, endpoint string, args ...string) (string, int) {
		t.Helper()
		p := clitest.Command(append(append([]string{"backup"}, args...), "--data", data, "--s3-endpoint", endpoint)...)
		p.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+storeUser, "AWS_SECRET_ACCESS_KEY="+secret)
		p.Begin(t)
		code := p.Code(t, time.Minute)
		said := p.Results.String() + p.Messages.String()
		if strings.Contains(said, storeSecret) || strings.Contains(said, "another-secret") {
			t.Errorf("the command shows a secret: %s", said)
		}
		return said, code
	}
	expect := func(code int, says string, got string, gotCode int) {
		t.Helper()
		if code != gotCode || !strings.Contains(got, says) {
			t.Errorf("ended with %d, want %d and %q:\n%s", gotCode, code, says, got)
		}
	}
	const target = "s3://bucket/ledger"
	try := func(code int, says, secret, endpoint string, args ...string) {
		t.Helper()
		got, gotCode := backups(data, secret, endpoint, args...)
		expect(code, says, got, gotCode)
	}
	try(cli.ExitFailed, "the store refuses the credentials", "another-secret", endpoint, "create", target)
	try(cli.ExitFailed, "the bucket does not exist", storeSecret, endpoint, "create", "s3://absent/ledger")
	try(cli.ExitUnreachable, "the store cannot be reached", storeSecret, "http://127.0.0.1:1", "create", target)
	try(cli.ExitUsage, "want s3://bucket/prefix", storeSecret, endpoint, "create", "s3://")
	try(cli.ExitUsage, "want the address of a backup", storeSecret, endpoint, "verify", "s3://bucket")
	try(cli.ExitUsage, "want the address of a backup", storeSecret, endpoint, "restore", target)
	try(cli.ExitUsage, "want an address such as", storeSecret, "store", "create", target)
	try(cli.ExitDone, "no backups", storeSecret, endpoint, "list", target)

	// An upload that was killed: its objects are there without a manifest.
	if err := os.MkdirAll(filepath.Join(ledger, "backup-killed", "tables"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"backup-killed/tables/part": "half", ".partial": "backup-killed"} {
		if err := os.WriteFile(filepath.Join(ledger, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	try(cli.ExitDone, "no backups", storeSecret, endpoint, "list", target)
	try(cli.ExitDone, "stream CTX: up to sequence 500", storeSecret, endpoint, "create", target)
	try(cli.ExitDone, "events up to sequence 500", storeSecret, endpoint, "list", target)
	left, err := filepath.Glob(filepath.Join(ledger, "*"))
	if err != nil || len(left) != 1 {
		t.Fatalf("the store has %q, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(ledger, ".partial")); err == nil {
		t.Error("a whole backup counts as partial")
	}
	name := filepath.Base(left[0])
	try(cli.ExitDone, "stream CTX: up to sequence 500", storeSecret, endpoint, "verify", target+"/"+name)
	// An upload that was killed after its last file: the next one keeps the whole backup.
	if err := os.WriteFile(filepath.Join(ledger, ".partial"), []byte(name), 0o600); err != nil {
		t.Fatal(err)
	}
	try(cli.ExitDone, "stream CTX: up to sequence 500", storeSecret, endpoint, "create", target)
	try(cli.ExitDone, target+"/"+name+" ", storeSecret, endpoint, "list", target)
	try(cli.ExitNotVerified, "no whole backup", storeSecret, endpoint, "verify", target+"/backup-killed")
	// An incremental backup is fetched with those that it needs.
	clitest.PublishItems(t, data, 500, 600)
	try(cli.ExitDone, "stream CTX: up to sequence 600", storeSecret, endpoint, "create", target, "--base", name)
	try(cli.ExitDone, "incremental: continues backup-", storeSecret, endpoint, "create", target, "--incremental")
	all, err := backup.List(ledger)
	if err != nil || len(all) != 4 || all[2].Base.Name != name || all[3].Base.Name != all[2].Name {
		t.Fatalf("the store has %+v, %v", all, err)
	}
	try(cli.ExitDone, "incremental: continues "+all[2].Name, storeSecret, endpoint, "verify", target+"/"+all[3].Name)
	try(cli.ExitDone, "continues "+name, storeSecret, endpoint, "list", target)

	if err := os.CopyFS(filepath.Join(other, "keys"), os.DirFS(filepath.Join(data, "keys"))); err != nil {
		t.Fatal(err)
	}
	keys, err := filepath.Glob(filepath.Join(other, "keys", "*"))
	for _, file := range keys {
		err = os.Chmod(file, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	clitest.Up(t, other)
	said, code := backups(other, storeSecret, endpoint, "restore", target+"/"+all[3].Name)
	expect(cli.ExitDone, "restored "+all[3].Name, said, code)
	if rows := clitest.Ask(t, other, "--sql", "SELECT count() AS n FROM recorded_events"); fmt.Sprint(rows[0]["n"]) != "600" {
		t.Errorf("the restored ledger has %v events", rows[0]["n"])
	}

	m, err := backup.ReadManifest(left[0])
	if err != nil {
		t.Fatal(err)
	}
	damaged, missing := m.Files[0].Path, m.Files[1].Path
	if err := os.WriteFile(filepath.Join(left[0], damaged), []byte("other bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(left[0], missing)); err != nil {
		t.Fatal(err)
	}
	try(cli.ExitNotVerified, missing+" is missing", storeSecret, endpoint, "verify", target+"/"+name)
	try(cli.ExitNotVerified, damaged+" is changed", storeSecret, endpoint, "verify", target+"/"+name)
	try(cli.ExitNotVerified, name+", which "+all[3].Name+" needs", storeSecret, endpoint, "verify", target+"/"+all[3].Name)
	if err := os.RemoveAll(filepath.Join(ledger, all[2].Name)); err != nil {
		t.Fatal(err)
	}
	try(cli.ExitNotVerified, all[2].Name+" is missing", storeSecret, endpoint, "restore", target+"/"+all[3].Name)
	for _, folder := range []string{data, other} {
		work, err := filepath.Glob(filepath.Join(folder, "backup-work", "[^.]*"))
		if err != nil || len(work) > 0 {
			t.Errorf("left in the folder of work: %q, %v", work, err)
		}
	}
}
