package view

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/browsertest"
)

// TestHostileTextNeverRuns opens reports, pages of packs and verdicts that have hostile text in every field. No script of a
// field runs, and the pages stay accessible.
func TestHostileTextNeverRuns(t *testing.T) {
	t.Parallel()
	b := browsertest.Start(t)
	dir := t.TempDir()
	for i, text := range hostile {
		for j, write := range hostilePages {
			if j > 0 && i > 3 { // these texts change no element; TestHostileTextIsText has them all
				continue
			}
			path := filepath.Join(dir, fmt.Sprint(i, "-", j, ".html"))
			var page bytes.Buffer
			if err := errors.Join(write(&page, text), os.WriteFile(path, page.Bytes(), 0o600)); err != nil {
				t.Fatal(err)
			}
			b.Visit(t, "file://"+path, "file://"+path, browsertest.View{Width: 390, Height: 800, Scheme: "light"})
			if title := browsertest.Eval[string](t, b, "document.title"); title == "sentinel" {
				t.Errorf("%.40q ran", text)
			}
		}
	}
}
