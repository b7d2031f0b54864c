package verify

import "github.com/ctxledger/ctxledger/ledger/evidence/pack"

// A leaf is a line of proofs/N/leaves.
type leaf struct {
	pack.LeafLine
	log    int   // from 1
	number int64 // line number
	err    error // parse error
}

// A match is a record's line with its leaf. A line without leaf and a leaf without line are also
// matches. The two can differ after a change.
type match struct {
	line  *line
	leaf  *leaf
	exact bool // the leaf line contains the digest of this line
}

// window is the number of lines and leaves that aligner reads ahead to find the next match.
// lostAfter is the number of windows without a match after which aligner stops searching.
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

// next returns the next match, or false when no line and no leaf are left.
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

// fill reads n lines and leaves ahead.
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

// fits reports whether line i belongs to leaf j.
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

// meet returns the nearest line and leaf that belong together. Without such a pair, meet returns
// the numbers of all lines and leaves.
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

// take queues the first i lines and j leaves, in pairs as far as possible.
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
