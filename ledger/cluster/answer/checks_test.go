package answer

import (
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/queries"
)

// TestChangesFitTheChecks: the statements of the checks have the parts that a cluster replaces, and the
// query has each check once.
func TestChangesFitTheChecks(t *testing.T) {
	t.Parallel()
	q, err := queries.Get("checks")
	if err != nil {
		t.Fatal(err)
	}
	for name := range changes {
		text, err := crossing(new(ledger.Ledger).SQL(files), name)
		if err != nil || strings.Contains(text, "FROM ledger_head") || strings.Contains(text, "{elsewhere}") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		if n := strings.Count(q.SQL, checked+name+ofTenant); n != 1 {
			t.Errorf("the query has the check %s %d times", name, n)
		}
	}
}
