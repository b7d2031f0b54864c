package clitest

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// TenantNode runs NATS on what `ctxledger deploy nats` writes for a tenant, with the
// streams, and returns the addresses of the admin and of the tenant, and the folder.
// Edit changes the accounts; nil does not. It sets the environment, so its test does not
// run at the same time as others.
func TenantNode(t *testing.T, edit func(accounts string) string) (admin, tenant, dir string) {
	t.Helper()
	dir = t.TempDir()
	if _, stderr, code := Run(t, "deploy", "nats", "--tenant", "acme", "--host", "127.0.0.1", "--out", dir); code != cli.ExitDone {
		t.Fatal(stderr)
	}
	secrets := func(name string) map[string]string {
		text, err := os.ReadFile(filepath.Join(dir, "secrets", name+".env"))
		if err != nil {
			t.Fatal(err)
		}
		found := make(map[string]string)
		for line := range strings.Lines(string(text)) {
			variable, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			found[variable] = strings.Trim(value, "'")
		}
		return found
	}
	for variable, hash := range secrets("nats-server") {
		t.Setenv(variable, hash)
	}
	if edit != nil {
		path := filepath.Join(dir, "nats", "accounts.conf")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(edit(string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	options, err := server.ProcessConfigFile(filepath.Join(dir, "nats", "server.conf"))
	if err != nil {
		t.Fatal(err)
	}
	options.Host, options.Port, options.HTTPPort, options.StoreDir = "127.0.0.1", server.RANDOM_PORT, 0, t.TempDir()
	options.NoLog, options.NoSigs = true, true
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("NATS is not ready")
	}
	address := func(user string) string {
		u, err := url.Parse(secrets("nats-" + user)["CTXLEDGER_NATS_URL"])
		if err != nil {
			t.Fatal(err)
		}
		u.Host = s.Addr().String()
		return u.String()
	}
	return address("admin"), address("tenant-acme"), dir
}

// StreamsOf makes the streams of a server, and returns what counts the events in them.
func StreamsOf(t *testing.T, admin string) (stored func() uint64) {
	t.Helper()
	nc, err := nats.Connect(admin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := streamio.EnsureStreams(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	return func() uint64 {
		t.Helper()
		heads, err := streamio.ReadLastSequences(t.Context(), js)
		if err != nil {
			t.Fatal(err)
		}
		return heads.Total()
	}
}
