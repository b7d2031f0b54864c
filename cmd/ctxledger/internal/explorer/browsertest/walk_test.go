package browsertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWalkReportsFaults walks a page with each fault that [Browser.Walk] reports, and the same page without.
func TestWalkReportsFaults(t *testing.T) {
	t.Parallel()
	b := Start(t)
	for _, c := range []struct{ style, button, fault string }{
		{"", "<button>here</button>", ""},
		{":focus-visible{outline:none}", "<button>here</button>", "nothing shows that the focus is on <button>here</button>"},
		{":focus-visible{outline-width:0}", "<button>here</button>", "nothing shows that the focus is on <button>here</button>"},
		{":focus-visible{outline-color:transparent}", "<button>here</button>", "nothing shows that the focus is on <button>here</button>"},
		{"", "<details><summary>more</summary><button>here</button></details>", ""},
		{"", "<button tabindex=-1>here</button>", "the Tab key does not reach\n<button tabindex=\"-1\">here</button>"},
	} {
		file := filepath.Join(t.TempDir(), "page.html")
		page := "<!doctype html><html lang=en><title>page</title><style>" + c.style + "</style><main><h1>page</h1><p><a href=#a>first</a></p>" + c.button + "</main>"
		if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		b.Visit(t, "file://"+file, "file://"+file, View{Width: 390, Height: 800, Scheme: "light"})
		faults := strings.Join(b.walk(t), "\n")
		if !strings.Contains(faults, c.fault) || (faults == "") != (c.fault == "") {
			t.Errorf("%s %s: the walk reports %q, want %q", c.style, c.button, faults, c.fault)
		}
	}
}
