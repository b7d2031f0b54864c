package ask

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/ledger/migrate"
	"github.com/ctxledger/ctxledger/queries"
)

// The messages of the server about unknown names.
var (
	viewMessage   = regexp.MustCompile("(?i)unknown table(?: expression)?(?: identifier)? ['`]([^'`]+)['`]|table \\S*?\\.([A-Za-z0-9_]+) does not exist")
	columnMessage = regexp.MustCompile("(?i)(?:unknown (?:expression )?identifier|missing columns:) [`']([^`']+)[`']")
)

func unknownView(err error) (name string, ok bool) {
	m := viewMessage.FindStringSubmatch(err.Error())
	if m == nil {
		return "", false
	}
	return strings.TrimPrefix(m[1]+m[2], "ctxledger."), true
}

func unknownColumn(err error) (name string, ok bool) {
	m := columnMessage.FindStringSubmatch(err.Error())
	if m == nil {
		return "", false
	}
	return m[1], true
}

func viewNames() (names []string) {
	for _, v := range migrate.Views() {
		names = append(names, v.Name)
	}
	return names
}

// known reports whether the ledger should have a view of that name.
func known(view string) bool { return slices.Contains(viewNames(), view) }

// columnNames lists the columns of the views that a statement names, or of all views.
func columnNames(sql string) (names []string) {
	add := func(all bool) {
		for _, v := range migrate.Views() {
			if !all && !regexp.MustCompile(`\b`+v.Name+`\b`).MatchString(sql) {
				continue
			}
			for _, c := range v.Columns {
				if !slices.Contains(names, c.Name) {
					names = append(names, c.Name)
				}
			}
		}
	}
	if add(false); len(names) == 0 {
		add(true)
	}
	return names
}

// didYouMean suggests names that look like name. It is empty if none does.
func didYouMean(name string, all []string) string {
	near := queries.Nearest(name, all)
	if len(near) == 0 {
		return ""
	}
	return " (did you mean " + strings.Join(near, ", ") + "?)"
}
