package bench

import (
	"embed"
	"strings"
)

//go:embed sql/*.sql
var files embed.FS

// statement returns the SQL of a name.
func statement(name string) string {
	text, err := files.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err) // a name that the code made up
	}
	return strings.TrimSpace(string(text))
}
