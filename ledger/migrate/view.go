package migrate

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// A View is the header of a file of views/ or checks/. Named queries and SQL of a user's own
// read views.
type View struct {
	Name    string
	Title   string // definition of a row
	Columns []Column
}

// A Column is one column of a view.
type Column struct {
	Name  string
	Type  string // ClickHouse's, such as Nullable(Int64)
	Unit  string
	About string // meaning
}

const (
	// viewHead is the placeholder in a header for the first columns of every view of facts: the
	// columns of headView up to lastOfHead.
	viewHead   = "HEAD"
	headView   = "recorded_events"
	lastOfHead = "root_run_id"
)

// Views returns every documented view: views of facts first, then views that answer a question,
// then the standing checks.
func Views() []View { return slices.Clone(current().views) }

// GetView returns the view of that name, or false.
func GetView(name string) (View, bool) {
	views := current().views
	i := slices.IndexFunc(views, func(v View) bool { return v.Name == name })
	if i < 0 {
		return View{}, false
	}
	return views[i], true
}

// readViews reads the headers of views, with the meanings in columns.txt.
func (r *release) readViews(sql fs.FS, headers map[string]string) error {
	meanings, err := readMeanings(sql)
	if err != nil {
		return err
	}
	order, err := readList(sql, "catalogue.txt")
	if err != nil {
		return err
	}
	for _, d := range r.definitions {
		if _, ok := headers[d.name]; ok && !slices.Contains(order, d.name) {
			order = append(order, d.name)
		}
	}
	var head []Column
	if head, err = readHead(headers[headView], meanings); err != nil {
		return err
	}
	for _, name := range order {
		text, ok := headers[name]
		if !ok {
			return fmt.Errorf("catalogue.txt: there is no view %s", name)
		}
		v, err := readHeader(text, head, meanings)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		v.Name = name
		r.views = append(r.views, v)
		i := slices.IndexFunc(r.definitions, func(d definition) bool { return d.name == name })
		r.definitions[i].signature = " " + v.columnList() + " COMMENT " + literal(v.Title)
	}
	return nil
}

// columnList returns the columns in parentheses as a CREATE statement takes them, empty for a view
// without columns.
func (v View) columnList() string {
	if len(v.Columns) == 0 {
		return ""
	}
	columns := make([]string, len(v.Columns))
	for i, c := range v.Columns {
		columns[i] = Quote(c.Name) + " " + c.Type + " COMMENT " + literal(c.comment())
	}
	return "(" + strings.Join(columns, ", ") + ")"
}

func (c Column) comment() string { return c.Unit + ": " + c.About }

// readHead returns the columns that replace HEAD.
func readHead(header string, meanings map[string]string) ([]Column, error) {
	v, err := readHeader(header, nil, meanings)
	end := slices.IndexFunc(v.Columns, func(c Column) bool { return c.Name == lastOfHead })
	return v.Columns[:end+1], err
}

// fieldGap parts the fields of a line.
var fieldGap = regexp.MustCompile(`\s{2,}`)

// readHeader reads the first comment of a file. Its first paragraph defines a row. A line for
// each column, indented by three spaces, has its name, type and unit and, unless columns.txt
// has it, its meaning. A line with a larger indent continues the meaning.
func readHeader(text string, head []Column, meanings map[string]string) (v View, err error) {
	title := true
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "--")
		if !ok {
			break
		}
		fields := fieldGap.Split(strings.TrimSpace(comment), 4)
		switch {
		case fields[0] == "":
			title = false
		case title:
			v.Title = strings.TrimSpace(v.Title + comment)
		case !strings.HasPrefix(comment, "   "):
		case strings.HasPrefix(comment, "    ") && len(v.Columns) > 0:
			c := &v.Columns[len(v.Columns)-1]
			c.About = strings.TrimSpace(c.About + " " + strings.TrimSpace(comment))
		case fields[0] == viewHead:
			v.Columns = append(v.Columns, head...)
		case len(fields) < 3:
			return v, fmt.Errorf("column %q: want its name, type and unit", comment)
		default:
			v.Columns = append(v.Columns, Column{Name: fields[0], Type: fields[1], Unit: fields[2], About: strings.Join(fields[3:], "")})
		}
	}
	for i, c := range v.Columns {
		if c.About == "" {
			c.About = meanings[c.Name]
		}
		if c.About == "" {
			return v, fmt.Errorf("neither the header nor columns.txt has the meaning of %s", c.Name)
		}
		v.Columns[i] = c
	}
	return v, nil
}

// readMeanings reads columns.txt: a name and its meaning, with two spaces or more or a line's
// end between them. An indented line continues the meaning.
func readMeanings(sql fs.FS) (map[string]string, error) {
	text, err := fs.ReadFile(sql, "columns.txt")
	if err != nil {
		return nil, err
	}
	meanings := make(map[string]string)
	name := ""
	for line := range strings.Lines(string(text)) {
		meaning := strings.TrimSpace(line)
		if meaning == "" || meaning[0] == '#' {
			continue
		}
		if line[0] != ' ' {
			fields := fieldGap.Split(meaning, 2)
			name, meaning = fields[0], strings.Join(fields[1:], "")
		}
		meanings[name] = strings.TrimSpace(meanings[name] + " " + meaning)
	}
	return meanings, nil
}
