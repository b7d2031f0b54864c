package view

import (
	"fmt"
	"io"
	"slices"

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

// The parts of a page of the kind "session", for [Page.Write] when the content comes after the head,
// and the end of a page whose content could not be read, which has an [ErrorPage].
const (
	SessionHead = "session-head"
	SessionRest = "session-rest"
	FailedRest  = "failed-rest"
)

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
	Name    string
	Item    history.Item
	Session string // link
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

// QuestionPage is the content of the page of a named query.
type QuestionPage struct {
	TablesPage
	Action    string
	Fields    []Field
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
	Before, After, Session string // links
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
		return fmt.Sprintf("%.4g", *f)
	}
	if at := row.Moment(column); !at.IsZero() {
		return stamp(at)
	}
	return ui.Shorten(row.Text(column), 160)
}
