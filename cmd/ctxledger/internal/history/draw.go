package history

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
)

// often are the steps that every call repeats. In other turns they are counted and not listed.
var often = []string{"available", "considered", "selected", "omitted", "shortened", "assembled", "injected", "seen"}

// Draw writes the steps as a table, with lines of at most width characters, and the answer
// below.
func (w Item) Draw(out io.Writer, width int) error {
	title := fmt.Sprintf("item %s", w.Item)
	if w.Title != "" && w.Title != w.Item {
		title += fmt.Sprintf(" (%s)", ui.Safe(w.Title))
	}
	title += fmt.Sprintf(" in %s of session %s", w.where(), w.Session)
	fmt.Fprintf(out, "%s\n\n", ui.Wrap(title, width, 0, "  "))
	listed, elsewhere := w.split()
	t := table(listed)
	if len(t.Rows) > 0 {
		if err := t.Write(out, width, "  "); err != nil {
			return err
		}
		fmt.Fprintln(out)
	}
	for _, t := range elsewhere {
		fmt.Fprintf(out, "  %s\n", ui.Wrap(t.String(), width, 2, "    "))
	}
	if len(elsewhere) > 0 {
		fmt.Fprintln(out)
	}
	if err := w.drawProofs(out, width); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, ui.Wrap(ui.Safe(w.Answer), width, 0, ""))
	return err
}

// drawProofs lists the facts of the steps with their places in the transparency log, if the
// proofs were looked up.
func (w Item) drawProofs(out io.Writer, width int) error {
	t := ui.Table{Columns: []ui.Column{{Name: "SEQUENCE", Right: true}, {Name: "LOG INDEX", Right: true}, {Name: "STEP"}, {Name: "PROOF", Least: 30, Wrap: true}}}
	seen := make(map[[2]string]bool)
	for _, s := range w.Steps {
		fact := [2]string{s.Stream, fmt.Sprint(s.Sequence)}
		if s.Proof == nil || seen[fact] {
			continue
		}
		seen[fact] = true
		index, verdict := "-", s.Proof.Problem
		if s.Proof.Index >= 0 {
			index = fmt.Sprint(s.Proof.Index)
		}
		if s.Proof.Proved {
			verdict = fmt.Sprintf("proved, under the signed head of %s leaves", ui.Thousands(s.Proof.Size))
		}
		t.Rows = append(t.Rows, []string{fact[1], index, s.Step, verdict})
	}
	if len(t.Rows) == 0 {
		return nil
	}
	if err := t.Write(out, width, "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out)
	return err
}

// split separates the listed steps from the steps of other turns and calls, which are counted
// by turn.
func (w Item) split() (listed []Step, elsewhere []*tally) {
	index := make(map[string]*tally)
	for _, s := range w.Steps {
		switch {
		case w.asked(s) || !slices.Contains(often, s.Step):
			listed = append(listed, s)
			continue
		case index[s.Turn] == nil:
			index[s.Turn] = &tally{turn: s.Turn, calls: make(map[string]map[string]bool)}
			elsewhere = append(elsewhere, index[s.Turn])
		}
		index[s.Turn].add(s)
	}
	return listed, elsewhere
}

// table has a row for each step. A call with the same steps as the call before shares its row.
func table(steps []Step) ui.Table {
	t := ui.Table{Columns: []ui.Column{
		{Name: "WHEN", Right: true}, {Name: "TURN", Least: 6}, {Name: "CALL", Least: 6}, {Name: "STEP"}, {Name: "WHAT", Least: 30, Wrap: true},
	}}
	last, first, same := "", "", 0
	for len(steps) > 0 {
		group := steps[:1]
		for len(group) < len(steps) && steps[0].Call != "" && steps[len(group)].Call == steps[0].Call {
			group = steps[:len(group)+1]
		}
		steps = steps[len(group):]
		if said := signature(group); said != "" && said == last {
			same++
			row := []string{group[0].when(), "", group[0].Call, "", "the same"}
			if same == 1 {
				first = group[0].Call
			} else {
				row[4] = fmt.Sprintf("the same in %s, %s to %s", ui.Plural(same, "call"), first, group[0].Call)
				t.Rows = t.Rows[:len(t.Rows)-1]
			}
			t.Rows = append(t.Rows, row)
			continue
		} else {
			last, same = said, 0
		}
		for _, s := range group {
			turn := cmp.Or(s.Turn, "-")
			if s.InTurn {
				turn = "this"
			}
			t.Rows = append(t.Rows, []string{s.when(), turn, cmp.Or(s.Call, "-"), s.Step, ui.Safe(s.What(ui.Thousands))})
		}
	}
	return t
}

// signature is the text of a call's steps without their records. A signature is empty for steps
// without a call, and for steps that are always listed.
func signature(group []Step) string {
	var said []string
	for _, s := range group {
		if s.Call == "" || !slices.Contains(often, s.Step) {
			return ""
		}
		s.Record = ""
		said = append(said, s.Step+" "+s.What(ui.Thousands))
	}
	return strings.Join(said, "\n")
}

// when is the time of day, "-" for a step of a log without times.
func (s Step) when() string {
	if !ui.IsTime(s.Happened.Time) {
		return "-"
	}
	return s.Happened.UTC().Format("15:04:05")
}

// tally counts the calls of a turn by their step for the item.
type tally struct {
	turn  string
	calls map[string]map[string]bool // by step
}

func (t *tally) add(s Step) {
	if t.calls[s.Step] == nil {
		t.calls[s.Step] = make(map[string]bool)
	}
	t.calls[s.Step][cmp.Or(s.Call, s.Record)] = true
}

// String lists the counts in the order of the steps of a call.
func (t *tally) String() string {
	var parts []string
	for _, step := range often {
		if n := len(t.calls[step]); n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d×", step, n))
		}
	}
	where := "elsewhere in turn " + t.turn
	if t.turn == "" {
		where = "outside of a turn"
	}
	return where + ": " + strings.Join(parts, ", ")
}

