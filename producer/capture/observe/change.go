package observe

// change is the difference between the last window of a thread and a new one.
type change struct {
	keep      int      // equal blocks at the start
	shortened [][2]int // index before, index after
	restored  [][2]int
	left      []int // indexes of the last window
	summary   summary
	compacted bool
}

// compare returns what changed between two windows.
func compare(t *thread, now []seen, items sums) change {
	var c change
	c.keep, _ = shared(t.Blocks, now)
	after := make(map[uint64]int)    // sum → number of blocks
	byItem := make(map[string][]int) // item → indexes of tool blocks
	for i := c.keep; i < len(now); i++ {
		after[now[i].Sum]++
		if now[i].Tool != "" {
			byItem[now[i].Item] = append(byItem[now[i].Item], i)
		}
	}
	for i := c.keep; i < len(t.Blocks); i++ {
		old := &t.Blocks[i]
		if after[old.Sum] > 0 {
			after[old.Sum]--
			continue
		}
		if old.Tool != "" && len(byItem[old.Item]) > 0 {
			j := byItem[old.Item][0]
			byItem[old.Item] = byItem[old.Item][1:]
			switch first := items[hashOf(old.Item)]; {
			case old.Tokens >= 0 && now[j].Tokens >= 0 && now[j].Tokens < old.Tokens:
				c.shortened = append(c.shortened, [2]int{i, j})
			case first == now[j].Sum && first != old.Sum:
				c.restored = append(c.restored, [2]int{i, j})
			default:
				c.left = append(c.left, i)
			}
			continue
		}
		c.left = append(c.left, i)
	}
	if len(c.left) > 0 && frontLeft(t.Blocks, c.left) {
		c.summary, c.compacted = t.summaryIn(now)
	}
	return c
}

// frontLeft reports whether the first spoken block of a window is among those that left. A
// reminder before it may be in both windows.
func frontLeft(blocks []block, left []int) bool {
	for i := range blocks {
		if blocks[i].spoken() {
			for _, l := range left {
				if l == i {
					return true
				}
			}
			return false
		}
	}
	return false
}
