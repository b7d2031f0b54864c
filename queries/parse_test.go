package queries

import (
	"strings"
	"testing"
)

const wellFormed = `-- What is it?
-- Section: What was used?
--
-- Parameters:
--   days  UInt32  days  = 0  [0..9]  how far back
-- Columns:
--   n  count  how many
SELECT {days:UInt32} AS n
`

func TestParseRefusesWhatDrifted(t *testing.T) {
	t.Parallel()
	if q, err := parse("ok", wellFormed); err != nil || len(q.Columns) != 1 || q.Parameters[0].Max != "9" {
		t.Fatalf("%+v, %v", q, err)
	}
	tests := []struct{ old, new, want string }{
		{"{days:UInt32}", "{days:UInt64}", `documented as UInt32 and used as "UInt64"`},
		{"{days:UInt32}", "1", "documented as UInt32"},
		{"AS n", "AS n WHERE {x:String} = ''", "parameter x is not documented"},
		{"= 0", "= 10", "default"},
		{"[0..9]  ", "", "a number needs a range"},
		{"UInt32  days", "Date  days", `type "Date" is not supported`},
		{"What was used?", "Else", "section"},
		{"-- Columns:\n--   n  count  how many\n", "", "no Columns"},
		{"n  count  how", "n count how", "want name, unit and meaning"},
		{"AS n", "AS n; SELECT 2", "one statement"},
	}
	for _, test := range tests {
		text := strings.Replace(wellFormed, test.old, test.new, 1)
		if _, err := parse("ok", text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("with %q for %q: %v, want %q", test.new, test.old, err, test.want)
		}
	}
	if _, err := parse("Not_Ok", wellFormed); err == nil {
		t.Error("a file name with capitals was accepted")
	}
}
