package windowview

import "slices"

// list fills the changes in the order of After. Between two unmoved blocks, removed blocks
// precede new ones.
func (d *Difference) list(pairs []int, stays []bool) {
	before, after := d.Before.Blocks, d.After.Blocks
	matched := make([]bool, len(before))
	for _, j := range pairs {
		if j >= 0 {
			matched[j] = true
		}
	}
	next := 0 // the next block of before to list
	for i := range after {
		for upto := anchor(pairs, stays, i, len(before)); next < upto; next++ {
			if !matched[next] {
				d.Changes = append(d.Changes, Change{Kind: Left, Before: &before[next]})
			}
		}
		d.Changes = append(d.Changes, change(before, after, pairs[i], i, stays[i]))
	}
	for ; next < len(before); next++ {
		if !matched[next] {
			d.Changes = append(d.Changes, Change{Kind: Left, Before: &before[next]})
		}
	}
}

// anchor returns the place in before of the first block from i on that kept its place, or end.
func anchor(pairs []int, stays []bool, i, end int) int {
	for ; i < len(pairs); i++ {
		if stays[i] {
			return pairs[i]
		}
	}
	return end
}

// change returns the change of the block at i in after. The block was at j in before. A
// negative j means that it entered.
func change(before, after []Block, j, i int, stayed bool) Change {
	if j < 0 {
		return Change{Kind: Entered, After: &after[i]}
	}
	c := Change{Kind: became(before[j], after[i]), Moved: !stayed, Before: &before[j], After: &after[i]}
	if c.Moved && c.Kind == Kept {
		c.Kind = Moved
	}
	return c
}

// became returns the change of a block that is in both windows. The view cache_bill compares
// only digest (or items) and size. If these are recorded, both results agree. A later elision
// pass that names a stub again does not change it, unless its size is unknown.
func became(a, b Block) string {
	known := a.Tokens != nil && b.Tokens != nil
	switch {
	case known && *a.Tokens > *b.Tokens:
		return Shortened
	case known && *a.Tokens < *b.Tokens:
		return Grown
	case a.Digest != "" && a.Digest == b.Digest:
		return Kept
	case b.Elided && !a.Elided:
		return Shortened
	case a.Elided && !b.Elided:
		return Grown
	case a.Digest != "" && b.Digest != "", a.isRedacted() != b.isRedacted(), !known && a.ElidedBy != b.ElidedBy:
		return Changed
	}
	return Kept
}

// cacheCost computes the cost for the prompt cache. The cost applies to windows of one target,
// because the provider sees one prompt.
func (d *Difference) cacheCost(pairs []int) {
	common := 0
	for common < len(pairs) && pairs[common] == common && became(d.Before.Blocks[common], d.After.Blocks[common]) == Kept {
		common++
	}
	if common < max(len(d.Before.Blocks), len(d.After.Blocks)) {
		d.FirstChanged = new(int64(common))
	}
	d.Common = sum(d.After.Blocks[:common])
	d.Expected = sum(d.After.Blocks[common:])
	if d.Expected != nil {
		var fresh int64
		for i, b := range d.After.Blocks[common:] {
			if pairs[common+i] < 0 && !heldIn(d.Before, b) {
				fresh += deref(b.Tokens)
			}
		}
		d.New, d.Penalty = &fresh, new(*d.Expected-fresh)
	}
	if d.After.Billed != nil && d.After.CacheRead != nil {
		d.Recomputed = new(*d.After.Billed - *d.After.CacheRead)
	}
}

// heldIn reports whether any item of b was in w. A block made of items from w, such as a stub,
// is not new.
func heldIn(w Window, b Block) bool {
	return slices.ContainsFunc(w.Blocks, func(o Block) bool {
		return slices.ContainsFunc(b.Items, func(item string) bool { return slices.Contains(o.Items, item) })
	})
}

// sum returns nil if the size of a block is unknown.
func sum(blocks []Block) *int64 {
	var total int64
	for _, b := range blocks {
		if b.Tokens == nil {
			return nil
		}
		total += *b.Tokens
	}
	return &total
}
