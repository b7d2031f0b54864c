package record

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ctxledger/ctxledger/producer/importer/model"
)

// TestStampOfBodies: a body that comes later makes the log another one, though the index stays.
func TestStampOfBodies(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	index := filepath.Join(folder, "index.jsonl")
	write := func(path string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(index)
	bodies, log := stampOf(model.FormatClaudeBodies, index), stampOf(model.FormatClaudeCode, index)
	write(filepath.Join(folder, "1.request.json"))
	if now := stampOf(model.FormatClaudeBodies, index); now.Digest == bodies.Digest {
		t.Error("a body more is not seen")
	}
	if now := stampOf(model.FormatClaudeCode, index); now.Digest != log.Digest {
		t.Error("a file beside a log of one file changes its stamp")
	}
}
