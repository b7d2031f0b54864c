package record_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// TestImportAgainCostsWhatIsNew imports logs again: as they are, grown, without each of the two
// memories, with a foreign bucket, and into a stream that was made anew. The answers never change.
func TestImportAgainCostsWhatIsNew(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	data, logs := t.TempDir(), clitest.CopyOfLogs(t, clitest.Repository("producer", "importer", "testdata"))
	entries, err := os.ReadDir(logs)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries { // the other logs tell of the same sessions
		if !slices.Contains([]string{"window.jsonl", "codex", "openhands", "swe-agent"}, e.Name()) {
			if err := os.RemoveAll(filepath.Join(logs, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	addresses := clitest.Up(t, data)
	nc, err := nats.Connect(addresses.NATSURL)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := js.KeyValue(t.Context(), streamio.ImportsBucket)
	if err != nil {
		t.Fatal(err)
	}
	imports := func(args ...string) (published int, stdout, stderr string) {
		t.Helper()
		stdout, stderr, code := clitest.Run(t, append([]string{"import", "auto", logs, "--data", data}, args...)...)
		if code != cli.ExitRefused { // some logs have lines that are refused
			t.Fatalf("the import ended with %d\n%s%s", code, stdout, stderr)
		}
		if _, err := fmt.Sscanf(stdout[strings.Index(stdout, "  published"):], " published %d", &published); err != nil {
			t.Fatalf("the import printed %s", stdout)
		}
		return published, stdout, stderr
	}
	answers := func() string { return answerOf(t, data, "session-usage") + answerOf(t, data, "items-by-kind") }

	all, first, problems := imports()
	want := answers()
	if all < 200 || !strings.Contains(want, "session_id") {
		t.Fatalf("only %d facts: %s", all, want)
	}
	totals, _, _ := strings.Cut(first, "  published")
	if n, said, again := imports(); n > 0 || !strings.HasPrefix(said, totals) || !strings.HasSuffix(said, "facts\neverything was there already\n") || again != problems {
		t.Errorf("the same again published %d facts and said\n%s%s\nfirst it said\n%s%s", n, said, again, first, problems)
	}

	log := filepath.Join(logs, "window.jsonl")
	appendTo(t, log, `{"type":"user","uuid":"grown-1","parentUuid":null,"sessionId":"grown","timestamp":"2026-03-01T10:00:00Z","message":{"role":"user","content":"one line more"}}`)
	if n, said, _ := imports(); n == 0 || n > 10 {
		t.Errorf("one line more published %d facts\n%s", n, said)
	}
	want = answers()
	clitest.Settle()

	memory := filepath.Join(data, "imports")
	steps := []struct {
		name   string
		lose   func() error
		args   []string
		all    bool
		warned string
	}{
		{"without this machine's memory", func() error { return os.RemoveAll(memory) }, nil, false, ""},
		{"without the bucket's values", func() error { return js.DeleteKeyValue(t.Context(), streamio.ImportsBucket) }, nil, false, ""},
		{"without both", func() error { return os.RemoveAll(memory) }, nil, true, ""},
		{"with a foreign bucket", func() error {
			if err := os.RemoveAll(memory); err != nil {
				return err
			}
			var err error
			if bucket, err = js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: streamio.ImportsBucket}); err != nil {
				return err
			}
			return nil
		}, nil, true, ""},
		{"with foreign values", func() error {
			keys, err := bucket.Keys(t.Context())
			if err != nil {
				return err
			}
			for _, key := range keys {
				if _, err := bucket.Put(t.Context(), key, []byte("foreign")); err != nil {
					return err
				}
			}
			return os.RemoveAll(memory)
		}, nil, true, "values of the bucket CTX_IMPORTS cannot be read and were not used"},
		{"again", func() error { return nil }, []string{"--again"}, true, ""},
		{"with a folder that takes nothing", func() error {
			if err := os.RemoveAll(memory); err != nil {
				return err
			}
			return os.WriteFile(memory, nil, 0o600)
		}, nil, false, "this machine's cache cannot be written"},
	}
	for _, step := range steps {
		if err := step.lose(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		n, said, warned := imports(step.args...)
		if step.all != (n >= all) || !step.all && n > 0 {
			t.Errorf("%s, %d facts were published\n%s", step.name, n, said)
		}
		if got := answers(); got != want {
			t.Errorf("%s, the answers are\n%s\nnot\n%s", step.name, got, want)
		}
		if !strings.Contains(warned, step.warned) {
			t.Errorf("%s, the import warned of\n%s", step.name, warned)
		}
	}
}

func answerOf(t *testing.T, data, query string) string {
	t.Helper()
	stdout, stderr, code := clitest.Run(t, "query", query, "-o", "csv", "--data", data)
	if code != cli.ExitDone {
		t.Fatalf("%s ended with %d: %s", query, code, stderr)
	}
	return stdout
}

func appendTo(t *testing.T, path, line string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(line + "\n")
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestImportIntoAStreamMadeAnew: what an import remembers is of one stream, and of one tenant.
func TestImportIntoAStreamMadeAnew(t *testing.T) {
	servers := embeddedtest.NATS(t)
	t.Setenv("CTXLEDGER_NATS_URL", servers.Addresses().NATSURL)
	js := servers.JetStream(t)
	data, logs := t.TempDir(), clitest.CopyOfLogs(t, clitest.Repository("producer", "importer", "testdata", "codex"))
	imports := func(tenant string) uint64 {
		t.Helper()
		if _, err := streamio.EnsureStreams(t.Context(), js); err != nil {
			t.Fatal(err)
		}
		before, err := streamio.ReadLastSequences(t.Context(), js)
		if err != nil {
			t.Fatal(err)
		}
		stdout, stderr, code := clitest.Run(t, "import", "codex", logs, "--data", data, "--tenant", tenant, "--no-wait")
		if code != cli.ExitDone && code != cli.ExitRefused {
			t.Fatalf("the import ended with %d\n%s%s", code, stdout, stderr)
		}
		after, err := streamio.ReadLastSequences(t.Context(), js)
		if err != nil {
			t.Fatal(err)
		}
		return after.Total() - before.Total()
	}
	all := imports("acme")
	if again, other := imports("acme"), imports("other"); all < 20 || again != 0 || other != all {
		t.Errorf("%d facts, the same again %d, of another tenant %d", all, again, other)
	}
	if err := js.DeleteStream(t.Context(), schema.EventStream); err != nil {
		t.Fatal(err)
	}
	if anew := imports("acme"); anew != all {
		t.Errorf("%d facts went into the new stream, %d into the first", anew, all)
	}
}
