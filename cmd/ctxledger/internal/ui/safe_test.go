package ui_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
)

// hostile are characters that steer a terminal, or that nobody sees.
var hostile = []rune("\x00\x07\b\x1b\r\x7f\u0085\u009b\u00ad\u034f\u061c\u115f\u1160\u17b4\u180e\u200b\u200d\u200e\u200f\u2028\u2029\u202a\u202e\u2060\u2066\u2069\u3164\ufeff\uffa0\ufff9\U000e0041")

// steers reports whether text holds a character of hostile, or another control.
func steers(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune(string(hostile), r))
	})
}

func hostileText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOf(rapid.OneOf(
			rapid.StringMatching(`[a-z é日本]{0,6}`),
			rapid.SampledFrom([]string{"\n", "\t", "\x1b[31m", "\x1b]0;title\a", "\r\x1b[K", "\xff\xfe"}),
			rapid.Map(rapid.SampledFrom(hostile), func(r rune) string { return string(r) }),
		)).Draw(t, "parts")
		return strings.Join(parts, "")
	})
}

func TestSafeIsOneLineWithoutControls(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := hostileText().Draw(t, "text")
		safe := ui.Safe(text)
		if steers(safe) || strings.ContainsAny(safe, "\n\t") {
			t.Fatalf("%q is not safe: %q", text, safe)
		}
		if ui.Safe(safe) != safe {
			t.Fatalf("%q changes again", safe)
		}
	})
}

// TestGuardLetsNoControlThrough: whatever is written, however it is cut, only line
// breaks, tabs and the sequences of this package come out.
func TestGuardLetsNoControlThrough(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := hostileText().Draw(t, "text")
		var out bytes.Buffer
		g := ui.NewGuard(&out)
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if written, err := g.Write(rest[:n]); err != nil || written != n {
				t.Fatalf("wrote %d of %d: %v", written, n, err)
			}
			rest = rest[n:]
		}
		bare := out.String()
		for _, own := range []string{"\x1b[31m", "\r\x1b[K"} {
			bare = strings.ReplaceAll(bare, own, "")
		}
		if steers(bare) {
			t.Fatalf("%q became %q", text, out.String())
		}
		if !steers(text) && out.String() != text && strings.ToValidUTF8(text, "") == text {
			t.Fatalf("%q is harmless and became %q", text, out.String())
		}
	})
}

func TestGuardKeepsJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if _, err := ui.NewGuard(&out).Write([]byte("{\"a\":\"x\u202ey\U000e0041\"}\n")); err != nil {
		t.Fatal(err)
	}
	if want := `{"a":"x\u202ey\udb40\udc41"}` + "\n"; out.String() != want {
		t.Errorf("got %s, want %s", out.String(), want)
	}
}

func TestCSVCell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, safe string
	}{
		{"plain", "plain"}, {"", ""}, {"=1+1", "'=1+1"}, {"+1", "'+1"}, {"-x", "'-x"}, {"@SUM(A1)", "'@SUM(A1)"}, {"\t=1", "' =1"}, {"a=1", "a=1"}, {"＝1", "'＝1"}, {"x\x1b[2J", `x\u001b[2J`},
	} {
		if got := ui.CSVCell(c.in, true); got != c.safe {
			t.Errorf("%q is %q, want %q", c.in, got, c.safe)
		}
		if got := ui.CSVCell(c.in, false); got != c.in {
			t.Errorf("%q is %q without --csv-safe", c.in, got)
		}
	}
}

func TestReflowKeepsLists(t *testing.T) {
	t.Parallel()
	const text = "one two three\nfour five six seven\n\n  item  stays\n  other  is long enough to wrap\nlast words"
	const want = "one two three four five\nsix seven\n\n  item  stays\n  other  is long enough to\n         wrap\nlast words"
	if got := ui.Reflow(text, 26); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFitWrapsBelowTheLastColumn(t *testing.T) {
	t.Parallel()
	const text = "short line that stays\n  name  string  a long explanation of the field\nplain words that are far too many"
	const want = "short line that stays\n  name  string  a long\n                explanation\n                of the field\nplain words that are far too\nmany"
	if got := ui.Fit(text, 28); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
