package operate_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/schema"
)

// doctorSays runs doctor on a data folder and compares its exit code and its output.
func doctorSays(t *testing.T, data string, code int, says ...string) {
	t.Helper()
	stdout, stderr, got := clitest.Run(t, "doctor", "--data", data)
	stdout = strings.Join(strings.Fields(stdout), " ") // without the breaks of long lines
	for _, say := range says {
		if !strings.Contains(stdout, say) {
			t.Errorf("doctor does not say %q:\n%s", say, stdout)
		}
	}
	if got != code {
		t.Errorf("doctor ended with %d, want %d\n%s%s", got, code, stdout, stderr)
	}
}

// TestDoctorFindsAFullStream: a stream near its own limit, and a store without room.
func TestDoctorFindsAFullStream(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	data := t.TempDir()
	s := embeddedtest.Start(t, func(c *embedded.Config) { c.Dir, c.JetStreamMaxStore = data, 4<<20 })
	if _, stderr, code := clitest.Run(t, "migrate", "--data", data); code != cli.ExitDone {
		t.Fatalf("migrate ended with %d: %s", code, stderr)
	}
	doctorSays(t, data, cli.ExitDone, "ok nats room", "and no limit is near", "ok data room", "ok table room")

	js := s.JetStream(t)
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "OTHER", Subjects: []string{"other"}, MaxBytes: 128 << 10})
	clitest.Must(t, err)
	for range 3 {
		_, err = js.Publish(t.Context(), "other", make([]byte, 40<<10))
		clitest.Must(t, err)
	}
	doctorSays(t, data, cli.ExitFailed, "FAIL nats room stream OTHER has 120", "of its limit of 128 KiB", "CtxledgerStreamNearLimit in the runbook")
	clitest.Must(t, js.DeleteStream(t.Context(), "OTHER"))

	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "OTHER", Subjects: []string{"other"}})
	clitest.Must(t, err)
	for size := 256 << 10; size > 0; size /= 2 {
		for err = nil; err == nil; _, err = js.Publish(t.Context(), "other", make([]byte, size)) {
		}
	}
	doctorSays(t, data, cli.ExitFailed, "FAIL nats room JetStream has no room left", "raise max_file_store", "CtxledgerStreamStoreFull in the runbook")
	clitest.Must(t, js.DeleteStream(t.Context(), "OTHER"))
	doctorSays(t, data, cli.ExitDone, "ok nats room", "ok stream "+schema.EventStream)
}

// TestDoctorFindsASmallDisk: the disk that has the tables and the streams is nearly full.
func TestDoctorFindsASmallDisk(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	data := embeddedtest.SmallDisk(t, 400<<10)
	embeddedtest.Start(t, func(c *embedded.Config) { c.Dir = data })
	if _, stderr, code := clitest.Run(t, "migrate", "--data", data); code != cli.ExitDone {
		t.Fatalf("migrate ended with %d: %s", code, stderr)
	}
	doctorSays(t, data, cli.ExitFailed, "FAIL table room disk default of ClickHouse has", "of 400 MiB left", "FAIL data room the disk of "+data)
}
