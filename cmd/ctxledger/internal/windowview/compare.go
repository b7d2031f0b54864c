package windowview

import "slices"

// The kinds of change. A block that moved and was shortened has the kind Shortened, and its
// Moved is true.
const (
	Kept      = "kept"
	Entered   = "entered"
	Left      = "left"
	Moved     = "moved"
	Shortened = "shortened" // fewer tokens, or a stub instead of the whole
	Grown     = "grown"     // more tokens, or the whole instead of a stub
	Changed   = "changed"   // other content of the same or an unknown size
)

// Change is the change of one block between two windows.
type Change struct {
	Kind   string `json:"change"`
	Moved  bool   `json:"moved"`
	Before *Block `json:"before"` // nil if the block entered
	After  *Block `json:"after"`  // nil if the block left
}

// Difference compares two windows.
type Difference struct {
	Before  Window   `json:"before"`
	After   Window   `json:"after"`
	Changes []Change `json:"changes"` // in the order of After; blocks that left are at their old places

	// The cost for the prompt cache, in tokens by the estimator. A value is nil if a size is
	// unknown.
	//
	// Common is p, the tokens of the longest common prefix. FirstChanged is the position after
	// the prefix, nil without a change. Expected is n − p, the tokens to compute again. New is
	// the part of Expected that the window before did not hold. Penalty is the rest of
	// Expected.
	//
	// Recomputed is the billed value: the window of After − the tokens read from the cache.
	// Recomputed belongs to these two windows only if Adjacent is true: Before is then the call
	// before After in the lineage.
	FirstChanged *int64 `json:"first_changed_position"`
	Common       *int64 `json:"common_prefix_tokens"`
	Expected     *int64 `json:"recomputed_expected"`
	New          *int64 `json:"new_tokens"`
	Penalty      *int64 `json:"penalty_tokens"`
	Recomputed   *int64 `json:"recomputed_billed"`
	Adjacent     bool   `json:"adjacent"`
}

// Compare returns the changes from before to after. Two blocks are the same if they have the
// same digest, or else the same items, or else the same name.
func Compare(before, after Window) Difference {
	d := Difference{Before: before, After: after, Adjacent: after.Previous != "" && after.Previous == before.Call}
	pairs := match(before.Blocks, after.Blocks)
	d.list(pairs, stay(pairs))
	d.cacheCost(pairs)
	return d
}

// match returns the place in before for each block of after, or -1.
func match(before, after []Block) []int {
	pairs := make([]int, len(after))
	for i := range pairs {
		pairs[i] = -1
	}
	taken := make([]bool, len(before))
	for _, same := range []func(a, b *Block) bool{
		func(a, b *Block) bool {
			return a.Digest != "" && a.Digest == b.Digest && slices.Equal(a.Items, b.Items)
		},
		func(a, b *Block) bool { return len(a.Items) > 0 && slices.Equal(a.Items, b.Items) },
		func(a, b *Block) bool { return a.Digest != "" && a.Digest == b.Digest },
		func(a, b *Block) bool { return len(a.Items)+len(b.Items) == 0 && a.Name != "" && a.Name == b.Name },
	} {
		from := 0 // most blocks keep their order, so the next match is near
		for i := range after {
			if pairs[i] >= 0 {
				continue
			}
			for n := range before {
				if j := (from + n) % len(before); !taken[j] && same(&before[j], &after[i]) {
					pairs[i], taken[j], from = j, true, j+1
					break
				}
			}
		}
	}
	return pairs
}

// stay reports which of the matched blocks kept their order: the longest subsequence in the
// order of before. The other blocks moved.
func stay(pairs []int) []bool {
	var tails []int // of the best run of each length, as places in pairs
	previous := make([]int, len(pairs))
	for i, p := range pairs {
		if p < 0 {
			continue
		}
		n, _ := slices.BinarySearchFunc(tails, p, func(t, p int) int { return pairs[t] - p })
		previous[i] = -1
		if n > 0 {
			previous[i] = tails[n-1]
		}
		if n == len(tails) {
			tails = append(tails, i)
		} else {
			tails[n] = i
		}
	}
	kept := make([]bool, len(pairs))
	if len(tails) > 0 {
		for i := tails[len(tails)-1]; i >= 0; i = previous[i] {
			kept[i] = true
		}
	}
	return kept
}
