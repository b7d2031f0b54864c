package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/projector"
)

// Lines that come faster than the stream takes them wait: they are more than the
// publisher's queue holds.
func TestPublishOfManyLines(t *testing.T) {
	admin, _ := tenantNode(t)
	nc, err := nats.Connect(admin)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := projector.EnsureStreams(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CTXLEDGER_NATS_URL", admin)
	const lines = 40_000
	var events strings.Builder
	for i := range lines {
		events.WriteString(strings.Replace(oneEvent, `"id":"`, fmt.Sprintf(`"id":"line-%d-`, i), 1))
	}
	file := filepath.Join(t.TempDir(), "events.ndjson")
	if err := os.WriteFile(file, []byte(events.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := ctxledger(t, "publish", file, "--data", t.TempDir())
	if want := fmt.Sprintf("%d accepted, 0 refused\n", lines); code != exitDone || stdout != want {
		t.Fatalf("publish ended with %d: %s%s", code, stdout, stderr)
	}
	heads, err := projector.ReadHeads(t.Context(), js)
	if err != nil {
		t.Fatal(err)
	}
	if heads.Total() != lines {
		t.Errorf("the stream has %d events, not %d", heads.Total(), lines)
	}
}
