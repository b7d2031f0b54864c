// Package history tells the history of one item through a session: its steps in the
// order of the stream, and one sentence that says what became of it in a turn.
//
// A step is what an event says, and nothing is inferred: selected is not injected,
// and an item is in a window only where an injection, or the item log that the
// window was projected from, says so. Everything here is pure.
package history

import (
	"slices"
	"time"
)

// Step is one row of the query why: what happened to the item, when, and why.
type Step struct {
	Recorded time.Time          `json:"recorded_at"` // by the stream
	Happened time.Time          `json:"event_time"`
	Turn     string             `json:"turn_id"`
	InTurn   bool               `json:"in_turn"` // whether it is the turn that was asked about
	Call     string             `json:"call_id"`
	Step     string             `json:"step"`
	Record   string             `json:"record_id"`
	Position *int64             `json:"position"` // in the surface, the window or the log
	Rank     *int64             `json:"rank"`
	Score    *float64           `json:"score"`
	Before   *int64             `json:"tokens_before"`
	After    *int64             `json:"tokens_after"`
	Reason   string             `json:"reason"`
	Note     string             `json:"note"`
	Policy   string             `json:"policy"`
	StandIn  string             `json:"stand_in"`
	Signals  map[string]float64 `json:"signals"`
	Stream   string             `json:"incarnation"` // that the fact is in
	Sequence uint64             `json:"stream_seq"`  // its place there
	Proof    *Proof             `json:"proof,omitzero"`
}

// Proof says whether the fact of a step is in the transparency log.
type Proof struct {
	Index   int64  `json:"log_index"` // -1 where it has no leaf
	Size    int64  `json:"log_size"`  // leaves under the signed head
	Proved  bool   `json:"proved"`
	Problem string `json:"problem,omitzero"` // why not
}

// Way is all that is known about an item in a session, and the turn, or the call
// of it, that is asked about.
type Item struct {
	Session string `json:"session_id"`
	Turn    string `json:"turn_id"`
	Call    string `json:"call_id,omitzero"`
	Item    string `json:"item_id"`
	Title   string `json:"title"`
	Answer  string `json:"answer"`
	Steps   []Step `json:"steps"` // in the order of the stream
	// Ended is when the last fact of the turn happened. It tells what came later
	// where the turn has no step of the item.
	Ended time.Time `json:"-"`
}

// asked reports whether a step belongs to what is asked about. A step of the turn
// that names no call belongs to each of its calls.
func (w Item) asked(s Step) bool {
	return s.InTurn && (w.Call == "" || s.Call == "" || s.Call == w.Call)
}

// Settle gives a step that names no call the call that it was made for, where
// another one says it: a surface is named by the selection from it.
func (w *Item) Settle() {
	chosen := make(map[string]string)
	for _, s := range w.Steps {
		if s.Call != "" && slices.Contains([]string{"considered", "selected", "omitted"}, s.Step) {
			chosen[s.StandIn] = s.Call
		}
	}
	for i := range w.Steps {
		if s := &w.Steps[i]; s.Step == "available" && s.Call == "" {
			s.Call = chosen[s.Record]
		}
	}
}

// isSight reports whether the step says that the model had the item before it.
func isSight(s Step) bool { return s.Step == "injected" || s.Step == "seen" }

// last returns the index of the last step that is asked about and is one of the
// given kinds, or -1.
func (w Item) last(kinds ...string) int {
	for i := len(w.Steps) - 1; i >= 0; i-- {
		if w.asked(w.Steps[i]) && slices.Contains(kinds, w.Steps[i].Step) {
			return i
		}
	}
	return -1
}

// before returns the last step of a kind at an index below end, in any turn, or
// nil.
func (w Item) before(end int, kinds ...string) *Step {
	for i := end - 1; i >= 0; i-- {
		if slices.Contains(kinds, w.Steps[i].Step) {
			return &w.Steps[i]
		}
	}
	return nil
}

// Named returns the title that an item fact gave last.
func Named(steps []Step) string {
	for i := len(steps) - 1; i >= 0; i-- {
		if s := steps[i]; s.Step == "added" || s.Step == "updated" {
			return s.Note
		}
	}
	return ""
}
