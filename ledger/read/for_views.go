package read

import (
	"regexp"
	"slices"
	"strings"
)

// endsCondition are the words that can follow a condition.
var endsCondition = strings.Fields("GROUP ORDER HAVING WINDOW QUALIFY LIMIT OFFSET UNION EXCEPT INTERSECT SETTINGS FORMAT")

// tokens are the parts of a statement that forViews tells apart: comments, quoted text, words,
// parentheses, and each other byte.
var tokens = regexp.MustCompile("(?s)--[^\n]*|/\\*.*?\\*/|'(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\"|`(?:[^`\\\\]|\\\\.)*`|[\\w.]+|.")

// aCheck is a check of one tenant.
var aCheck = regexp.MustCompile(`\b(check_\w+)_of\(tenant = ([^()]*)\)`)

// forViews rewrites a statement for the database of a tenant's reader. A view does not support
// PREWHERE, so the condition moves to WHERE. The checks have no parameter there.
func forViews(sql string) string {
	var b strings.Builder
	open := []bool{false} // for each open parenthesis: a condition is open
	end := func() {
		if last := len(open) - 1; open[last] {
			b.WriteByte(')')
			open[last] = false
		}
	}
	for _, token := range tokens.FindAllString(aCheck.ReplaceAllString(sql, "(SELECT * FROM $1 WHERE $2 IN ('', tenant))"), -1) {
		last := len(open) - 1
		word := strings.ToUpper(token)
		switch {
		case word == "PREWHERE":
			token, open[last] = "WHERE (", true
		case word == "WHERE" && open[last]:
			token = ") AND ("
		case slices.Contains(endsCondition, word), token == ";":
			end()
		case token == "(":
			open = append(open, false)
		case token == ")" && last > 0:
			end()
			open = open[:last]
		}
		b.WriteString(token)
	}
	end()
	return b.String()
}
