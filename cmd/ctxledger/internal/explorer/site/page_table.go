package site

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/source"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/view"
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
	return t, nil
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

// tables is a page of the answers of several queries.
func tables(r *http.Request, l *ledger.Ledger, nav, heading, sub string, arguments map[string]string, names ...string) (shown, error) {
	content := view.TablesPage{Heading: heading, Sub: sub}
	for _, name := range names {
		t, err := table(r, l, name, arguments)
		if err != nil {
			return shown{}, err
		}
		content.Tables = append(content.Tables, t)
	}
	return shown{kind: "table", page: view.Page{Title: heading, Nav: nav, Content: content}}, nil
}

// compactions shows what the compactions of a session kept and lost.
func (s *site) compactions(r *http.Request, l *ledger.Ledger) (shown, error) {
	p := source.Place{Tenant: r.URL.Query().Get("tenant"), Session: r.PathValue("session")}
	known, err := source.Known(r.Context(), l, p)
	if err != nil {
		return shown{}, err
	}
	arguments := map[string]string{"session_id": p.Session, "tenant": known.Text("tenant")}
	return tables(r, l, "sessions", "Compactions", "session "+p.Session, arguments, "compaction-quality", "compaction-boundaries", "compaction-lineage", "elided-then-read")
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
		t, err := table(r, l, name, arguments)
		if err != nil {
			return shown{}, err
		}
		t.Name, t.About = "Answer", ""
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
