package view

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/queries"
)

// TestPlotFits: the chart of an answer depends on what its rows are ordered by.
func TestPlotFits(t *testing.T) {
	t.Parallel()
	column := func(name, unit string) queries.Column { return queries.Column{Name: name, Unit: unit} }
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	var daily, calls, named, negative []answer.Row
	for i := range 6 {
		daily = append(daily, answer.Row{"bucket": at.Add(time.Duration(i) * 24 * time.Hour), "layer": "user", "tokens": int64(10 + i)},
			answer.Row{"bucket": at.Add(time.Duration(i) * 24 * time.Hour), "layer": "tool_results", "tokens": int64(5)})
		calls = append(calls, answer.Row{"call_id": fmt.Sprint("c", i), "tokens": int64(i * i)})
		named = append(named, answer.Row{"model": fmt.Sprint("m", i), "calls": int64(i), "small": int64(7), "tokens": int64(100 - i), "other": int64(i)})
		negative = append(negative, answer.Row{"model": fmt.Sprint("m", i), "tokens": int64(i - 3)})
	}
	withoutTime := append([]answer.Row{{"bucket": nil, "layer": "user", "tokens": int64(1)}}, daily...)
	for name, test := range map[string]struct {
		columns        []queries.Column
		rows           []answer.Row
		title, note    string
		columnsDrawn   int
		beams, colours int
	}{
		"layers over time":      {[]queries.Column{column("bucket", "time"), column("layer", "text"), column("tokens", "tokens")}, daily, "tokens by bucket", "", 6, 0, 2},
		"a row without a time":  {[]queries.Column{column("bucket", "time"), column("layer", "text"), column("tokens", "tokens")}, withoutTime, "tokens by bucket", "1 row without a time left out", 6, 0, 2},
		"calls":                 {[]queries.Column{column("call_id", "id"), column("tokens", "tokens")}, calls, "tokens by call", "", 6, 0, 1},
		"ordered by tokens":     {[]queries.Column{column("tenant", "id"), column("model", "text"), column("other", "tokens"), column("tokens", "tokens"), column("calls", "count")}, named, "tokens by model", "", 0, 6, 0},
		"not below zero":        {[]queries.Column{column("model", "text"), column("tokens", "tokens")}, negative, "", "", 0, 0, 0},
		"one row has no chart":  {[]queries.Column{column("model", "text"), column("tokens", "tokens")}, named[:1], "", "", 0, 0, 0},
		"a name is needed":      {[]queries.Column{column("tokens", "tokens")}, named, "", "", 0, 0, 0},
		"all the same is drawn": {[]queries.Column{column("model", "text"), column("small", "tokens")}, named, "small by model", "", 0, 6, 0},
	} {
		p := PlotOf(queries.Query{Columns: test.columns}, test.rows)
		if p == nil {
			p = new(Plot)
		}
		if p.Title != test.title || p.Note != test.note || len(p.Plot.Places) != test.columnsDrawn || len(p.Beams) != test.beams || len(p.Plot.Shapes) != test.colours {
			t.Errorf("%s: %q, %q, %d columns of %d colours, %d beams", name, p.Title, p.Note, len(p.Plot.Places), len(p.Plot.Shapes), len(p.Beams))
		}
	}
	many := make([]answer.Row, 100)
	for i := range many {
		many[i] = answer.Row{"file": fmt.Sprintf("<script>%d", i), "tokens": int64(i)}
	}
	p := PlotOf(queries.Query{Columns: []queries.Column{column("file", "text"), column("tokens", "tokens")}}, many)
	var page bytes.Buffer
	if err := (Page{Content: QuestionPage{Plot: p}}).Write(&page, "question"); err != nil {
		t.Fatal(err)
	}
	if text := page.String(); p.Note != "the first 30 of 100 rows" || strings.Count(text, "&lt;script&gt;") != 30 || strings.Contains(text, "<script>") {
		t.Errorf("the beams are %q:\n%.600s", p.Note, text)
	}
}
