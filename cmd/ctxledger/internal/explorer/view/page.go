package view

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/river"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/history"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
	"github.com/ctxledger/ctxledger/ledger/migrate"
	"github.com/ctxledger/ctxledger/queries"
)

// Page is what all served pages have.
type Page struct {
	Title   string
	Nav     string // sessions, questions or evidence
	Search  string
	Retry   int    // seconds after which the browser asks again; 0 for never
	SQL     bool   // the site takes statements of one's own
	Live    string // address of the event stream of the page; empty for none
	Content any
}

// Write writes a page by the template of its kind.
func (p Page) Write(w io.Writer, kind string) error {
	if err := templates.ExecuteTemplate(w, kind, p); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// The head of a page, for [Page.Write] when the content comes later, and the end of a page whose
// content could not be read, which has an [ErrorPage].
const (
	Head       = "head"
	FailedRest = "failed-rest"
)

// RestOf returns the part of a page that follows its head. Pages of the kinds "session" and
// "evidence" have one.
func RestOf(kind string) string { return kind + "-rest" }

// SessionPage is the content of the page of a session.
type SessionPage struct {
	Session
	Call        *Call // the selected one, nil without any
	Live        bool
	Compactions string // link
	Command     string // that writes the report
}

// WindowPage is the content of the page of a call.
type WindowPage struct {
	Call          Call
	Session, Diff string // links
}

// ItemPage is the content of the page of an item.
type ItemPage struct {
	Name, Answer string
	Item         history.Item
	Steps        []ItemStep
	Session      string // link
	Text         string // as it was stored; empty if none was
	Cut          int    // characters of the text that are not shown
	Proof        string // why no step is proved; empty if the proofs were looked up
}

// ItemStep is a row of the history of an item.
type ItemStep struct {
	history.Step
	Words string
	Href  string // of the call; empty for none
}

// mostText is how many characters of a stored text a page shows.
const mostText = 20_000

// Stored prepares a stored text: its first characters, without controls, and how many are left out.
func Stored(text string) (shown string, left int) {
	letters := []rune(text)
	if left = max(0, len(letters)-mostText); left > 0 {
		text = string(letters[:mostText])
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = ui.Safe(strings.TrimRight(line, "\r"))
	}
	return strings.Join(lines, "\n"), left
}

// ItemOf prepares the history of an item. The link of a call is given by href, empty for none.
func ItemOf(h history.Item, href func(turn, call string) string) ItemPage {
	p := ItemPage{Name: cmp.Or(h.Title, h.Item), Answer: h.Reply(spaced), Item: h}
	if h.Turn == "" {
		p.Answer = "No fact about this item names a turn."
	}
	for _, s := range h.Steps {
		row := ItemStep{Step: s, Words: s.What(spaced)}
		if s.Call != "" {
			row.Href = href(s.Turn, s.Call)
		}
		p.Steps = append(p.Steps, row)
	}
	return p
}

// SessionsPage is the content of the list of sessions.
type SessionsPage struct {
	Sub, Empty        string
	Rows              []SessionRow
	Agents, Models    []string // to choose from
	Agent, Model, Day string   // chosen
	Next              string   // link to a longer list
}

// SessionRow is one session of the list.
type SessionRow struct {
	Row            answer.Row
	ID, Href       string
	Agents, Models string
	Read           string // share of billed input that was read from the cache
	Live           bool
	Spark          river.Spark
	Peak           string // the largest window, if it is an estimate
	OfLimit        string // the largest window against the limit of the model
}

// AddPeak adds the windows of the session, a row of session-peaks.
func (r *SessionRow) AddPeak(row answer.Row) {
	peak, limit := row.Number("peak_tokens"), row.Number("limit_tokens")
	if peak == nil {
		return
	}
	r.Spark = river.DrawSpark(row.Numbers("peaks"), limit)
	if row["billed"] != true {
		r.Peak = spaced(*peak) + " estimated"
	}
	if limit != nil {
		r.OfLimit = percent(*peak, *limit) + " of " + river.Short(*limit)
	}
}

// ReadShare returns the share of a session's input that was read from the cache, empty if unknown.
func ReadShare(row answer.Row) string {
	read := row.Number("cache_read")
	if read == nil {
		return ""
	}
	return percent(*read, *read+row.Count("uncached_input")+row.Count("cache_written"))
}

// Table is a table of rows of a query.
type Table struct {
	Name, About string
	Columns     []Cell
	Rows        [][]Cell
}

// Cell is one cell or head of a table.
type Cell struct {
	Text, Name string
	Href       string
	Class      string // num, moment or long; empty for other texts
}

// TablesPage is the content of a page of tables.
type TablesPage struct {
	Heading, Sub string
	Tables       []Table
}

// EvidencePage is the content of the page about evidence.
type EvidencePage struct {
	TablesPage
	Session string // of the completeness, and of a pack that is made; empty without a session
	Tenant  string
	Buttons bool
	Why     string // there are no buttons
}

// QuestionPage is the content of the page of a named query.
type QuestionPage struct {
	TablesPage
	Action    string
	Fields    []Field
	Plot      *Plot // nil if no chart fits
	SQL       string
	CSV, JSON string // links; empty before the question was asked
}

// SQLPage is the content of the page for statements of one's own.
type SQLPage struct {
	TablesPage
	Statement, Problem string
	Views              []migrate.View
}

// Field is an input for a parameter.
type Field struct {
	queries.Parameter
	Value string
}

// Section is a part of the catalogue.
type Section struct {
	Name    string
	Queries []queries.Query
}

// Link is a link with a note.
type Link struct{ Href, Text, Note string }

// LinksPage is the content of a page that offers choices.
type LinksPage struct {
	Heading, Sub string
	Links        []Link
}

// ErrorPage is the content of a page about an error.
type ErrorPage struct {
	Heading, Text, Command string
	Links                  []Link
}

// DifferencePage is the content of the page of two windows.
type DifferencePage struct {
	D                      windowview.Difference
	Facts                  []Fact
	Changes                []Change
	Kept                   int
	Strips                 []Call // of the two windows; none if no block has a size
	Breaks                 []Break
	Between                bool   // the windows are of one thread, so that Breaks are known
	Before, After, Session string // links
}

// Break is a call that could not read from the cache what the call before left there.
type Break struct {
	river.Call
	Href string
	Cost string // of the break; empty if it is not known
}

// AddBreaks adds the breaks among the calls after the first window up to the second one, and what they
// cost.
func (p *DifferencePage) AddBreaks(calls []river.Call, href func(river.Call) string) {
	p.Between = true
	var cost float64
	var lost int64
	currency, priced := "", false
	for _, c := range calls {
		if c.Cause == "append" || c.Cause == "first" || c.Cause == "" {
			continue
		}
		b := Break{Call: c, Href: href(c)}
		if c.BreakCost != nil && *c.BreakCost > 0 {
			b.Cost, cost, currency, priced = money(*c.BreakCost, c.Currency), cost+*c.BreakCost, c.Currency, true
		}
		if paid := c.PaidAgain(); paid != nil {
			lost += *paid
		}
		p.Breaks = append(p.Breaks, b)
	}
	if lost > 0 {
		p.Facts = append(p.Facts, Fact{Value: number(lost), About: "tokens paid again after breaks of the cache on the way", Warn: true})
	}
	if priced {
		p.Facts = append(p.Facts, Fact{Value: template.HTML(template.HTMLEscapeString(money(cost, currency))), About: "cost of these breaks", Warn: true})
	}
}

// Change is a row of the table of changed blocks.
type Change struct {
	windowview.Change
	Layer, Class, What string
}

// Difference prepares the comparison of two windows.
func Difference(d windowview.Difference) DifferencePage {
	p := DifferencePage{D: d}
	for _, c := range d.Changes {
		if c.Kind == windowview.Kept {
			p.Kept++
			continue
		}
		b := c.After
		if b == nil {
			b = c.Before
		}
		p.Changes = append(p.Changes, Change{c, words(b.Layer), "l-" + string(river.LayerOf(b.Layer)), shorten(b.What())})
	}
	for _, w := range []windowview.Window{d.Before, d.After} {
		if s := river.DrawStrip(w); len(s.Blocks) > 0 {
			p.Strips = append(p.Strips, Call{Window: w, Strip: river.Marked(s, d.Common)})
		}
	}
	add := func(n *int64, about string) {
		if n != nil {
			p.Facts = append(p.Facts, Fact{Value: known(n), About: about})
		}
	}
	if d.FirstChanged != nil {
		add(d.FirstChanged, "first position that differs")
	}
	add(d.Common, "tokens in the common prefix")
	add(d.Expected, "tokens to compute again, expected")
	add(d.New, "of these are new")
	add(d.Penalty, "of these were there before")
	if d.Adjacent {
		add(d.Recomputed, "tokens that were not read from the cache, as billed")
	}
	return p
}

// Quiet reports whether a column of a query is not worth the room on a page: it has the same
// value in all rows, which the page has already.
func Quiet(name string) bool { return slices.Contains([]string{"tenant", "session_id"}, name) }

// Text writes a value of a row for a cell.
func Text(row answer.Row, column string) string {
	if n := row.Number(column); n != nil {
		return spaced(*n)
	}
	if f := row.Float(column); f != nil {
		if math.Abs(*f) >= 1000 && math.Abs(*f) < 1e15 {
			return spaced(int64(math.Round(*f)))
		}
		return fmt.Sprintf("%.4g", *f)
	}
	if at := row.Moment(column); !at.IsZero() {
		return stamp(at)
	}
	return ui.Shorten(row.Text(column), 160)
}
