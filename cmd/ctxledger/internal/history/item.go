// Package history shows the history of one item in a session. The history lists the item's
// steps in the order of the stream. One sentence answers whether the model saw the item in a
// turn.
//
// A step is a recorded event, without inference: a selected item is not yet injected. An item
// is in a window only if an injection or the window's item log records it. The package asks no
// server.
package history

import (
	"slices"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
)

// Step is one row of the query why: a change of the item, with its time and reason.
type Step struct {
	Recorded time.Time          `json:"recorded_at"` // by the stream
	Happened Moment             `json:"event_time"`
	Turn     string             `json:"turn_id"`
	InTurn   bool               `json:"in_turn"` // whether the step belongs to the turn of the question
	Call     string             `json:"call_id"`
	Step     string             `json:"step"`
	Record   string             `json:"record_id"`
	Position *int64             `json:"position"` // in the surface, the window or the item log
	Rank     *int64             `json:"rank"`
	Score    *float64           `json:"score"`
	Before   *int64             `json:"tokens_before"`
	After    *int64             `json:"tokens_after"`
	Reason   string             `json:"reason"`
	Note     string             `json:"note"`
	Policy   string             `json:"policy"`
	StandIn  string             `json:"stand_in"`
	Signals  map[string]float64 `json:"signals"`
	Stream   string             `json:"incarnation"` // the stream of the fact
	Sequence uint64             `json:"stream_seq"`  // the fact's place in the stream
	Proof    *Proof             `json:"proof,omitzero"`
}

// Moment is a time of a fact. In JSON it is null for a fact of a log without times.
type Moment struct{ time.Time }

// MarshalJSON writes null or the time.
func (m Moment) MarshalJSON() ([]byte, error) {
	if !ui.IsTime(m.Time) {
		return []byte("null"), nil
	}
	return m.Time.MarshalJSON()
}

// Proof is the proof that the fact of a step is in the transparency log.
type Proof struct {
	Index   int64  `json:"log_index"` // -1 if it has no leaf
	Size    int64  `json:"log_size"`  // leaves under the signed head
	Proved  bool   `json:"proved"`
	Problem string `json:"problem,omitzero"` // the reason if not proved
}

// Item is the known history of an item in a session, and the turn or call of the question.
type Item struct {
	Session string `json:"session_id"`
	Turn    string `json:"turn_id"`
	Call    string `json:"call_id,omitzero"`
	Item    string `json:"item_id"`
	Title   string `json:"title"`
	Answer  string `json:"answer"`
	Steps   []Step `json:"steps"` // in the order of the stream
	// Ended is the time of the turn's last fact. Steps after Ended are later than the turn.
	Ended time.Time `json:"-"`
}

// asked reports whether a step belongs to the question. A step of the turn without a call
// belongs to each of its calls.
func (w Item) asked(s Step) bool {
	return s.InTurn && (w.Call == "" || s.Call == "" || s.Call == w.Call)
}

// Settle adds the call to a step without one, where a later step names it: a selection names
// the surface that it selected from.
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

// isSight reports whether the step records that the model saw the item.
func isSight(s Step) bool { return s.Step == "injected" || s.Step == "seen" }

// last returns the index of the last step of the question of the given kinds, or -1.
func (w Item) last(kinds ...string) int {
	for i := len(w.Steps) - 1; i >= 0; i-- {
		if w.asked(w.Steps[i]) && slices.Contains(kinds, w.Steps[i].Step) {
			return i
		}
	}
	return -1
}

// before returns the last step of the given kinds before the index end, in any turn, or nil.
func (w Item) before(end int, kinds ...string) *Step {
	for i := end - 1; i >= 0; i-- {
		if slices.Contains(kinds, w.Steps[i].Step) {
			return &w.Steps[i]
		}
	}
	return nil
}

// Named returns the title from the last item fact.
func Named(steps []Step) string {
	for i := len(steps) - 1; i >= 0; i-- {
		if s := steps[i]; s.Step == "added" || s.Step == "updated" {
			return s.Note
		}
	}
	return ""
}
