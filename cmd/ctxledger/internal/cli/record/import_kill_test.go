package record_test

import (
	"context"
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/schema"
)

// A moment of an import: the stream holds that share of its facts, and then
// some time has passed.
type moment struct {
	name  string
	share float64
	wait  time.Duration
}

var moments = []moment{
	{"before the first fact", 0, 30 * time.Millisecond},
	{"the first batch is stored", 0.01, 0},
	{"between two batches", 0.5, 20 * time.Millisecond},
	{"all is stored, little projected", 1, 0},
	{"while the projector writes", 1, 80 * time.Millisecond},
}

// TestKilledInTheMiddleOfAnImport kills the whole of `up` while an import goes
// on, starts it again, imports again, and asks for the same totals as if
// nothing had happened.
func TestKilledInTheMiddleOfAnImport(t *testing.T) {
	t.Parallel()
	want, logs := clitest.ExpectedAnswers(t), clitest.Shared(t, "transcripts", "claude-code")
	calm := t.TempDir()
	found := clitest.Up(t, calm)
	if stdout, stderr, code := clitest.Run(t, "import", "claude-code", logs, "--data", calm); code != cli.ExitDone {
		t.Fatalf("import ended with %d\n%s%s", code, stdout, stderr)
	}
	undisturbed, facts := clitest.Everything(t, calm), stored(t, found.NATSURL)()

	for _, m := range moments {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			first, found := clitest.BeginUp(t, data)
			inStream := stored(t, found.NATSURL)
			importing := clitest.Command("import", "claude-code", logs, "--data", data).Begin(t)
			for inStream() < uint64(m.share*float64(facts)) {
				if importing.Ended() {
					t.Fatalf("the import ended before its moment: %s", &importing.Messages)
				}
			}
			time.Sleep(m.wait)
			had := inStream()
			if err := first.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if code := importing.Code(t, 30*time.Second); code != cli.ExitDone && importing.Messages.Len() == 0 {
				t.Errorf("the import ended with %d and said nothing", code)
			}
			t.Logf("killed with %d of %d facts in the stream; the import ended with %d: %s", had, facts, importing.ProcessState.ExitCode(), &importing.Messages)

			second, _ := clitest.BeginUp(t, data) // waits for the engine of the first
			if stdout, stderr, code := clitest.Run(t, "import", "claude-code", logs, "--data", data); code != cli.ExitDone {
				t.Fatalf("the second import ended with %d\n%s%s", code, stdout, stderr)
			}
			clitest.CheckAnswers(t, data, want)
			if got := clitest.Everything(t, data); !reflect.DeepEqual(got, undisturbed) {
				t.Errorf("the facts are not those of an undisturbed import:\n got %v\nwant %v", got, undisturbed)
			}
			if err := second.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if code := second.Code(t, 30*time.Second); code != cli.ExitDone {
				t.Errorf("up ended with %d on SIGTERM\n%s", code, &second.Messages)
			}
			clitest.NothingRunsOn(t, data, time.Second)
		})
	}
}

// stored returns a function that counts what the stream holds, 0 once the
// server has gone.
func stored(t *testing.T, natsURL string) func() uint64 {
	t.Helper()
	nc, err := nats.Connect(natsURL, nats.NoReconnect())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return func() uint64 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		stream, err := js.Stream(ctx, schema.EventStream)
		if err != nil {
			return 0
		}
		return stream.CachedInfo().State.Msgs
	}
}
