package verify

import (
	"cmp"
	"slices"
)

// ranges is a set of sequences. After [ranges.sort], the set consists of closed ranges in rising
// order. The set is small if sequences come nearly in order.
type ranges struct {
	list   [][2]int64
	sorted bool
}

// add adds one sequence.
func (r *ranges) add(n int64) { r.addRange(n, n) }

// addRange adds first to last. A range with last before first is empty.
func (r *ranges) addRange(first, last int64) {
	if last < first {
		return
	}
	if i := len(r.list) - 1; i >= 0 && first >= r.list[i][0] && first <= r.list[i][1]+1 {
		r.list[i][1] = max(r.list[i][1], last)
		return
	}
	r.list = append(r.list, [2]int64{first, last})
	r.sorted = false
}

func (r *ranges) sort() {
	if r.sorted {
		return
	}
	slices.SortFunc(r.list, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	var merged [][2]int64
	for _, next := range r.list {
		if i := len(merged) - 1; i >= 0 && next[0] <= merged[i][1]+1 {
			merged[i][1] = max(merged[i][1], next[1])
		} else {
			merged = append(merged, next)
		}
	}
	r.list, r.sorted = merged, true
}

// without returns the parts of first to last that are not in the set.
func (r *ranges) without(first, last int64) (rest [][2]int64) {
	if last < first {
		return nil
	}
	if r == nil {
		return [][2]int64{{first, last}}
	}
	r.sort()
	i, _ := slices.BinarySearchFunc(r.list, first, func(have [2]int64, n int64) int { return cmp.Compare(have[1], n) })
	for ; first <= last && i < len(r.list) && r.list[i][0] <= last; i++ {
		if r.list[i][0] > first {
			rest = append(rest, [2]int64{first, r.list[i][0] - 1})
		}
		if r.list[i][1] >= last {
			return rest
		}
		first = r.list[i][1] + 1
	}
	if first <= last {
		rest = append(rest, [2]int64{first, last})
	}
	return rest
}

// count returns the number of sequences in the ranges, at most a billion.
func count(list [][2]int64) (n int64) {
	const most = 1_000_000_000
	for _, r := range list {
		n = min(n+min(r[1]-r[0], most)+1, most)
	}
	return n
}
