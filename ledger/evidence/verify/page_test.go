package verify

import (
	"fmt"
	"html"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// plainPage is a page with the figures of an account and nothing else.
func plainPage(a document.Account) string {
	var b strings.Builder
	b.WriteString("<!doctype html>\n<html><head><meta charset=\"utf-8\"><title>p</title></head><body>\n")
	for _, f := range a.Figures() {
		shown := f.Value
		if shown == document.Unknown {
			shown = "?"
		}
		fmt.Fprintf(&b, "<p><data data-figure=\"%s\" value=\"%s\">%s</data></p>\n", f.Name, html.EscapeString(f.Value), html.EscapeString(shown))
	}
	return b.String() + "</body></html>\n"
}

// TestFiguresOfThePage: a signed page with a figure that the records do not give is refused, by its
// line. So is everything that runs or refers to another place. A pack without a page verifies.
func TestFiguresOfThePage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		page   func(document.Account) string
		reason string
	}{
		"an honest page": {plainPage, ""},
		"no page":        {nil, ""},
		"another number": {change("\"records\" value=\"", "\"records\" value=\"1"), "the figure records is"},
		"a number that shows another": {func(a document.Account) string {
			return strings.Replace(plainPage(a), ">"+fmt.Sprint(a.Records)+"<", ">7000<", 1)
		}, "but the page shows \"7000\""},
		"a figure in pieces": {func(a document.Account) string {
			return strings.Replace(plainPage(a), ">"+fmt.Sprint(a.Records)+"<", ">"+fmt.Sprint(a.Records)+"<b>000</b><", 1)
		}, "but the page shows"},
		"a figure that never ends": {change("</data></p>\n</body>", "</p>and more</body>"), "but the page shows"},
		"a figure left out":        {change("data-figure=\"redactions\"", ""), "lacks the figure redactions"},
		"a figure of its own":      {change("</body>", "<data data-figure=\"calls\" value=\"3\">3</data></body>"), "does not follow from the records"},
		"a hidden figure":          {change("</body>", "<span data-figure=\"records\" value=\"x\">x</span></body>"), "in another element than data"},
		"a script":                 {change("</body>", "<script>x</script></body>"), "has an element \"script\""},
		"a frame":                  {change("</body>", "<iframe></iframe></body>"), "has an element \"iframe\""},
		"a handler":                {change("<body>", "<body ONLOAD=x>"), "has an attribute \"onload\""},
		"a link elsewhere":         {change("</body>", "<a href=\"https://example.org\">x</a></body>"), "refers to another place"},
		"a link that runs":         {change("</body>", "<a href=\"javascript:x\">x</a></body>"), "refers to another place"},
		"a link in a drawing":      {change("</body>", "<svg><a xlink:href=\"//x\">x</a></svg></body>"), "refers to another place"},
		"a new place":              {change("<title>", "<meta http-equiv=\"refresh\" content=\"0;url=x\"><title>"), "has a meta element"},
		"a style":                  {change("<body>", "<body style=\"x\">"), "has an attribute \"style\""},
		"bytes that are no text":   {change("</body>", "<\xff\xfe></body>"), ""},
		"an endless tag":           {change("</body>", "<p x=\""+strings.Repeat("y", mostToken)), "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, filepath.Join(t.TempDir(), "pack"), false, sessionScope(), 1)
			r.page = c.page
			turnWith(0, nil)(r)
			r.finish()
			q := Derivation
			if strings.Contains(c.reason, "cannot be read") {
				q = Format
			}
			if c.reason != "" {
				want(t, r.verify(), q, pack.PageFile, c.reason)
				return
			}
			if v := r.verify().Of(Derivation); v.Status != Passed {
				t.Errorf("%+v", v)
			}
		})
	}
}

// TestPageOfWithheldRecords: the records give no figures, but the page still must not run anything.
func TestPageOfWithheldRecords(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"", "<script>x</script>"} {
		r := newRig(t, filepath.Join(t.TempDir(), "pack"), false, sessionScope(), 1)
		r.header.RedactIDs = true
		r.page = change("</body>", "<data data-figure=\"calls\" value=\"3\">3</data>"+script+"</body>")
		s := newSession(t, 1)
		r.begin()
		s.turnOf(9, r.withhold)
		r.finish()
		report := r.verify()
		if script != "" {
			want(t, report, Derivation, pack.PageFile, "has an element \"script\"")
		} else if v := report.Of(Derivation); v.Status != NotChecked {
			t.Errorf("%+v", v)
		}
	}
}

// change replaces a text of a page once. The page is then signed.
func change(old, new string) func(document.Account) string {
	return func(a document.Account) string { return strings.Replace(plainPage(a), old, new, 1) }
}

func FuzzPage(f *testing.F) {
	f.Add("<data data-figure=\"records\" value=\"1\">1</data>")
	f.Add("<data data-figure=x><data data-figure=y value>\n</data><!--")
	f.Fuzz(func(t *testing.T, text string) {
		v := &verifier{found: newFindings(5)}
		p := pageCheck{v: v, compared: true, want: map[string]string{"records": "1"}, seen: make(map[string]bool), line: 1}
		if err := p.read(strings.NewReader(text)); err != nil || p.line > int64(strings.Count(text, "\n"))+1 {
			t.Fatalf("line %d: %v", p.line, err)
		}
	})
}
