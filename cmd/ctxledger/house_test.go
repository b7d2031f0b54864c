package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTopLevelIsTheHouse(t *testing.T) {
	t.Parallel()
	want := []string{"BENCHMARKS.md", "LICENSE", "README.md", "cmd", "deploy", "go.mod", "go.sum", "ledger", "producer", "projector", "queries", "schema"}
	entries, err := os.ReadDir(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(want, e.Name()) {
			t.Errorf("%s does not belong to the top level", e.Name())
		}
	}
}

// eachSQL calls f with the path and the text of every SQL file of the repository.
func eachSQL(t *testing.T, f func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".sql" {
			return err
		}
		text, err := os.ReadFile(path)
		f(filepath.ToSlash(path), string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestLinesOfSQLAreNarrow(t *testing.T) {
	t.Parallel()
	const limit = 120
	eachSQL(t, func(path, text string) {
		for i, line := range strings.Split(text, "\n") {
			if len(line) > limit {
				t.Errorf("%s:%d has %d bytes; the limit is %d", path, i+1, len(line), limit)
			}
		}
	})
}

// TestEveryRelationHasOneFile: a table, view or check of the ledger is defined in the
// file of its name in ledger/migrate/sql, and nowhere else.
func TestEveryRelationHasOneFile(t *testing.T) {
	t.Parallel()
	const sql = "../../ledger/migrate/sql/"
	create := regexp.MustCompile(`\bCREATE\s+(?:OR REPLACE\s+)?(?:TABLE|VIEW|MATERIALIZED VIEW)\s+(?:IF NOT EXISTS\s+)?([a-z_]\w*)`)
	found := make(map[string][]string)
	eachSQL(t, func(path, text string) {
		for _, m := range create.FindAllStringSubmatch(text, -1) {
			found[m[1]] = append(found[m[1]], path)
		}
	})
	ours := 0
	for name, paths := range found {
		if !slices.ContainsFunc(paths, func(path string) bool { return strings.HasPrefix(path, sql) }) {
			continue
		}
		ours++
		want := []string{sql + "tables/" + name + ".sql", sql + "views/" + name + ".sql"}
		if check, ok := strings.CutPrefix(name, "check_"); ok {
			want = []string{sql + "checks/" + strings.TrimSuffix(check, "_of") + ".sql"}
		}
		if len(paths) != 1 || !slices.Contains(want, paths[0]) {
			t.Errorf("%s is defined in %v; want one of %v alone", name, paths, want)
		}
	}
	if ours < 65 {
		t.Errorf("only %d definitions were found", ours)
	}
}
