package queries

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed shards.txt
var shardsFile embed.FS

// A Merge tells how the answers of several shards become one.
type Merge struct {
	// Keys are the columns by which the rows of all shards are sorted. There are none for a query
	// that one shard answers.
	Keys []Key
	// Combine tells how rows of one group become one, by column. Rows with equal values in the other
	// columns are a group. It is nil if rows stay as they are.
	Combine map[string]Combination
	// Same means that every shard has the same rows.
	Same bool
}

// A Combination makes one value of the values of several shards.
type Combination string

// The combinations.
const (
	Sum      Combination = "sum"      // of counts
	Earliest Combination = "earliest" // time
	Latest   Combination = "latest"   // time
	OfLatest Combination = "oflatest" // the value of the row with the latest time
	Five     Combination = "five"     // up to five of the texts, sorted
	Least    Combination = "least"    // the first of the texts that are not empty
)

// OfSession reports whether the shard of the parameter session_id answers alone.
func (m Merge) OfSession() bool { return len(m.Keys) == 0 && !m.Same }

// A Key is a column that the rows of a result are sorted by. NULL is last.
type Key struct {
	Column     string
	Descending bool
	Absolute   bool // by the absolute value
}

// Merge returns how the shards of a cluster answer q, or false if they cannot.
func (q Query) Merge() (Merge, bool) {
	m, ok := merges()[q.Name]
	return m, ok
}

// merges are the lines of shards.txt. A wrong line is a programming error. The first test finds it.
var merges = sync.OnceValue(func() map[string]Merge {
	text, err := shardsFile.ReadFile("shards.txt")
	if err != nil {
		panic(err)
	}
	found := make(map[string]Merge)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, m, err := parseMerge(line)
		if err != nil {
			panic(fmt.Sprintf("queries/shards.txt: %q: %v", line, err))
		}
		found[name] = m
	}
	return found
})

func parseMerge(line string) (name string, m Merge, err error) {
	name, rest, _ := strings.Cut(line, " ")
	how, keys, _ := strings.Cut(strings.TrimSpace(rest), " ")
	q, err := Get(name)
	if err != nil {
		return "", m, err
	}
	has := func(column string) bool {
		return slices.ContainsFunc(q.Columns, func(c Column) bool { return c.Name == column })
	}
	switch how {
	case "session":
		if !slices.ContainsFunc(q.Parameters, func(p Parameter) bool { return p.Name == "session_id" }) {
			return "", m, fmt.Errorf("the query has no parameter session_id")
		}
		return name, m, nil
	case "same":
		m.Same = true
		return name, m, nil
	case "groups":
		if slices.ContainsFunc(q.Parameters, func(p Parameter) bool { return p.Name == "limit" }) {
			return "", m, fmt.Errorf("a shard would leave out rows of a group, because the query has a limit")
		}
		var combined string
		keys, combined, _ = strings.Cut(keys, ";")
		if m.Combine, err = parseCombine(combined, has); err != nil {
			return "", m, err
		}
	case "union":
	default:
		return "", m, fmt.Errorf("want union, groups, session or same")
	}
	for text := range strings.SplitSeq(keys, ",") {
		column, direction, _ := strings.Cut(strings.TrimSpace(text), " ")
		k := Key{Column: strings.Trim(column, "|"), Descending: direction == "desc", Absolute: strings.HasPrefix(column, "|")}
		if !has(k.Column) || direction != "" && direction != "desc" {
			return "", m, fmt.Errorf("key %q is no column of the query, or not sorted by desc", text)
		}
		m.Keys = append(m.Keys, k)
	}
	if m.Combine == nil && !m.by("session_id") && !m.by("erasure_id") && !(m.by("recorded_at") && m.by("stream_seq")) {
		return "", m, fmt.Errorf("the keys have neither the session nor an erasure nor the place of a message")
	}
	return name, m, nil
}

// parseCombine reads the columns that groups combine. has reports whether the query has a column.
func parseCombine(text string, has func(string) bool) (map[string]Combination, error) {
	combine := make(map[string]Combination)
	for term := range strings.SplitSeq(text, ",") {
		column, how, _ := strings.Cut(strings.TrimSpace(term), " ")
		known := slices.Contains([]Combination{Sum, Earliest, Latest, OfLatest, Five, Least}, Combination(how))
		if !has(column) || !known {
			return nil, fmt.Errorf("%q is no column of the query with sum, earliest, latest, oflatest, five or least", term)
		}
		combine[column] = Combination(how)
	}
	return combine, nil
}

// by reports whether a column is a key.
func (m Merge) by(column string) bool {
	return slices.ContainsFunc(m.Keys, func(k Key) bool { return k.Column == column })
}
