package read

import (
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/queries"
)

func TestForViews(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"SELECT 1":                    "SELECT 1",
		"SELECT a FROM t PREWHERE a":  "SELECT a FROM t WHERE ( a)",
		"SELECT a FROM t PREWHERE a;": "SELECT a FROM t WHERE ( a);",
		"SELECT a FROM t prewhere a OR b where c OR d order by a":                    "SELECT a FROM t WHERE ( a OR b ) AND ( c OR d )order by a",
		"SELECT a FROM (SELECT a FROM t PREWHERE (a IN (1)) LIMIT 1) WHERE a":        "SELECT a FROM (SELECT a FROM t WHERE ( (a IN (1)) )LIMIT 1) WHERE a",
		"WITH (SELECT a FROM t PREWHERE a) AS x SELECT x UNION ALL SELECT 2":         "WITH (SELECT a FROM t WHERE ( a)) AS x SELECT x UNION ALL SELECT 2",
		"SELECT 'PREWHERE a', \"PREWHERE\", `PREWHERE` /* PREWHERE */ -- PREWHERE\n": "SELECT 'PREWHERE a', \"PREWHERE\", `PREWHERE` /* PREWHERE */ -- PREWHERE\n",
		"SELECT 'it\\'s' FROM t PREWHERE a = ')' WHERE b":                            "SELECT 'it\\'s' FROM t WHERE ( a = ')' ) AND ( b)",
		"SELECT * FROM check_a_b_of(tenant = {tenant:String}) LIMIT 1":               "SELECT * FROM (SELECT * FROM check_a_b WHERE {tenant:String} IN ('', tenant)) LIMIT 1",
		")) PREWHERE ((": ")) WHERE ( ((",
	} {
		if got := forViews(sql); got != want {
			t.Errorf("%s\n got %s\nwant %s", sql, got, want)
		}
	}
	for _, q := range queries.All() {
		if got := forViews(q.SQL); strings.Contains(withoutComments(got), "PREWHERE") || strings.Contains(withoutComments(got), "_of(") {
			t.Errorf("%s is\n%s", q.Name, got)
		}
	}
}

func withoutComments(sql string) string {
	var b strings.Builder
	for line := range strings.Lines(sql) {
		if !strings.HasPrefix(line, "--") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func FuzzForViews(f *testing.F) {
	f.Add("SELECT a FROM t PREWHERE (a WHERE b) -- '")
	f.Fuzz(func(t *testing.T, sql string) {
		if !strings.Contains(strings.ToUpper(sql), "PREWHERE") && !strings.Contains(sql, "check_") && forViews(sql) != strings.ToValidUTF8(sql, "\ufffd") && forViews(sql) != sql {
			t.Errorf("%q became %q", sql, forViews(sql))
		}
	})
}
