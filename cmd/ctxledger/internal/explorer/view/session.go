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
}

// Chart is one thread with its drawings.
type Chart struct {
	Name string // empty for the only thread
	river.Chart
	Bill    river.BillChart
	HasBill bool
	Hits    []Hit
	// LimitFirst puts the label of the limit at the first call, because the selected call is where it
	// would be.
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

// Of prepares a session. The selected call is the last one of the turn, or the largest one if the
// turn is empty or unknown. The link of a call is given by href.
func Of(a river.Answers, turn string, href func(river.Call) string) Session {
	r := river.Of(a)
	s := Session{River: r, Redactions: a.Redactions, Gaps: a.Gaps, Selected: selected(r, turn)}
	s.Title, s.Sub = titles(r)
	s.Facts = facts(r)
	for i, t := range r.Threads {
		height := river.MainHeight
		if i > 0 {
			height = river.SmallHeight
		}
		s.Charts = append(s.Charts, s.chart(t, height, href))
		s.Cuts = append(s.Cuts, t.Cuts...)
	}
	slices.SortStableFunc(s.Cuts, func(a, b river.Cut) int { return a.At.Compare(b.At) })
	for _, c := range r.All() {
		s.Calls = append(s.Calls, CallRow{c, href(c)})
	}
	return s
}

// selected returns the number of the selected call, 0 if there is no call.
func selected(r river.River, turn string) (number int) {
	var top int64
	last := 0
	for _, c := range r.All() {
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
	c := Chart{Chart: t.Draw(height)}
	c.Bill, c.HasBill = t.DrawBill()
	if len(s.River.Threads) > 1 {
		c.Name = words(cmp.Or(t.Agent, t.ID))
		if t.ParentRun != "" {
			c.Name = "child run " + words(t.Run) + ", agent " + words(t.Agent)
		}
	}
	for _, column := range c.Columns {
		call := column.Call
		title := fmt.Sprintf("call %d", call.Number)
		if at := clock(call.At); at != "" {
			title += ", " + at
		}
		title += fmt.Sprintf(": %s tokens", spaced(call.Top()))
		if call.Billed == nil {
			title += ", estimated"
		}
		selected := call.Number <= s.Selected && s.Selected <= column.Last && holds(t, s.Selected)
		c.LimitFirst = c.LimitFirst || selected && column.X+column.Width > river.Width-limitLabel
		c.Hits = append(c.Hits, Hit{X: column.X, Width: column.Width, Height: height, Number: call.Number, Last: column.Last, Href: href(call), Title: title, Selected: selected})
	}
	return c
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
	sub += fmt.Sprintf(" · %s in %s", plural(r.Calls, "call"), plural(int(r.Turns), "turn"))
	if r.Windowless > 0 {
		sub += fmt.Sprintf(" · %s without a recorded window, not drawn", plural(r.Windowless, "call"))
	}
	return title, sub
}
