package archive

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRestoreNamesEveryTable: a backup copies all tables, and a restore brings them back.
func TestRestoreNamesEveryTable(t *testing.T) {
	t.Parallel()
	definitions, err := filepath.Glob(filepath.Join("..", "migrate", "sql", "tables", "*.sql"))
	if err != nil || len(definitions) == 0 {
		t.Fatal(definitions, err)
	}
	var want, got []string
	for _, path := range definitions {
		want = append(want, strings.TrimSuffix(filepath.Base(path), ".sql"))
	}
	text, err := os.ReadFile(filepath.Join("statements", "restore.sql"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(strings.TrimRight(line, ",\n")); len(fields) == 4 && fields[0] == "TABLE" {
			if fields[1] != "ctxledger."+fields[3] {
				t.Errorf("%s becomes %s", fields[1], fields[3])
			}
			got = append(got, fields[3])
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the restore brings back %q, want %q", got, want)
	}
}
