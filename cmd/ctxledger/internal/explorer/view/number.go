package view

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
)

// thin separates groups of three digits: a narrow space without a line break.
const thin = "\u202f"

// spaced writes n with a narrow space between groups of three digits.
func spaced(n int64) string { return strings.ReplaceAll(ui.Thousands(n), ",", thin) }

// Spaced writes a number for a cell.
func Spaced(n int64) string { return spaced(n) }

// Stamp writes a time for a cell.
func Stamp(t time.Time) string { return stamp(t) }

// Line makes a text safe for a cell, and cuts it.
func Line(text string) string { return shorten(text) }

// number writes a number as a data element. Digits and spaces need no escaping.
func number(n int64) template.HTML {
	return template.HTML(`<data value="` + strconv.FormatInt(n, 10) + `">` + spaced(n) + `</data>`)
}

// known is number, and a question mark for an unknown number: unknown is not zero.
func known(n *int64) template.HTML {
	if n == nil {
		return `<abbr title="not known">?</abbr>`
	}
	return number(*n)
}

// percent writes a share of a whole with one decimal place.
func percent(part, whole int64) string {
	if whole <= 0 {
		return ""
	}
	return fmt.Sprintf("%.1f"+thin+"%%", 100*float64(part)/float64(whole))
}

// plural writes a count with its noun.
func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return spaced(int64(n)) + " " + one + "s"
}

// money writes a sum with its currency, with at least two significant digits.
func money(sum float64, currency string) string {
	text := fmt.Sprintf("%.2f", sum)
	if sum > 0 && sum < 0.095 {
		text = strconv.FormatFloat(sum, 'g', 2, 64)
	}
	return strings.TrimSpace(text + " " + ui.Shorten(currency, 12))
}

// clock writes the time of day in UTC, "" for a time that is none.
func clock(t time.Time) string {
	if !ui.IsTime(t) {
		return ""
	}
	return t.UTC().Format("15:04:05")
}

// day writes a day for people.
func day(t time.Time) string { return t.UTC().Format("2 January 2006") }

// stamp writes a time for programs, "" for a time that is none.
func stamp(t time.Time) string {
	if !ui.IsTime(t) {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// words writes a name of a recorded layer, cause or state as words.
func words(name string) string { return strings.ReplaceAll(ui.Shorten(name, 40), "_", " ") }

// bounded makes a text safe and limits its length, for fields that are longer than a name.
func bounded(text string) string { return ui.Shorten(text, 400) }

// prose is bounded for a sentence: what stands between two backquotes is a command or a name.
func prose(text string) template.HTML {
	parts := strings.Split(template.HTMLEscapeString(bounded(text)), "`")
	var b strings.Builder
	for i, part := range parts {
		switch {
		case i%2 == 0:
			b.WriteString(part)
		case i < len(parts)-1:
			b.WriteString("<code>" + part + "</code>")
		default: // the last backquote has no other one
			b.WriteString("`" + part)
		}
	}
	return template.HTML(b.String())
}

// shorten cuts a text to the first characters that a table has room for.
func shorten(text string) string { return ui.Shorten(text, 90) }
