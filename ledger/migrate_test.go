package ledger

import (
	"slices"
	"testing"
)

func TestSplitStatements(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                                       nil,
		" -- only a comment; with a semicolon\n": nil,
		"SELECT 1":                               {"SELECT 1"},
		"SELECT 1; SELECT 2;\n":                  {"SELECT 1", "SELECT 2"},
		"SELECT ';\n'; SELECT 2":                 {"SELECT ';\n'", "SELECT 2"},
		`SELECT 'it''s; \'so;', ";", ` + "`;`":   {`SELECT 'it''s; \'so;', ";", ` + "`;`"},
		"SELECT 1 -- one; really\n, 2;":          {"SELECT 1 \n, 2"},
		"SELECT /* ; 'x */ 1;;":                  {"SELECT  1"},
		"SELECT '-- no comment', '/* nor */'":    {"SELECT '-- no comment', '/* nor */'"},
		"SELECT 'open; ":                         {"SELECT 'open;"},
	} {
		if got := splitStatements(text); !slices.Equal(got, want) {
			t.Errorf("%q splits into %q, want %q", text, got, want)
		}
	}
}

// shape is what the database consists of.
func shape(t *testing.T, l *Ledger) []string {
	t.Helper()
	rows, err := l.conn.Query(t.Context(), "SELECT replaceAll(create_table_query, currentDatabase(), 'db') FROM system.tables WHERE database = currentDatabase() ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// TestMigrateFromAnyInterruption has each migration cut off in the middle and applied
// again, in a ledger that is held against one in which nothing was cut off.
func TestMigrateFromAnyInterruption(t *testing.T) {
	t.Parallel()
	whole, cut := empty(t), empty(t)
	for _, m := range Migrations() {
		if err := whole.apply(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if err := cut.exec(t.Context(), m.Statements[:(len(m.Statements)+1)/2]); err != nil {
			t.Fatal(err)
		}
		if err := cut.apply(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if got, want := shape(t, cut), shape(t, whole); !slices.Equal(got, want) {
			t.Errorf("after %s the database has %d tables and views that differ from the %d of one that nothing interrupted", m.Name, len(got), len(want))
		}
	}
}

// TestMigrateGoesOn: what is there and recorded is left as it is, what is half done and
// not recorded is done again, and so is what follows.
func TestMigrateGoesOn(t *testing.T) {
	t.Parallel()
	want := shape(t, migrated(t))
	all := Migrations()
	for _, i := range []int{0, len(all) / 2, len(all) - 1} {
		t.Run(all[i].Name, func(t *testing.T) {
			t.Parallel()
			l := empty(t)
			for _, earlier := range all[:i] {
				if err := l.apply(t.Context(), earlier); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.exec(t.Context(), all[i].Statements[:(len(all[i].Statements)+1)/2]); err != nil {
				t.Fatal(err)
			}
			applied, err := l.Migrate(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(applied) != len(all)-i || applied[0] != all[i].Name {
				t.Errorf("applied %v, want all from %s on", applied, all[i].Name)
			}
			if got := shape(t, l); !slices.Equal(got, want) {
				t.Errorf("the database has %d tables and views that differ from a fresh one's %d", len(got), len(want))
			}
			if applied, err := l.Migrate(t.Context()); err != nil || len(applied) != 0 {
				t.Errorf("a second migration applied %v, %v", applied, err)
			}
			if pending, err := l.Pending(t.Context()); err != nil || len(pending) != 0 {
				t.Errorf("pending %v, %v", pending, err)
			}
		})
	}
}

func TestPendingOnAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	pending, err := empty(t).Pending(t.Context())
	if err != nil || len(pending) != len(Migrations()) {
		t.Errorf("pending %v, %v; want all", pending, err)
	}
}
