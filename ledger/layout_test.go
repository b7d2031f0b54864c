package ledger

import (
	"slices"
	"testing"
)

// TestEveryTableOfFactsFindsASession: without the index a session whose tenant is
// not given is looked for in a good part of the table.
func TestEveryTableOfFactsFindsASession(t *testing.T) {
	t.Parallel()
	l := migrated(t)
	list := func(sql string) (names []string) {
		rows, err := l.conn.Query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		return names
	}
	facts := list("SELECT t.name FROM system.tables AS t INNER JOIN system.columns AS c ON c.database = t.database AND c.table = t.name WHERE t.database = currentDatabase() AND t.engine = 'ReplacingMergeTree' AND c.name = 'thread_id' ORDER BY 1")
	indexed := list("SELECT table FROM system.data_skipping_indices WHERE database = currentDatabase() AND name = 'by_session' AND expr = 'session_id' ORDER BY 1")
	if len(facts) < 11 || !slices.Equal(facts, indexed) {
		t.Errorf("the tables of facts are %s; those with by_session are %s", facts, indexed)
	}
}
