// Package turn answers the queries window, call-size and why in a fraction of the time. It
// reads the rows of the session by simple selects in parallel, and combines them here.
//
// The server takes longer to plan the three queries, which join and nest a dozen selects, than
// to run them. The statements stay in the catalogue for SQL clients. [Query] answers window and
// why as the commands do, and tests compare both, column by column. Half of the time of a
// simple select is planning. Each select therefore has plain columns and few functions, and
// values are derived from the rows here. Nothing is asked first to save selects, such as which
// tables have rows of the session: finding that out takes as long as it saves.
package turn

import (
	"context"
	"embed"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"golang.org/x/sync/errgroup"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/queries"
)

//go:embed sql/*.sql
var files embed.FS

// reader reads rows of one session.
type reader struct {
	ledger *ledger.Ledger
	given  map[string]string // parameters
	limits read.Limits       // of each select
}

// newReader checks the arguments like the arguments of a query.
func newReader(l *ledger.Ledger, query string, arguments map[string]string) (reader, error) {
	q, err := queries.Get(query)
	if err != nil {
		return reader{}, err
	}
	given, err := q.Bind(arguments)
	return reader{ledger: l, given: given, limits: read.DefaultLimits()}, err
}

// with returns a reader with more parameters, names and values by turns.
func (r reader) with(more ...string) reader {
	r.given = maps.Clone(r.given)
	for i := 0; i < len(more); i += 2 {
		r.given[more[i]] = more[i+1]
	}
	return r
}

// into returns a function that reads all rows of a statement into list.
func into[T any](ctx context.Context, r reader, list *[]T, name string) func() error {
	return func() error {
		sql, err := r.statement(name)
		if err != nil {
			return err
		}
		return read.Of(r.ledger).SelectSession(ctx, list, sql, r.given, r.limits)
	}
}

// statement is the text of a statement. Lines about an absent tenant or time, or about sources
// that no other tells better, are left out, since the server would plan them, too.
func (r reader) statement(name string) (string, error) {
	text, err := files.ReadFile("sql/" + name + ".sql")
	if err != nil {
		return "", err
	}
	var sql strings.Builder
	for line := range strings.Lines(string(text)) {
		if !slices.ContainsFunc([]string{"tenant", "as_of", "retold"}, func(name string) bool { return r.given[name] == "" && strings.Contains(line, "{"+name+":") }) {
			sql.WriteString(line)
		}
	}
	return sql.String(), nil
}

// sequenced is the place of a row in its thread.
type sequenced struct {
	Sequence  *int64 `ch:"sequence"`
	StreamSeq uint64 `ch:"stream_seq"`
}

// place is the producer's sequence, or the stream's for a producer that keeps none.
func (s sequenced) place() int64 {
	if s.Sequence != nil {
		return *s.Sequence
	}
	return int64(s.StreamSeq)
}

// metadata are the members of the metadata of rows that answers use.
type metadata struct {
	Synthetic bool   `json:"synthetic"`
	Part      uint64 `json:"part"`
}

func readMetadata(text string) (m metadata) {
	if strings.Contains(text, `"synthetic"`) || strings.Contains(text, `"part"`) {
		_ = json.Unmarshal([]byte(text), &m) // what is no such value says nothing
	}
	return m
}

// together runs reads side by side.
func together(reads ...func() error) error {
	var g errgroup.Group
	for _, read := range reads {
		g.Go(read)
	}
	return g.Wait()
}

// at is the element of a list whose first is 1, as the server counts; empty outside
// of it.
func at[T any](list []T, i int) (element T) {
	if i > 0 && i <= len(list) {
		return list[i-1]
	}
	return element
}