// What returns the details of a step. Its numbers of tokens are written by write.
func (s Step) What(write ui.Numbers) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	given := func(prefix, text string) {
		if text != "" {
			parts = append(parts, prefix+text)
		}
	}
	switch s.Step {
	case "omitted":
		given("", s.cause())
	case "missing detected", "missing requested", "missing resolved":
		add("%s is %s", s.Record, cmp.Or(s.Reason, "of unknown state"))
		given("", s.Note)
		given("severity ", s.Policy)
		given("asked of ", s.StandIn)
		return strings.Join(parts, "; ")
	case "compacted":
		given("into ", s.StandIn)
		given("by ", s.Record)
		given("lost: ", s.Note)
	case "redacted":
		given("", s.Note)
		given("because: ", s.Reason)
		given("under ", s.Policy)
		given("", s.StandIn)
		return strings.Join(parts, "; ")
	case "elided", "reloaded":
		given("", s.Note)
		given("by ", s.Record)
		given("again from ", s.StandIn)
	case "injected", "withdrawn":
		given("", s.Note)
		given("by ", s.Record)
	case "assembled":
		given("in ", s.Record)
	default:
		given("", s.Note)
		given("", s.Reason)
	}
	parts = append(parts, s.figures(write)...)
	if s.Step != "compacted" {
		given("under ", s.Policy)
	}
	return strings.Join(parts, "; ")
}

// figures returns the numbers of a step.
func (s Step) figures(write ui.Numbers) (parts []string) {
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if s.Position != nil {
		switch s.Step {
		case "logged", "seen":
			add("log position %d", *s.Position)
		case "available":
			add("%d on the surface", *s.Position)
		default:
			add("position %d", *s.Position)
		}
	}
	if s.Rank != nil {
		add("rank %d", *s.Rank)
	}
	if s.Score != nil {
		add("score %.4g", *s.Score)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Signals)) {
		add("%s %.4g", name, s.Signals[name])
	}
	switch {
	case s.Before != nil && s.After != nil && *s.Before == *s.After:
		add("%s", write.Plural(*s.After, "token"))
	case s.Before != nil || s.After != nil:
		add("%s → %s tokens", write.Known(s.Before), write.Known(s.After))
	}
	return parts
}
