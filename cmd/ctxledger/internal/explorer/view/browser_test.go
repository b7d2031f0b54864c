package view

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/browsertest"
)

// TestHostileTextNeverRuns opens reports that have hostile text in every field. No script of a
// field runs, and the pages stay accessible.
func TestHostileTextNeverRuns(t *testing.T) {
	t.Parallel()
	b := browsertest.Start(t)
	dir := t.TempDir()
	for i, text := range hostile {
		path := filepath.Join(dir, fmt.Sprint(i, ".html"))
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := hostileReport(text).Write(file); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		b.Visit(t, "file://"+path, "file://"+path, browsertest.View{Width: 390, Height: 800, Scheme: "light"})
		if title := browsertest.Eval[string](t, b, "document.title"); title == "sentinel" {
			t.Errorf("%.40q ran", text)
		}
	}
}
