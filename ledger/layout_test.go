package ledger

import (
	"slices"
	"testing"
)

// TestEveryTableOfFactsFindsASession: every table has an index for a session without a given
// tenant. A search without this index reads a large part of the table.
func TestEveryTableOfFactsFindsASession(t *testing.T) {
	t.Parallel()
	l := migrated(t)
	facts := namesOf(t, l, "SELECT t.name FROM system.tables AS t INNER JOIN system.columns AS c ON c.database = t.database AND c.table = t.name WHERE t.database = currentDatabase() AND t.engine = 'ReplacingMergeTree' AND c.name = 'thread_id' ORDER BY 1")
	indexed := namesOf(t, l, "SELECT table FROM system.data_skipping_indices WHERE database = currentDatabase() AND name = 'by_session_id' AND expr = 'session_id' AND type_full = 'bloom_filter(0.0001)' ORDER BY 1")
	if len(facts) < 11 || !slices.Equal(facts, indexed) {
		t.Errorf("the tables of facts are %s; those with by_session_id are %s", facts, indexed)
	}
}

// TestNoTableKeepsStatistics: statistics cost insert time, and no query uses them.
func TestNoTableKeepsStatistics(t *testing.T) {
	t.Parallel()
	l := migrated(t)
	all := namesOf(t, l, "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree' ORDER BY 1")
	without := namesOf(t, l, "SELECT name FROM system.tables WHERE database = currentDatabase() AND position(engine_full, 'auto_statistics_types = ''''') > 0 ORDER BY 1")
	if len(all) == 0 || !slices.Equal(all, without) {
		t.Errorf("the tables are %s; those without statistics are %s", all, without)
	}
}

// namesOf returns the single column of a query's answer.
func namesOf(t *testing.T, l *Ledger, sql string) (names []string) {
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
