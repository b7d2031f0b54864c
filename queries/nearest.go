package queries

import (
	"cmp"
	"slices"
	"strings"
)

// nearest returns up to three names that look like name: those that hold it or
// one of its words, and those that few typing errors make of it.
func nearest(name string) []string {
	type scored struct {
		name     string
		distance int
	}
	name = strings.ToLower(strings.NewReplacer("_", "-", " ", "-").Replace(strings.TrimSpace(name)))
	var found []scored
	for _, q := range catalogue() {
		d := editDistance(name, q.Name)
		switch {
		case name != "" && strings.Contains(q.Name, name):
			d = 0
		case d <= max(2, len(name)/3):
		case sharesWord(name, q.Name):
			d += 10
		default:
			continue
		}
		found = append(found, scored{q.Name, d})
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(a.distance, b.distance) })
	names := make([]string, min(3, len(found)))
	for i := range names {
		names[i] = found[i].name
	}
	return names
}

func sharesWord(a, b string) bool {
	words := strings.Split(b, "-")
	for word := range strings.SplitSeq(a, "-") {
		for _, other := range words {
			if len(word) > 2 && strings.TrimSuffix(word, "s") == strings.TrimSuffix(other, "s") {
				return true
			}
		}
	}
	return false
}

// editDistance is the number of bytes to insert, delete or replace to make b
// of a.
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
