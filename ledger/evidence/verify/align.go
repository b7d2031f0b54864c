package verify

import "github.com/ctxledger/ctxledger/ledger/evidence/pack"

// A leaf is a line of proofs/N/leaves.
type leaf struct {
	pack.LeafLine
	log    int   // from 1
	number int64 // of the line
	err    error // why it is none
}

// A match is a record's line beside its leaf. One of them is nil where the other
// has none; they differ where something was changed.
type match struct {
	line  *line
	leaf  *leaf
	exact bool // the line is the one whose digest stands beside the leaf
}

// window is how far ahead lines and leaves are looked at to find out where they
// fit again; lostAfter is after how many windows without success nobody looks.
const (
	window    = 64
	lostAfter = 16
)

// aligner matches lines and leaves by the digests of the lines, in order.
type aligner struct {
	nextLine func() (line, bool)
	nextLeaf func() (leaf, bool)
	lines    []line
	leaves   []leaf
	queue    []match
	lost     int
}

// next returns the next match, and false when there is neither line nor leaf.
func (a *aligner) next() (match, bool) {
	if len(a.queue) == 0 {
		a.look()
	}
	if len(a.queue) == 0 {
		return match{}, false
	}
	m := a.queue[0]
	a.queue = a.queue[1:]
	return m, true
}

// fill looks n lines and leaves ahead.
func (a *aligner) fill(n int) {
	for len(a.lines) < n {
		l, ok := a.nextLine()
		if !ok {
			break
		}
		a.lines = append(a.lines, l)
	}
	for len(a.leaves) < n {
		l, ok := a.nextLeaf()
		if !ok {
			break
		}
		a.leaves = append(a.leaves, l)
	}
}

// fits reports whether line i is that of leaf j.
func (a *aligner) fits(i, j int) bool {
	return a.leaves[j].err == nil && a.lines[i].digest == a.leaves[j].Line
}

func (a *aligner) look() {
	a.queue = a.queue[:0]
	a.fill(1)
	if len(a.lines) > 0 && len(a.leaves) > 0 && a.fits(0, 0) {
		a.take(1, 1, true)
		return
	}
	ahead := window
	if a.lost > lostAfter {
		ahead = 1
	}
	a.fill(ahead)
	i, j, found := a.meet()
	switch {
	case found:
		a.lost = 0
	case len(a.lines) == ahead && len(a.leaves) == ahead:
		a.lost++
		i, j = 1, 1
	}
	a.take(i, j, false)
}

// meet returns the nearest line and leaf that fit each other, and all that there
// are when none do.
func (a *aligner) meet() (i, j int, found bool) {
	for sum := range len(a.lines) + len(a.leaves) {
		for i := max(0, sum-len(a.leaves)+1); i <= min(sum, len(a.lines)-1); i++ {
			if a.fits(i, sum-i) {
				return i, sum - i, true
			}
		}
	}
	return len(a.lines), len(a.leaves), false
}

// take queues the first i lines and j leaves, side by side as far as they go.
func (a *aligner) take(i, j int, exact bool) {
	for n := range max(i, j) {
		m := match{exact: exact}
		if n < i {
			m.line = &a.lines[n]
		}
		if n < j {
			m.leaf = &a.leaves[n]
		}
		a.queue = append(a.queue, m)
	}
	a.lines, a.leaves = a.lines[i:], a.leaves[j:]
}
