package treehead_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/treehead"
)

func TestSinks(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "made")
	out := filepath.Join(t.TempDir(), "out")
	if len(treehead.Sinks("", "")) > 0 {
		t.Error("nothing is configured, and there are sinks")
	}
	sinks := treehead.Sinks(folder, `cat > '`+out+`'; printf %s "$CTXLEDGER_STREAM" >> '`+out+`'`)
	for _, note := range []string{"first\n", "second\n"} {
		for _, sink := range sinks {
			if err := sink.Put(t.Context(), "CTX", []byte(note)); err != nil {
				t.Fatalf("%s: %v", sink.Name, err)
			}
		}
	}
	for file, want := range map[string]string{filepath.Join(folder, "CTX.checkpoint"): "second\n", out: "second\nCTX"} {
		if text, err := os.ReadFile(file); err != nil || string(text) != want {
			t.Errorf("%s holds %q, %v", file, text, err)
		}
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
	err = treehead.Sinks("", "echo no way >&2; exit 3")[0].Put(t.Context(), "CTX", nil)
	if err == nil || !strings.Contains(err.Error(), "no way") {
		t.Errorf("a command that fails: %v", err)
	}
	if err := treehead.Sinks(filepath.Join(out, "below a file"), "")[0].Put(t.Context(), "CTX", nil); err == nil {
		t.Error("wrote below a file")
	}
}

// TestCommandThatHangs: the sink gives up at the end of its context, also if the command has
// child processes.
func TestCommandThatHangs(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	err := treehead.Sinks("", "sleep 60; true")[0].Put(ctx, "CTX", nil)
	if took := time.Since(began); err == nil || took > 30*time.Second {
		t.Errorf("a command that hangs: %v after %v", err, took)
	}
}
