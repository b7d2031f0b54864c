package shadow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/internal/ledgertest"
	"github.com/google/uuid"
)

// TestDigestOfARowSeesEveryColumn: the digest of a row changes with every column, also between
// empty and unknown values. Sets of tables are compared by this digest.
func TestDigestOfARowSeesEveryColumn(t *testing.T) {
	t.Parallel()
	const digest = "xxh3_128(tuple(%s))"
	for _, name := range []string{"digest", "difference"} {
		if !strings.Contains(chsql.DB{Files: files}.Text(name), fmt.Sprintf(digest, "*")) {
			t.Fatalf("%s has another digest than the one that is tested", name)
		}
	}
	of := func(column string) string { return "sum(" + fmt.Sprintf(digest, column) + ")" }
	l := ledgertest.Open(t)
	if err := l.Write(t.Context(), ledgertest.Batch(t, uuid.New(), 1), 1); err != nil {
		t.Fatal(err)
	}
	var mixed uint64
	err := ledgertest.DB(l).Conn.QueryRow(t.Context(), "SELECT uniqExact("+fmt.Sprintf(digest, "a, b")+") FROM values('a Array(String), b Array(String)', (['x'], ['y']), (['y'], ['x']), (['x', 'y'], []), ([], ['x', 'y']), (['xy'], []))").Scan(&mixed)
	if err != nil || mixed != 5 {
		t.Errorf("rows that differ by where their values stand have %d digests instead of 5, %v", mixed, err)
	}
	var seen int
	for _, table := range ledger.Tables() {
		var columns []struct {
			Name string `ch:"name"`
			Type string `ch:"type"`
		}
		if err := ledgertest.DB(l).Conn.Select(t.Context(), &columns, "SELECT name, type FROM system.columns WHERE database = currentDatabase() AND default_kind NOT IN ('MATERIALIZED', 'ALIAS') AND table = '"+table+"'"); err != nil {
			t.Fatal(err)
		}
		var changes []string
		change := func(where, column, to string) {
			changes = append(changes, fmt.Sprintf("(countIf(%s) > 0, %s != %s)", where, of(column), of(to)))
		}
		for _, c := range columns {
			switch {
			case strings.HasPrefix(c.Type, "Nullable"):
				change(c.Name+" IS NOT NULL", c.Name, "NULL")
				change(c.Name+" IS NULL", c.Name, "ifNull("+c.Name+", defaultValueOfArgumentType(assumeNotNull("+c.Name+")))")
			case strings.HasPrefix(c.Type, "Array(Nullable"):
				change("has("+c.Name+", NULL)", c.Name, "arrayMap(e -> ifNull(e, defaultValueOfArgumentType(assumeNotNull(e))), "+c.Name+")")
				fallthrough
			default:
				change(c.Name+" != defaultValueOfArgumentType("+c.Name+")", c.Name, "defaultValueOfArgumentType("+c.Name+")")
			}
		}
		rows, err := ledgertest.DB(l).Conn.Query(t.Context(), "SELECT change.1, change.2 FROM (SELECT arrayJoin(["+strings.Join(changes, ",\n")+"]) AS change FROM "+table+")")
		if err != nil {
			t.Fatal(table, err)
		}
		for i := 0; rows.Next(); i++ {
			var changed, found uint8
			if err := rows.Scan(&changed, &found); err != nil {
				t.Fatal(err)
			}
			if changed != found {
				t.Errorf("%s: the rows are changed: %d, the digest sees it: %d, by %s", table, changed, found, changes[i])
			}
			seen += int(changed)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(table, err)
		}
	}
	if seen < 500 {
		t.Errorf("only %d columns had something to change", seen)
	}
}
