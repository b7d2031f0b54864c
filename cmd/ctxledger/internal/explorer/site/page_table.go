package site

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/river"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/source"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/view"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/queries"
)

// table asks a named query for a page. Ids are links.
func table(r *http.Request, l *ledger.Ledger, name string, arguments map[string]string) (view.Table, error) {
	q, err := queries.Get(name)
	if err != nil {
		return view.Table{}, err
	}
	rows, err := answer.Ask(r.Context(), l, name, arguments)
	if err != nil {
		return view.Table{}, err
	}
	return tableOf(q, rows, arguments), nil
}

// tableOf returns the answer to a query as a table.
func tableOf(q queries.Query, rows []answer.Row, arguments map[string]string) view.Table {
	t := view.Table{Name: q.Title, About: q.About}
	columns := slices.DeleteFunc(slices.Clone(q.Columns), func(c queries.Column) bool { return view.Quiet(c.Name) && arguments[c.Name] != "" })
	for _, c := range columns {
		t.Columns = append(t.Columns, view.Cell{Name: strings.ReplaceAll(c.Name, "_", " "), Class: classOf(c, "")})
	}
	for _, row := range rows {
		var cells []view.Cell
		for _, c := range columns {
			text := view.Text(row, c.Name)
			cell := view.Cell{Text: text, Class: classOf(c, text)}
			if kind, isID := strings.CutSuffix(c.Name, "_id"); isID && slices.Contains([]string{"session", "turn", "call"}, kind) && row.Text(c.Name) != "" {
				session := row.Text("session_id")
				if session == "" {
					session = arguments["session_id"]
				}
				cell.Href = hrefOf(kind, row.Text(c.Name), row.Text("tenant"), session)
			}
			cells = append(cells, cell)
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// longText is the number of characters from which a text gets a wide column.
const longText = 40

// classOf returns the class of a cell with a text.
func classOf(c queries.Column, text string) string {
	switch {
	case slices.Contains([]string{"tokens", "count", "seconds", "currency", "ratio", "bytes", "position", "entries"}, c.Unit):
		return "num"
	case c.Unit == "time":
		return "moment"
	case len(text) > longText && strings.Contains(text, " "):
		return "long"
	}
	return ""
}

// tables asks several named queries for a page, two at a time.
func tables(r *http.Request, l *ledger.Ledger, arguments map[string]string, names ...string) ([]view.Table, error) {
	list := make([]view.Table, len(names))
	g, ctx := errgroup.WithContext(r.Context())
	g.SetLimit(2)
	r = r.WithContext(ctx)
	for i, name := range names {
		g.Go(func() (err error) {
			list[i], err = table(r, l, name, arguments)
			return err
		})
	}
	return list, g.Wait()
}

// compactions shows what the compactions of a session kept and lost.
func (s *site) compactions(r *http.Request, l *ledger.Ledger) (shown, error) {
	p := source.Place{Tenant: r.URL.Query().Get("tenant"), Session: r.PathValue("session")}
	known, err := source.Known(r.Context(), l, p)
	if err != nil {
		return shown{}, err
	}
	p.Tenant = known.Text("tenant")
	arguments := map[string]string{"session_id": p.Session, "tenant": p.Tenant}
	content := view.CompactionsPage{Session: hrefOf("session", p.Session, p.Tenant, ""), ID: p.Session}
	var answers river.Answers
	names := []string{"compaction-quality", "compaction-lineage", "compacted-then-read"}
	rows := make([][]answer.Row, len(names))
	g, ctx := errgroup.WithContext(r.Context())
	g.SetLimit(2)
	g.Go(func() (err error) {
		answers, err = source.Answers(ctx, l, p, func() (answer.Row, error) { return known, nil })
		return err
	})
	for i, name := range names {
		g.Go(func() (err error) {
			rows[i], err = answer.Ask(ctx, l, name, arguments)
			return err
		})
	}
	g.Go(func() (err error) {
		content.Tables, err = tables(r.WithContext(ctx), l, arguments, "elided-then-read", "compaction-boundaries", "goals-kept")
		return err
	})
	if err := g.Wait(); err != nil {
		return shown{}, err
	}
	content.Cuts, content.Keys = view.CompactionsOf(answers, rows[0], rows[1], rows[2],
		func(c river.Call) string { return callHref(p.Tenant, p.Session, c.Turn, c.Call) },
		func(turn, item string) string { return itemHref(p, turn)(item) })
	return shown{kind: "compactions", page: view.Page{Title: "Compactions", Nav: "sessions", Content: content}}, nil
}

// questions lists the catalogue.
func (s *site) questions(*http.Request, *ledger.Ledger) (shown, error) {
	var list []view.Section
	for _, name := range queries.Sections {
		section := view.Section{Name: name}
		for _, q := range queries.All() {
			if q.Section == name {
				section.Queries = append(section.Queries, q)
			}
		}
		list = append(list, section)
	}
	return shown{kind: "questions", page: view.Page{Title: "Questions", Nav: "questions", SQL: s.SQL, Content: list}}, nil
}

// question asks a named query with the values of a form.
func (s *site) question(r *http.Request, l *ledger.Ledger) (shown, error) {
	name, given := r.PathValue("name"), r.URL.Query()
	q, err := queries.Get(name)
	if err != nil {
		return shown{}, err
	}
	content := view.QuestionPage{TablesPage: view.TablesPage{Heading: q.Title, Sub: q.About}, Action: "/q/" + url.PathEscape(name), SQL: q.SQL}
	arguments, ready := make(map[string]string), true
	for _, p := range q.Parameters {
		value := given.Get(p.Name)
		if value != "" {
			arguments[p.Name] = value
		} else if !p.Required {
			value = p.Default
		}
		ready = ready && (value != "" || !p.Required)
		content.Fields = append(content.Fields, view.Field{Parameter: p, Value: value})
	}
	if ready && given.Get("run") != "" {
		rows, err := answer.Ask(r.Context(), l, name, arguments)
		if err != nil {
			return shown{}, err
		}
		content.Plot = view.PlotOf(q, rows)
		t := tableOf(q, rows, arguments)
		t.Name, t.About = "Answer", ui.Plural(len(rows), "row")
		content.Tables = []view.Table{t}
		values := url.Values{}
		for k, v := range arguments {
			values.Set(k, v)
		}
		content.JSON = with("/api/v1/queries/"+url.PathEscape(name), values)
		values.Set("format", "csv")
		content.CSV = with("/api/v1/queries/"+url.PathEscape(name), values)
	}
	return shown{kind: "question", page: view.Page{Title: q.Title, Nav: "questions", Content: content}}, nil
}
