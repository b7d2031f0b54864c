package deploy_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/deploy"
)

func TestFilesHoldNoSecret(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]deploy.Server{"nats": deploy.NATS(), "clickhouse": deploy.ClickHouse()} {
		n := write(t, s)
		files, err := s.Files(tenants...)
		if err != nil {
			t.Fatal(err)
		}
		hashes := n.variables(t, name+"-server")
		var text strings.Builder
		for _, f := range files {
			text.WriteString(f.Text)
			if got := n.text(t, f.Path); got != f.Text {
				t.Errorf("%s is not what Files says", f.Path)
			}
		}
		for variable, hash := range hashes {
			if !strings.Contains(text.String(), variable) {
				t.Errorf("%s: nothing reads %s", name, variable)
			}
			if strings.Contains(text.String(), hash) {
				t.Errorf("%s: a file holds the value of %s", name, variable)
			}
		}
		if len(hashes) != 2+len(tenants) {
			t.Errorf("%s: %d hashes", name, len(hashes))
		}
	}
}

func TestSecretsAreForTheOwnerOnly(t *testing.T) {
	t.Parallel()
	for _, s := range []deploy.Server{deploy.NATS(), deploy.ClickHouse()} {
		n := write(t, s)
		err := filepath.WalkDir(n.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.Contains(path, "/secrets") {
				return err
			}
			info, err := d.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s is %v", path, info.Mode())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestWriteAgain adds a tenant and removes one: the other tenants keep their passwords.
func TestWriteAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server deploy.Server
		who    string
	}{"nats": {deploy.NATS(), "nats-tenant-acme"}, "clickhouse": {deploy.ClickHouse(), "clickhouse-reader-acme"}} {
		n := write(t, c.server)
		before := n.address(t, c.who, "x")
		if _, err := c.server.Write(n.dir, "other", "acme", "new"); err != nil {
			t.Fatal(err)
		}
		if n.address(t, c.who, "x") != before {
			t.Errorf("%s has another password", c.who)
		}
		if n.address(t, strings.Replace(c.who, "acme", "new", 1), "x") == before {
			t.Error("two tenants have one password")
		}
		for _, value := range n.variables(t, c.who) {
			if !strings.Contains(value, "@other:") {
				t.Error("the host is the old one")
			}
		}
		for variable := range n.variables(t, name+"-server") {
			if strings.Contains(variable, "ZETA") {
				t.Errorf("%s still has a user", variable)
			}
		}
	}
}

func TestHostWithPort(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"h": "h:4222", "h:5222": "h:5222", "10.0.0.1:1": "10.0.0.1:1", "::1": "[::1]:4222", "[::1]:5222": "[::1]:5222",
	} {
		dir := t.TempDir()
		if _, err := deploy.NATS().Write(dir, host); err != nil {
			t.Errorf("host %q: %v", host, err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "secrets", "nats-admin.env"))
		if err != nil || !strings.HasSuffix(string(text), "@"+want+"'\n") {
			t.Errorf("host %q gives %q, %v", host, text, err)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{{""}, {"a b"}, {"a.b"}, {"*"}, {"ü"}, {"-a"}, {"a'b"}, {strings.Repeat("a", 65)}, {"a-b", "a_b"}, {"a", "A"}, {"a", "a"}} {
		for _, s := range []deploy.Server{deploy.NATS(), deploy.ClickHouse()} {
			dir := t.TempDir()
			if _, err := s.Write(dir, "h", names...); !errors.Is(err, deploy.ErrTenant) {
				t.Errorf("%q: %v", names, err)
			}
			if entries, _ := os.ReadDir(dir); len(entries) > 0 {
				t.Errorf("%q: wrote %v", names, entries)
			}
		}
	}
	for _, host := range []string{"", "a b", "a'", "u@h", "h/x", "h\n", "h:", "h:0", "h:65536", "h:x", "[::1", ":4222"} {
		if _, err := deploy.NATS().Write(t.TempDir(), host); !errors.Is(err, deploy.ErrHost) {
			t.Errorf("host %q: %v", host, err)
		}
	}
	n := write(t, deploy.NATS())
	path := filepath.Join(n.dir, "secrets", "nats-admin.env")
	for _, damage := range []string{"", "CTXLEDGER_NATS_URL=''", "\x00%%", "nats://u@h"} {
		if err := os.WriteFile(path, []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := deploy.NATS().Write(n.dir, "h", tenants...); !errors.Is(err, deploy.ErrSecret) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v", damage, err)
		}
	}
}

func TestFilesAreOfTheTenants(t *testing.T) {
	t.Parallel()
	for _, s := range []deploy.Server{deploy.NATS(), deploy.ClickHouse()} {
		none, err := s.Files()
		if err != nil {
			t.Fatal(err)
		}
		some, err := s.Files("acme")
		if err != nil {
			t.Fatal(err)
		}
		mentions := func(f deploy.File) bool { return strings.Contains(f.Text, "acme") }
		if slices.ContainsFunc(none, mentions) || !slices.ContainsFunc(some, mentions) {
			t.Errorf("%s", some[0].Path)
		}
	}
}
