package view

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/river"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/source"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
)

// Assets are the stylesheet and the script of the pages.
//
//go:embed assets
var Assets embed.FS

//go:embed templates/*.html
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"bounded":     bounded,
	"minute":      minute,
	"stamp":       stamp,
	"add":         func(a, b float64) float64 { return a + b },
	"add1":        func(n int) int { return n + 1 },
	"clock":       clock,
	"cut":         shorten,
	"day":         day,
	"deref":       func(b *bool) bool { return b != nil && *b },
	"known":       known,
	"callCost":    callCost,
	"sessionCost": sessionCost,
	"money":       func(sum *float64, currency string) string { return costOf(sum, currency, false) },
	"number":      number,
	"off":         windowview.Off,
	"prose":       prose,
	"pick": func(yes bool, a, b float64) float64 {
		if yes {
			return a
		}
		return b
	},
	"safe":   bounded,
	"share":  func(part *int64, whole int64) string { return percent(*part, whole) },
	"shell":  func(text string) string { return ui.ShellQuote(bounded(text)) },
	"short":  func(n *int64) string { return river.Short(*n) },
	"spaced": spaced,
	"words":  words,
	"coordinate": func(v float64) string {
		return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
	},
}).ParseFS(files, "templates/*.html"))

// Report is a session in one file.
type Report struct {
	Session
	Windows []Call
	Items   []Item
	Written time.Time
	Policy  string // of the file's content
	Style   template.CSS
	Script  template.JS
}

// NewReport prepares the report of a session from its answers and windows. The report opens at
// the last call of a turn, or at the largest window if the turn is empty.
func NewReport(a river.Answers, windows map[source.WindowKey]windowview.Window, turn string, now time.Time) Report {
	r := Report{Session: Of(a, turn, Range{}, func(c river.Call) string { return anchor(c.Number) }), Written: now}
	calls := r.River.All()
	for i, c := range calls {
		w := windows[source.WindowKey{Turn: c.Turn, Call: c.Call, Attempt: c.Attempt}]
		v := CallOf(c, len(calls), w, false, nil)
		v.Anchor, v.Selected = anchor(c.Number)[1:], c.Number == r.Selected
		if i > 0 {
			v.Prev = anchor(c.Number - 1)
		}
		if i < len(calls)-1 {
			v.Next = anchor(c.Number + 1)
		}
		r.Windows = append(r.Windows, v)
	}
	r.Items = Items(calls, windows)
	style, script := asset("explorer.css"), asset("explorer.js")
	r.Style, r.Script = template.CSS(style), template.JS(script)
	r.Policy = fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", digest(style), digest(script))
	return r
}

// Write writes the report as one HTML file without a reference outside.
func (r Report) Write(w io.Writer) error {
	if err := templates.ExecuteTemplate(w, "report", r); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func anchor(number int) string { return "#c" + strconv.Itoa(number) }

// asset returns an embedded file as a page contains it.
func asset(name string) string {
	text, err := Assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // the file is embedded
	}
	return strings.TrimSpace(string(text))
}

// digest is the source expression of an inline text in a Content-Security-Policy.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// minute returns a time to the minute in UTC, "" for an unknown time.
func minute(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04")
}
