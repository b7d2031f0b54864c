package bench

import (
	"embed"
	"strings"
)

//go:embed sql/*.sql
var files embed.FS

// statement returns the SQL statement of a name.
func statement(name string) string {
	text, err := files.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err) // only a wrong name in the code causes this
	}
	return strings.TrimSpace(string(text))
}
