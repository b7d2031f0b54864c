package record_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
)

// Lines that come faster than the stream takes them wait: they are more than the
// publisher's queue holds.
func TestPublishOfManyLines(t *testing.T) {
	admin, _, _ := clitest.TenantNode(t, nil)
	stored := clitest.StreamsOf(t, admin)
	t.Setenv("CTXLEDGER_NATS_URL", admin)
	const lines = 40_000
	var events strings.Builder
	for i := range lines {
		events.WriteString(strings.Replace(clitest.OneEvent, `"id":"`, fmt.Sprintf(`"id":"line-%d-`, i), 1))
	}
	file := filepath.Join(t.TempDir(), "events.ndjson")
	if err := os.WriteFile(file, []byte(events.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := clitest.Run(t, "publish", file, "--data", t.TempDir())
	if want := fmt.Sprintf("%d accepted, 0 refused\n", lines); code != cli.ExitDone || stdout != want {
		t.Fatalf("publish ended with %d: %s%s", code, stdout, stderr)
	}
	if n := stored(); n != lines {
		t.Errorf("the stream has %d events, not %d", n, lines)
	}
}
