package view

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/river"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
)

// Fact is one of the figures at the top of a session.
type Fact struct {
	Value template.HTML
	About string
	Warn  bool
}

// Main returns the chart of the thread with the most calls, in a list of one.
func (s Session) Main() []Chart { return s.Charts[:min(1, len(s.Charts))] }

// Others returns the charts of the other threads.
func (s Session) Others() []Chart { return s.Charts[min(1, len(s.Charts)):] }

// Session is the part of a page that shows a session.
type Session struct {
	River      river.River
	Title, Sub string
	Facts      []Fact
	Charts     []Chart
	Calls      []CallRow
	Cuts       []river.Cut
	Redactions []answer.Row
	Gaps       []answer.Row
	Selected   int // number of the call whose column is outlined; 0 for none
	Range      Range
	// Compare is the address that compares two calls, or shows the calls between them. It is empty in
	// a report, which has no server.
	Compare, All string
	Tenant       string
}

// Before returns the number of the call before the selected one.
func (s Session) Before() int { return s.Selected - 1 }

// Range is the part of a session's calls that the charts show.
type Range struct{ From, To int }

// Whole reports whether the charts show all calls.
func (r Range) Whole() bool { return r.From <= 1 && r.To == 0 }

// clip returns the range within n calls. A range without a call is all calls.
func (r Range) clip(n int) Range {
	r.From = max(1, r.From)
	if r.To > n {
		r.To = n
	}
	if r.To == n && r.From == 1 || r.From > n || r.To > 0 && r.To < r.From {
		return Range{1, 0}
	}
	return r
}

// of returns the thread with the calls and cuts of the range.
func (r Range) of(t river.Thread) river.Thread {
	if r.Whole() {
		return t
	}
	outside := func(n int) bool { return n < r.From || r.To > 0 && n > r.To }
	t.Calls = slices.DeleteFunc(slices.Clone(t.Calls), func(c river.Call) bool { return outside(c.Number) })
	t.Cuts = slices.DeleteFunc(slices.Clone(t.Cuts), func(c river.Cut) bool { return outside(c.Next) })
	return t
}

// Chart is one thread with its drawings.
type Chart struct {
	Name  string // empty for the only thread
	Began *Hit   // the call that began the child run, nil if none is known or drawn
	river.Chart
	Bill    river.BillChart
	HasBill bool
	Hits    []Hit
	// LimitFirst puts the label of the limit at the first call, because the selected call or all columns
	// are where it would be.
	LimitFirst bool
}

// Hit is the place of a column that a pointer can hit.
type Hit struct {
	X, Width, Height float64
	Number, Last     int // of its calls
	Href, Title      string
	Selected         bool
}

// CallRow is a call in the table of all calls.
type CallRow struct {
	river.Call
	Href string
}

// Of prepares a session. The selected call is the last one of the turn, or the largest one of the range
// if the turn is empty or unknown. The link of a call is given by href.
func Of(a river.Answers, turn string, within Range, href func(river.Call) string) Session {
	r := river.Of(a)
	within = within.clip(r.Calls)
	s := Session{River: r, Tenant: r.Tenant, Redactions: a.Redactions, Gaps: a.Gaps, Selected: selected(r, turn, within), Range: within}
	s.Title, s.Sub = titles(r)
	s.Facts = facts(r)
	for _, t := range r.Threads {
		s.Cuts = append(s.Cuts, t.Cuts...)
		if t = within.of(t); len(t.Calls) == 0 {
			continue
		}
		height := river.MainHeight
		if len(s.Charts) > 0 {
			height = river.SmallHeight
		}
		s.Charts = append(s.Charts, s.chart(t, height, href))
	}
	slices.SortStableFunc(s.Cuts, func(a, b river.Cut) int { return a.At.Compare(b.At) })
	for _, c := range r.All() {
		s.Calls = append(s.Calls, CallRow{c, href(c)})
	}
	return s
}

// selected returns the number of the selected call, 0 if there is no call.
func selected(r river.River, turn string, within Range) (number int) {
	var top int64
	last := 0
	for _, c := range r.All() {
		if c.Number < within.From || within.To > 0 && c.Number > within.To {
			continue
		}
		if c.Top() > top {
			top, number = c.Top(), c.Number
		}
		if turn != "" && c.Turn == turn {
			last = c.Number
		}
	}
	return cmp.Or(last, number)
}

