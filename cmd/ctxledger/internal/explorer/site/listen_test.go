package site_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
)

// TestServeOutsideLoopback: without tokens, without TLS or without a name nothing listens.
func TestServeOutsideLoopback(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens")
	if _, stderr, code := clitest.Run(t, "token", "create", "--file", file, "--name", "a", "--role", "read"); code != cli.ExitDone {
		t.Fatal(stderr)
	}
	for args, want := range map[string]string{
		"--listen 0.0.0.0:0":                             "--tokens",
		"--listen :0 --tokens " + file:                   "--tls-cert",
		"--listen 0.0.0.0:0 --insecure":                  "--tokens",
		"--listen 0.0.0.0:0 --insecure --tokens " + file: "--host",
		"--listen [::]:0 --insecure --tokens " + file:    "--host",
		"--listen ledger.example:0":                      "--tokens",
		"--tls-cert c.pem":                               "--tls-key",
		"--tls-cert c.pem --tls-key k.pem --insecure":    "--insecure",
		"--host a.example:80":                            "--host",
		"--host *":                                       "--host",
		"--allow-origin *":                               "--allow-origin",
		"--allow-origin https://a.example/path":          "--allow-origin",
		"--tokens " + filepath.Join(t.TempDir(), "none"): "does not exist",
		"--tls-cert " + file + " --tls-key " + file:      "certificate",
	} {
		if _, stderr, code := clitest.Run(t, append([]string{"serve", "--data", t.TempDir()}, strings.Fields(args)...)...); code == cli.ExitDone || !strings.Contains(stderr, want) {
			t.Errorf("%s ended with %d: %s", args, code, stderr)
		}
	}
	for args, want := range map[string]string{
		"create --name a --role read": "exists", "create --name b": "no role", "create --name b --role write": "write", "create --name b --role read --tenant=": "tenant",
		"create --name ../b --role read": "name", "revoke --name b": "token list",
	} {
		if _, stderr, code := clitest.Run(t, append([]string{"token"}, append(strings.Fields(args), "--file", file)...)...); code != cli.ExitUsage || !strings.Contains(stderr, want) {
			t.Errorf("token %s ended with %d: %s", args, code, stderr)
		}
	}
	if stdout, stderr, code := clitest.Run(t, "token", "list", "--file", file); code != cli.ExitDone || !strings.Contains(stdout, "default  read") || strings.Contains(stdout, "sha256") {
		t.Errorf("token list ended with %d: %s%s", code, stdout, stderr)
	}
}
