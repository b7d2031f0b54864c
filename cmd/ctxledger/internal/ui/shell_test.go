package ui_test

import (
	"os/exec"
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
)

func TestShellQuote(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"/a/b-c_d.e": "/a/b-c_d.e", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$x`y`": "'$x`y`'", "a\nb": `$'a\x0ab'`, "~": "'~'", "é\u202e'": `$'\xc3\xa9\xe2\x80\xae\''`} {
		got := ui.ShellQuote(text)
		if got != want {
			t.Errorf("%q becomes %s, want %s", text, got, want)
		}
		out, err := exec.Command("bash", "-c", "printf %s "+got).Output()
		if err != nil || string(out) != text {
			t.Errorf("bash reads %s as %q: %v", got, out, err)
		}
	}
}