func (s Session) chart(t river.Thread, height float64, href func(river.Call) string) Chart {
	began := s.began(t)
	x := 0.0
	if began != nil {
		x = began.X
	}
	c := Chart{Chart: t.Draw(height, x), Began: began}
	c.Bill, c.HasBill = t.DrawBill(x)
	if len(s.River.Threads) > 1 {
		c.Name = words(cmp.Or(t.Agent, t.ID))
		if t.ParentRun != "" {
			c.Name = "child run " + words(t.Run) + ", agent " + words(t.Agent)
		}
	}
	c.LimitFirst = x > river.Width/2
	for _, column := range c.Columns {
		call := column.Call
		selected := call.Number <= s.Selected && s.Selected <= column.Last && holds(t, s.Selected)
		c.LimitFirst = c.LimitFirst || selected && column.X+column.Width > river.Width-limitLabel
		c.Hits = append(c.Hits, Hit{X: column.X, Width: column.Width, Height: height, Number: call.Number, Last: column.Last, Href: href(call), Title: s.hover(call), Selected: selected})
	}
	return c
}

// began returns the column of the call that began a child run, in the charts so far.
func (s Session) began(t river.Thread) *Hit {
	for _, c := range s.Charts {
		for _, h := range c.Hits {
			if t.Began > 0 && h.Number <= t.Began && t.Began <= h.Last && holds(c.Thread, t.Began) {
				return &h
			}
		}
	}
	return nil
}

// hover says in a few words what a call held and what it cost: the largest layers first.
func (s Session) hover(call river.Call) string {
	title := fmt.Sprintf("call %d", call.Number)
	if at := clock(call.At); at != "" {
		title += ", " + at
	}
	title += fmt.Sprintf(": %s tokens", spaced(call.Top()))
	if call.Billed == nil {
		title += ", estimated"
	}
	if cost := callCost(call); cost != "" {
		title += ", " + cost
	}
	bands := slices.Clone(call.Bands)
	slices.SortStableFunc(bands, func(a, b river.Band) int { return cmp.Compare(b.Tokens, a.Tokens) })
	for i, b := range bands[:min(4, len(bands))] {
		name := words(string(b.Layer))
		if b.Layer == river.Unexplained {
			name = "not in the log"
		}
		title += []string{" · ", ", "}[min(i, 1)] + name + " " + spaced(b.Tokens)
	}
	return title
}

// limitLabel is the room that the label of a limit takes.
const limitLabel = 100.0

// holds reports whether a call is of the thread.
func holds(t river.Thread, number int) bool {
	return slices.ContainsFunc(t.Calls, func(c river.Call) bool { return c.Number == number })
}

// names are known agents as people write them.
var names = map[string]string{"claude-code": "Claude Code", "codex": "Codex", "swe-agent": "SWE-agent", "openhands": "OpenHands"}

// TitleOf returns the title of a session from its row alone.
func TitleOf(session answer.Row) string {
	title, _ := titles(river.Of(river.Answers{Session: session}))
	return title
}

func titles(r river.River) (title, sub string) {
	agents := make([]string, len(r.Agents))
	for i, a := range r.Agents {
		agents[i] = cmp.Or(names[a], words(a))
	}
	slices.Sort(agents)
	title = cmp.Or(strings.Join(agents, ", "), "Session "+words(r.Session))
	if r.Started.Unix() > 0 {
		from, to := r.Started.UTC().Format("15:04"), r.Ended.UTC().Format("15:04")
		title += ", " + day(r.Started) + ", " + from
		if day(r.Ended) != day(r.Started) {
			to = day(r.Ended) + ", " + to
		}
		if to != from {
			title += " to " + to
		}
		title += " UTC"
	}
	sub = "session " + ui.Shorten(r.Session, 60)
	for _, m := range r.Models {
		sub += " · " + ui.Shorten(m, 40)
	}
	sub += fmt.Sprintf(" · %s in %s", plural(r.Calls+r.Windowless, "call"), plural(int(r.Turns), "turn"))
	if r.Windowless > 0 {
		sub += fmt.Sprintf(" · %d without a recorded window, not drawn", r.Windowless)
	}
	return title, sub
}
