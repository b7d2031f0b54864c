package telling

import (
	"cmp"
	"time"
)

// Call is a record of a model call, in the form that tells whether another log tells the same call.
type Call struct {
	Source string
	ID     string
	At     time.Time // of the first record of the call in the log
	Total  string    // the counts of the session up to the end of the call, "" if unknown
	Known  bool      // the tokens of the call are known
	Begun  bool      // the call may have begun before the log
	Output int64     // tokens of the answer, -1 if unknown
	Retold bool      // another source tells the log better
	Bare   bool      // the log lacks the call and has its counts
}

// log returns the source of the record's log, and whether the log is a slice.
func (c Call) log() (source string, slice bool) {
	t, _ := Parse(c.Source)
	return t.Log, t.IsSlice()
}

// Elsewhere returns for each call of a session the number of the record that tells the call instead,
// or -1 for a record that counts. Records with one ID are of one call in any case. A record of a slice
// does not count if the whole log has the ID, with as much output: the window of the slice is partial.
//
// Slices of a log can cut a call. Two records are of one call if the totals after the call are equal.
// The record of the whole log counts, else one that has the whole call, else the one that begins first.
// A slice that was rewritten can have other IDs. The telling that counts then has the record that counts.
// A call without counts at the end of one log is the call that may have begun before another log, if
// no other call is between them. If records with its ID have counts, and another record tells those instead,
// that one tells the call, too.
func Elsewhere(calls []Call) []int {
	instead, totals := make([]int, len(calls)), make(map[string][]int)
	for i, c := range calls {
		if instead[i] = -1; c.Total != "" {
			totals[c.Total] = append(totals[c.Total], i)
		}
	}
	for i, c := range calls {
		for _, j := range totals[c.Total] {
			if other := calls[j]; c.toldBy(other) && (instead[i] < 0 || other.before(calls[instead[i]])) {
				instead[i] = j
			}
		}
	}
	wholeElsewhere(calls, instead)
	bareElsewhere(calls, instead)
	known := make(map[string]int) // a record with the tokens of the ID, if possible one that counts
	for i, c := range calls {
		if was, ok := known[c.ID]; c.Known && (!ok || instead[was] >= 0) {
			known[c.ID] = i
		}
	}
	for i, c := range calls {
		if j, ok := known[c.ID]; ok {
			if other := instead[j]; other >= 0 && !c.Known && calls[other].ID != c.ID {
				instead[i] = other
			}
			continue
		}
		for j, rest := range calls {
			if c.endsIn(rest, calls) {
				instead[i] = j
				break
			}
		}
	}
	return instead
}

// bareElsewhere notes the records without the call where another log has the call.
func bareElsewhere(calls []Call, instead []int) {
	have := make(map[string]int)
	for i, c := range calls {
		if was, ok := have[c.ID]; !c.Bare && (!ok || c.Output > calls[was].Output) {
			have[c.ID] = i
		}
	}
	for i, c := range calls {
		if other, ok := have[c.ID]; ok && c.Bare && calls[other].Source != c.Source && calls[other].Output >= c.Output {
			instead[i] = other
		}
	}
}

// wholeElsewhere notes the records of slices whose call the whole log has under the same ID.
func wholeElsewhere(calls []Call, instead []int) {
	type key struct{ log, id string }
	best := make(map[key]int) // the record with the most output
	for i, c := range calls {
		told, _ := Parse(c.Source)
		if !told.IsSlice() && (c.Retold || !told.namesSlices()) {
			continue
		}
		if was, ok := best[key{told.Log, c.ID}]; !ok || c.Output > calls[was].Output {
			best[key{told.Log, c.ID}] = i
		}
	}
	for i, c := range calls {
		told, _ := Parse(c.Source)
		if !told.IsSlice() {
			continue
		}
		mine := best[key{told.Log, c.ID}]
		whole, ok := best[key{told.whole(), c.ID}]
		if ok && calls[whole].Output >= calls[mine].Output && (calls[mine].Bare || !calls[whole].Bare) {
			instead[i] = whole
		}
	}
}

// toldBy reports whether other, which has the same total, tells the call c of a slice.
func (c Call) toldBy(other Call) bool {
	if c.ID == other.ID {
		return false
	}
	_, slice := c.log()
	return slice && other.before(c)
}

// before orders records of one call. A record of the whole log comes before those of slices, and the
// record of a slice that has the whole call before the others.
func (c Call) before(o Call) bool {
	mine, slice := c.log()
	log, otherSlice := o.log()
	switch {
	case slice != otherSlice:
		return otherSlice
	case mine == log && c.Retold != o.Retold:
		return o.Retold
	case c.Begun != o.Begun:
		return o.Begun
	case !c.At.Equal(o.At):
		return c.At.Before(o.At)
	}
	return cmp.Or(cmp.Compare(mine, log), cmp.Compare(c.Source, o.Source), cmp.Compare(c.ID, o.ID)) < 0
}

// endsIn reports whether rest is the end of the call c, whose log ends before the counts.
func (c Call) endsIn(rest Call, calls []Call) bool {
	mine, _ := c.log()
	log, _ := rest.log()
	if !rest.Begun || !rest.Known || mine == log || rest.At.Before(c.At) {
		return false
	}
	for _, between := range calls {
		same := between.ID == rest.ID || between.ID == c.ID || between.Total != "" && between.Total == rest.Total
		if !same && between.At.After(c.At) && between.At.Before(rest.At) {
			return false
		}
	}
	return true
}
