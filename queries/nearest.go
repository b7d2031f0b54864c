package queries

import (
	"cmp"
	"slices"
	"strings"
)

// nearest returns up to three names of queries that are similar to name.
func nearest(name string) []string {
	all := make([]string, 0, len(catalogue()))
	for _, q := range catalogue() {
		all = append(all, q.Name)
	}
	return Nearest(strings.NewReplacer("_", "-", " ", "-").Replace(name), all)
}

// Nearest returns up to three of the names that are similar to name, the nearest first. A similar
// name contains name or one of its words, or differs by a few typing errors.
func Nearest(name string, all []string) []string {
	type scored struct {
		name     string
		distance int
	}
	name = strings.ToLower(strings.TrimSpace(name))
	var found []scored
	for _, other := range all {
		d := editDistance(name, other)
		switch {
		case name != "" && strings.Contains(other, name):
			d = 0
		case d <= max(2, len(name)/3):
		case sharesWord(name, other):
			d += 10
		default:
			continue
		}
		found = append(found, scored{other, d})
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(a.distance, b.distance) })
	names := make([]string, min(3, len(found)))
	for i := range names {
		names[i] = found[i].name
	}
	return names
}

func sharesWord(a, b string) bool {
	split := func(r rune) bool { return r == '-' || r == '_' }
	words := strings.FieldsFunc(b, split)
	for _, word := range strings.FieldsFunc(a, split) {
		for _, other := range words {
			if len(word) > 2 && strings.TrimSuffix(word, "s") == strings.TrimSuffix(other, "s") {
				return true
			}
		}
	}
	return false
}

// editDistance is the number of bytes to insert, delete or replace to convert a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
