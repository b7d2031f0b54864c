package queries

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

//go:embed *.sql
var files embed.FS

// Sections lists the sections of the catalogue in the order of its table of contents. The slice
// must not be changed.
var Sections = []string{
	"What was used?",
	"What did the model see?",
	"What was chosen, and what was left out?",
	"What was shortened or summarised?",
	"What did the cache cost?",
	"What was withheld, granted or missing?",
	"Is the ledger sound?",
}

// A Query is one named question: its documentation and its statement.
type Query struct {
	Name       string // name of the file, without .sql: lower-case words joined by hyphens
	Title      string // the question
	Section    string // one of [Sections]
	About      string // further sentences; may be empty
	Parameters []Parameter
	Columns    []Column // columns of the result, in order
	First      []string // columns that a narrow table shows before the others; may be empty
	SQL        string   // the whole file, head comment included
}

// A Column is one column of a query's result.
type Column struct {
	Name  string
	Unit  string // tokens, count, seconds, time, id, text, …
	About string
}

// ErrUnknown is wrapped by the error of [Get] for a name that no query has.
var ErrUnknown = errors.New("unknown query")

// UnknownError is the error of [Get]. UnknownError wraps [ErrUnknown].
type UnknownError struct {
	Name    string
	Nearest []string // similar names, the nearest first; may be empty
}

func (e *UnknownError) Error() string {
	if len(e.Nearest) == 0 {
		return fmt.Sprintf("%v %q: `ctxledger query list` names them all", ErrUnknown, e.Name)
	}
	return fmt.Sprintf("%v %q: did you mean %s?", ErrUnknown, e.Name, strings.Join(e.Nearest, ", "))
}

func (e *UnknownError) Unwrap() error { return ErrUnknown }

// catalogue is read once. A file that breaks the rules of the package comment is a programming
// error. The first test finds it.
var catalogue = sync.OnceValue(func() []Query {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		panic(err)
	}
	list := make([]Query, 0, len(names))
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			panic(err)
		}
		q, err := parse(strings.TrimSuffix(name, ".sql"), string(text))
		if err != nil {
			panic(fmt.Sprintf("queries/%s: %v", name, err))
		}
		list = append(list, q)
	}
	slices.SortStableFunc(list, func(a, b Query) int {
		return slices.Index(Sections, a.Section) - slices.Index(Sections, b.Section)
	})
	return list
})

// All returns every query, in the order of [Sections] and by name within a section.
func All() []Query { return slices.Clone(catalogue()) }

// Get returns the query of that name. The error is an [*UnknownError].
func Get(name string) (Query, error) {
	for _, q := range catalogue() {
		if q.Name == name {
			return q, nil
		}
	}
	return Query{}, &UnknownError{Name: name, Nearest: nearest(name)}
}
