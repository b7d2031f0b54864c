package queries

import (
	_ "embed" // the two files below
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed views.txt
var viewList string

//go:embed columns.txt
var columnList string

// A View is one of the documented views, which named queries and SQL of a user's
// own read.
type View struct {
	Name    string
	Title   string // what a row is
	Columns []ViewColumn
}

// A ViewColumn is one column of a view.
type ViewColumn struct {
	Column
	Type string // ClickHouse's, such as Nullable(Int64)
}

// viewHead stands in views.txt for the columns that every view of facts begins
// with: those of the first view, up to the last correlation id.
const (
	viewHead     = "HEAD"
	lastHeadName = "root_run_id"
)

// views is read once. What does not fit together is a programming error, found by
// the first test.
var views = sync.OnceValue(func() []View {
	list, err := parseViews(viewList, columnList)
	if err != nil {
		panic("queries: " + err.Error())
	}
	return list
})

// Views returns every documented view: those of facts first, then those that
// answer a question, then the standing checks.
func Views() []View { return slices.Clone(views()) }

// GetView returns the view of that name, and false where there is none.
func GetView(name string) (View, bool) {
	i := slices.IndexFunc(views(), func(v View) bool { return v.Name == name })
	if i < 0 {
		return View{}, false
	}
	return views()[i], true
}

// parseViews reads views.txt with the meanings in columns.txt.
func parseViews(list, meanings string) ([]View, error) {
	known := make(map[string]Column)
	for line := range strings.Lines(meanings) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		fields := fieldGap.Split(line, 3)
		if len(fields) != 3 {
			return nil, fmt.Errorf("column %q: want name, unit and meaning", line)
		}
		known[fields[0]] = Column{Name: fields[0], Unit: fields[1], About: fields[2]}
	}
	var all []View
	for line := range strings.Lines(list) {
		line = strings.TrimRight(line, "\n")
		fields := fieldGap.Split(strings.TrimSpace(line), 2)
		switch {
		case fields[0] == "" || line[0] == '#':
		case line[0] != ' ':
			if len(fields) != 2 {
				return nil, fmt.Errorf("view %s: want its name and what a row is", line)
			}
			all = append(all, View{Name: fields[0], Title: fields[1]})
		case fields[0] == viewHead:
			all[len(all)-1].Columns = slices.Clone(headOf(all[0]))
		case len(fields) != 2:
			return nil, fmt.Errorf("column %q: want its name and type", line)
		default:
			v := &all[len(all)-1]
			meaning, ok := known[v.Name+"."+fields[0]]
			if !ok {
				meaning, ok = known[fields[0]]
			}
			if !ok {
				return nil, fmt.Errorf("%s.%s: columns.txt does not say what it means", v.Name, fields[0])
			}
			meaning.Name = fields[0]
			v.Columns = append(v.Columns, ViewColumn{meaning, fields[1]})
		}
	}
	return all, nil
}

func headOf(first View) []ViewColumn {
	end := slices.IndexFunc(first.Columns, func(c ViewColumn) bool { return c.Name == lastHeadName })
	return first.Columns[:end+1]
}
