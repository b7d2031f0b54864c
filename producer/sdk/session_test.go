package sdk

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/schema"
)

// TestSession records a session with every helper. The stream has all facts in the order of
// the sequences, and the withheld value is nowhere.
func TestSession(t *testing.T) {
	t.Parallel()
	embeddedtest.Smoke(t)
	each(t, func(t *testing.T, l language) {
		bus, server := start(t)
		checkSession(t, bus, l.run(t, "", "session", server.URL, keyText))
	})
}

func checkSession(t *testing.T, bus *bustest.Bus, out []byte) {
	t.Helper()
	said := decode[struct {
		Receipt struct {
			Stored    string
			Sequences [][2]int64
		}
		Stored, Queued int
		Refused        []struct {
			Violations []struct{ Code, Pointer string }
		}
		After          []string
		Masked, Source string
	}](t, out)
	events := bus.Events(t)
	if said.Receipt.Stored != "stream" || said.Stored != len(events) || len(said.Refused) != 1 || said.Masked != "KEY=[redacted:policy:no-credentials]" || said.Queued != 0 {
		t.Fatalf("%s, and the stream has %d events", out, len(events))
	}
	if v := said.Refused[0].Violations[0]; v.Code != "withheld" || v.Pointer != "/data/item_id" || !slices.Equal(said.After, []string{"sum-1", "env"}) {
		t.Errorf("%s", out)
	}
	want := []string{
		"scope.opened", "item.added", "log.appended", "item.added", "log.appended", "redaction.applied", "redaction.applied", "redaction.applied", "item.added",
		"log.appended", "missing.detected", "missing.requested", "surface.created", "selection.completed", "assembly.created", "injection.applied", "usage.recorded",
		"compaction.started", "item.added", "summary.created", "compaction.completed", "missing.resolved", "scope.opened", "item.added", "log.appended", "envelope.created",
	}
	key, err := schema.ParseKeyRing([]byte(keyText))
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for i, e := range events {
		types = append(types, strings.TrimPrefix(string(e.EventType()), "context."))
		fact, found := schema.Validate(e)
		if len(found) > 0 || e.Sequence == nil || *e.Sequence != int64(i+1) || e.Source != said.Source || len(e.RuntimeID) != 2 || e.PartitionKey != e.SessionID {
			t.Errorf("event %d: %v %v", i, found, e.Attributes())
		}
		if strings.Contains(string(e.Data), "0123456789abcdef") {
			t.Errorf("event %d has the withheld value: %s", i, e.Data)
		}
		switch f := fact.(type) {
		case *schema.ItemAdded:
			if f.ItemID == "u1" && f.ContentDigest != key.Current().Digest([]byte("Fix ünicode.")) {
				t.Errorf("the digest is %s", f.ContentDigest)
			}
			if f.ItemID == "env" && (f.RedactionState != schema.RedactionMasked || f.Title != "env with [redacted:policy:no-credentials]" || e.ToolCallID != "tc-1") {
				t.Errorf("the masked item is %s", e.Data)
			}
		case *schema.EnvelopeCreated:
			if !reflect.DeepEqual(f.Sequences[0].Ranges, said.Receipt.Sequences) || len(f.ItemRefs) != 4 || len(f.MissingContextRefs) != 1 || f.ContextID != e.ContextID {
				t.Errorf("the seal is %s", e.Data)
			}
		}
	}
	if !reflect.DeepEqual(types, want) {
		t.Errorf("the facts are %v", types)
	}
}

// TestPipInstalls installs the Python SDK as a user does, without a network.
func TestPipInstalls(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("installs a package: run without -short")
	}
	l, dir := languages[1], t.TempDir()
	cmd := l.command(t, "vectors")
	if err := exec.Command(cmd.Path, "-m", "pip", "--version").Run(); err != nil {
		giveUp(t, fmt.Errorf("there is no pip: %w", err))
	}
	if err := os.CopyFS(filepath.Join(dir, "source"), os.DirFS("python")); err != nil {
		t.Fatal(err)
	}
	pip := exec.Command(cmd.Path, "-m", "pip", "install", "--no-index", "--disable-pip-version-check", "--target", filepath.Join(dir, "installed"), filepath.Join(dir, "source"))
	if out, err := pip.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	input, _ := vectors(t)
	cmd.Stdin, cmd.Env = strings.NewReader(string(input)), append(os.Environ(), "PYTHONPATH="+filepath.Join(dir, "installed"))
	if err := os.RemoveAll(filepath.Join(cmd.Dir, "ctxledger")); err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// BenchmarkCost measures the agent's time for a helper, and for a window of 200 items.
func BenchmarkCost(b *testing.B) {
	_, server := start(b)
	for _, l := range languages {
		b.Run(l.name, func(b *testing.B) {
			for b.Loop() {
				took := decode[struct{ Add, Window [2]float64 }](b, l.run(b, "", "cost", server.URL)) // in ms
				b.ReportMetric(took.Add[0], "ms/add")
				b.ReportMetric(took.Add[1], "cpu-ms/add")
				b.ReportMetric(took.Window[0], "ms/window-of-200")
				b.ReportMetric(took.Window[1], "cpu-ms/window-of-200")
			}
		})
	}
}
