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
	// Added are columns that the shards add to the statement for the merge. The answer lacks them.
	Added []Addition
	// Same means that every shard has the same rows.
	Same bool
}

// An Addition is a column that the shards add to the statement of a query, after its own columns.
type Addition struct {
	Column     string
	Expression string // in SQL, of names that the last SELECT of the statement knows
}

// A Combination makes one value of the values of several shards.
type Combination struct {
	Way Way
	Of  []string // columns that some ways need
}

// A Way is how values are combined. NULL is no value.
type Way string

// The ways.
const (
	Sum      Way = "sum"      // of numbers
	Most     Way = "most"     // the largest number
	Lowest   Way = "lowest"   // the smallest number
	Earliest Way = "earliest" // time
	Latest   Way = "latest"   // time
	ArgMax   Way = "argmax"   // the value of the row with the largest value in the column of Of
	Five     Way = "five"     // up to five of the texts, sorted
	Ten      Way = "ten"      // up to ten of the texts, sorted
	Texts    Way = "texts"    // all texts, sorted: of lists, or of lists with ", " between their texts
	Least    Way = "least"    // the first of the texts that are not empty
	Both     Way = "both"     // whether all are true
	Single   Way = "single"   // the sum, or NULL if the list in the column of Of has several texts
	Share    Way = "share"    // the first column of Of divided by the second; NULL if that is 0
	Minus    Way = "minus"    // the first column of Of minus the second; NULL without both
	Portion  Way = "portion"  // the first column of Of divided by its sum over the rows with the same second one
)

// The ways of columns for which a shard gives more than its own value: the statement of the shards is
// another one, which package answer makes of the query's.
const (
	Distinct Way = "distinct" // uniqExact
	Mean     Way = "mean"     // avg; NULL without values
	Median   Way = "median"   // quantileExact(0.5); NULL without values
	Currency Way = "currency" // a sum, or NULL if its values are in several currencies
)

// columnsOf is the number of columns that each way needs.
var columnsOf = map[Way]int{
	Sum: 0, Most: 0, Lowest: 0, Earliest: 0, Latest: 0, ArgMax: 1, Five: 0, Ten: 0, Texts: 0, Least: 0, Both: 0, Single: 1, Share: 2,
	Minus: 2, Portion: 2, Distinct: 0, Mean: 0, Median: 0, Currency: 0,
}

// OfSession reports whether the query needs the parameter session_id, whose shard answers alone.
func (m Merge) OfSession() bool { return len(m.Keys) == 0 && !m.Same }

// Alone reports whether one shard answers, where session is the value of the parameter session_id. Other shards
// have rows about a session only in a union whose rows are not of one session each, such as those of a gap.
func (m Merge) Alone(session string) bool {
	ofSessions := len(m.Combine) > 0 || slices.ContainsFunc(m.Keys, func(k Key) bool { return k.Column == "session_id" })
	return m.OfSession() || session != "" && ofSessions
}

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
	keys, rest, _ = strings.Cut(keys, ";")
	var combined string
	if how == "groups" {
		combined, rest, _ = strings.Cut(rest, ";")
	}
	has := func(column string) bool {
		return slices.ContainsFunc(q.Columns, func(c Column) bool { return c.Name == column })
	}
	if m.Added, err = parseAdded(rest, has); err != nil {
		return "", m, err
	}
	has = func(column string) bool {
		return slices.ContainsFunc(q.Columns, func(c Column) bool { return c.Name == column }) ||
			slices.ContainsFunc(m.Added, func(a Addition) bool { return a.Column == column })
	}
	switch how {
	case "session":
		if !slices.ContainsFunc(q.Parameters, func(p Parameter) bool { return p.Name == "session_id" && p.Required }) {
			return "", m, fmt.Errorf("the query has no parameter session_id, or does not require it")
		}
		return name, m, nil
	case "same":
		m.Same = true
		return name, m, nil
	case "groups":
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
	if m.Combine == nil && !m.by("session_id") && !m.by("erasure_id") && !(m.by("tenant") && m.by("missing_id")) && !(m.by("recorded_at") && m.by("stream_seq")) {
		return "", m, fmt.Errorf("the keys have neither the session nor an erasure nor a gap nor the place of a message")
	}
	return name, m, nil
}

// parseAdded reads the columns that the shards add to a statement. has reports whether the query has a column.
func parseAdded(text string, has func(string) bool) (added []Addition, _ error) {
	for term := range strings.SplitSeq(text, ";") {
		column, expression, _ := strings.Cut(term, "=")
		a := Addition{strings.TrimSpace(column), strings.TrimSpace(expression)}
		if strings.TrimSpace(term) == "" {
			continue
		}
		if !identifier.MatchString(a.Column) || a.Expression == "" || has(a.Column) {
			return nil, fmt.Errorf("%q is no new column with an expression", term)
		}
		added = append(added, a)
	}
	return added, nil
}

// parseCombine reads the columns that groups combine. has reports whether the query has a column.
func parseCombine(text string, has func(string) bool) (map[string]Combination, error) {
	combine := make(map[string]Combination)
	for term := range strings.SplitSeq(text, ",") {
		words := strings.Fields(term)
		if len(words) < 2 {
			return nil, fmt.Errorf("%q is no column of the query with a way", term)
		}
		how := Combination{Way: Way(words[1]), Of: words[2:]}
		needs, known := columnsOf[how.Way]
		if !has(words[0]) || !known || len(how.Of) != needs || slices.ContainsFunc(how.Of, func(c string) bool { return !has(c) }) {
			return nil, fmt.Errorf("%q is no column of the query with a way and the columns that it needs", term)
		}
		combine[words[0]] = how
	}
	return combine, nil
}

// by reports whether a column is a key.
func (m Merge) by(column string) bool {
	return slices.ContainsFunc(m.Keys, func(k Key) bool { return k.Column == column })
}
