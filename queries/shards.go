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
	// Same means that every shard has the same rows.
	Same bool
}

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
	case "union":
	default:
		return "", m, fmt.Errorf("want union, session or same")
	}
	for text := range strings.SplitSeq(keys, ",") {
		column, direction, _ := strings.Cut(strings.TrimSpace(text), " ")
		k := Key{Column: strings.Trim(column, "|"), Descending: direction == "desc", Absolute: strings.HasPrefix(column, "|")}
		if !has(k.Column) || direction != "" && direction != "desc" {
			return "", m, fmt.Errorf("key %q is no column of the query, or not sorted by desc", text)
		}
		m.Keys = append(m.Keys, k)
	}
	if !m.by("session_id") && !(m.by("recorded_at") && m.by("stream_seq")) {
		return "", m, fmt.Errorf("the keys have neither the session nor the place of a message")
	}
	return name, m, nil
}

// by reports whether a column is a key.
func (m Merge) by(column string) bool {
	return slices.ContainsFunc(m.Keys, func(k Key) bool { return k.Column == column })
}
