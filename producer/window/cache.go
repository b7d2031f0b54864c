package window

// Segment is a run of tokens in a request, in the form of the provider's prefix cache. Two
// segments are equal if Ref and Tokens are equal. A Ref should therefore change with the
// content, as a digest does.
type Segment struct {
	Ref    string
	Tokens int
}

// Reuse compares a request with the previous request of the same cache lineage. All numbers
// are tokens.
type Reuse struct {
	WindowBefore   int // size of the earlier request
	WindowAfter    int // size of the later request
	ChangePosition int // length of the longest common prefix
	Recomputed     int // WindowAfter - ChangePosition: expected, not billed
	LostCached     int // WindowBefore - ChangePosition
}

// Reused returns the number of tokens that the cache can serve: the tokens before the
// change.
func (r Reuse) Reused() int { return r.ChangePosition }

// Penalty returns the cost of the change in addition to the new tokens. Fresh is the number
// of new tokens. A stub is not new: it is part of the penalty.
func (r Reuse) Penalty(fresh int) int { return r.Recomputed - fresh }

// Compare returns the part of a request that a prefix cache keeps for the next request: the
// longest common prefix. Everything from the first changed position is computed again.
//
// Source: seed 004 (elision and cache-friendliness), shared/vectors/elision.json.
func Compare(before, after []Segment) Reuse {
	r := Reuse{WindowBefore: sum(before), WindowAfter: sum(after)}
	for i := range min(len(before), len(after)) {
		if before[i] != after[i] {
			break
		}
		r.ChangePosition += before[i].Tokens
	}
	r.Recomputed = r.WindowAfter - r.ChangePosition
	r.LostCached = r.WindowBefore - r.ChangePosition
	return r
}

func sum(segments []Segment) int {
	n := 0
	for _, s := range segments {
		n += s.Tokens
	}
	return n
}
