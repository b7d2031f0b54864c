package deploy_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/deploy"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
)

func TestMain(m *testing.M) {
	embeddedtest.Main()
	m.Run()
}

var tenants = []string{"acme", "zeta-2"}

// A node is the result of Write in a folder of the test.
type node struct{ dir string }

func write(t testing.TB, s deploy.Server) node {
	t.Helper()
	n := node{t.TempDir()}
	if _, err := s.Write(n.dir, "127.0.0.1", tenants...); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n node) text(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(n.dir, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// variables reads a file of secrets/.
func (n node) variables(t testing.TB, name string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for line := range strings.Lines(n.text(t, filepath.Join("secrets", name+".env"))) {
		variable, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || len(value) < 3 || strings.Trim(value, "'") != value[1:len(value)-1] {
			t.Fatalf("%s.env: %q", name, line)
		}
		found[variable] = strings.Trim(value, "'")
	}
	return found
}

// address returns the address of a user, with another host.
func (n node) address(t testing.TB, user, host string) string {
	t.Helper()
	for _, value := range n.variables(t, user) {
		u, err := url.Parse(value)
		if err != nil {
			t.Fatal(err)
		}
		u.Host = host
		return u.String()
	}
	t.Fatalf("no address of %s", user)
	return ""
}
