package demo

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// LeakSQL counts the events, and the events that hold the value of the parameter secret.
//
//go:embed sql_leak.sql
var LeakSQL string

// An Analysis is a question with the statement that answers it.
type Analysis struct{ Question, SQL string }

// Analyses returns the questions of the demo, in order.
func Analyses() ([]Analysis, error) {
	names, err := fs.Glob(sqlFiles, "sql/*.sql")
	if err != nil {
		return nil, err
	}
	list := make([]Analysis, len(names))
	for i, name := range names {
		text, err := sqlFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		question, sql, _ := strings.Cut(strings.TrimPrefix(string(text), "-- "), "\n")
		list[i] = Analysis{question, strings.TrimSpace(sql)}
	}
	return list, nil
}
