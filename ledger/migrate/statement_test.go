package migrate

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
		if got := Split(text); !slices.Equal(got, want) {
			t.Errorf("%q splits into %q, want %q", text, got, want)
		}
	}
}
