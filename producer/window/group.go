package window

// units returns the groups of items that stay or leave together, by first item.
func (l *ladder) units() [][]int {
	if l.together == nil {
		l.together = units(l.items)
	}
	return l.together
}

// units groups the items that share tool calls, directly or over several other items. The
// groups are in the order of their first items, their items in list order.
func units(items []Item) [][]int {
	root := make([]int, len(items))
	var find func(int) int
	find = func(i int) int {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	first := map[string]int{}
	for i := range items {
		root[i] = i
		for _, call := range items[i].CallIDs {
			j, seen := first[call]
			if !seen {
				first[call] = i
				continue
			}
			a, b := find(i), find(j)
			root[max(a, b)] = min(a, b)
		}
	}
	at := make([]int, len(items))
	out := make([][]int, 0, len(items))
	backing := make([]int, len(items))
	for i := range items {
		r := find(i)
		if r == i {
			at[i] = len(out)
			backing[i] = i
			out = append(out, backing[i:i+1:i+1])
			continue
		}
		out[at[r]] = append(out[at[r]], i)
	}
	return out
}
