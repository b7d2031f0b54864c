package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/deploy"
)

// TestUnitsAreValid has systemd read the units.
func TestUnitsAreValid(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir := t.TempDir()
	written, err := deploy.WriteUnits(dir)
	if err != nil || len(written) != 3 {
		t.Fatalf("%v %v", written, err)
	}
	for _, name := range written {
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"\nType=notify\n", "\nNotifyAccess=main\n", "\nWatchdogSec=30\n", "\nRestart=always\n", "\nDynamicUser=yes\n", "\nWantedBy=multi-user.target\n"} {
			if !strings.Contains(string(text), line) {
				t.Errorf("%s lacks %q", name, line)
			}
		}
		// systemd looks for the program, which is not installed here
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "/usr/local/bin/ctxledger", "/bin/true")), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
