package turn

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
)

// Step is a row of the query why, and its fields are documented there.
type Step struct {
	Recorded time.Time          `ch:"recorded_at"`
	Happened time.Time          `ch:"event_time"`
	Turn     string             `ch:"turn_id"`
	InTurn   bool               `ch:"in_turn"`
	Call     string             `ch:"call_id"`
	Step     string             `ch:"step"`
	Record   string             `ch:"record_id"`
	Position *int64             `ch:"position"`
	Rank     *int64             `ch:"rank"`
	Score    *float64           `ch:"score"`
	Before   *int64             `ch:"tokens_before"`
	After    *int64             `ch:"tokens_after"`
	Reason   string             `ch:"reason"`
	Note     string             `ch:"note"`
	Policy   string             `ch:"policy"`
	StandIn  string             `ch:"stand_in"`
	Signals  map[string]float64 `ch:"signals"`
	Stream   string             `ch:"incarnation"`
	Sequence uint64             `ch:"stream_seq"`
}

// The orders of the steps of one event, for those that are made here or tell
// something apart.
const (
	orderLogged    = 1
	orderAssembled = 6
	orderInjected  = 7
	orderCompacted = 9
	orderSeen      = 12
)

// stepRow is a step with its order among those of one event.
type stepRow struct {
	Step
	Order uint8 `ch:"step_order"`
	Place int64 `ch:"place"` // in the thread
	Named bool  `ch:"named"` // the gap names the item
}

// entryRow is an entry of the log that is the item, or holds it.
type entryRow struct {
	Recorded time.Time `ch:"recorded_at"`
	Happened time.Time `ch:"event_time"`
	Turn     string    `ch:"turn_id"`
	Call     string    `ch:"call_id"`
	ID       string    `ch:"log_item_id"`
	Position *int64    `ch:"position"`
	Tokens   *int64    `ch:"tokens"`
	Type     string    `ch:"item_type"`
	Thread   string    `ch:"thread_id"`
	Tool     string    `ch:"tool_call_id"`
	Stream   string    `ch:"incarnation"`
	Sequence uint64    `ch:"stream_seq"`
}

// shownRow is an assembly that holds the item, or any injection or removal.
type shownRow struct {
	Recorded  time.Time `ch:"recorded_at"`
	Happened  time.Time `ch:"event_time"`
	Turn      string    `ch:"turn_id"`
	Call      string    `ch:"call_id"`
	Kind      string    `ch:"record_kind"`
	Record    string    `ch:"record_id"`
	Assembly  string    `ch:"assembly_id"`
	Place     int64     `ch:"place"`
	Tokens    *int64    `ch:"tokens"`
	Redaction string    `ch:"redaction"`
	Layer     string    `ch:"layer"`
	Pass      string    `ch:"removed_by_pass"`
	Injected  string    `ch:"injected"`
	Target    string    `ch:"target"`
	Replaced  string    `ch:"replaced_by"`
	Named     bool      `ch:"named"`
	Stream    string    `ch:"incarnation"`
	Sequence  uint64    `ch:"stream_seq"`
}

// Way answers as the query why does, with its arguments.
func Way(ctx context.Context, l *ledger.Ledger, arguments map[string]string) ([]Step, error) {
	r, err := newReader(ctx, l, "why", arguments)
	if err != nil {
		return nil, err
	}
	var entries []entryRow
	var placed []shownRow
	var gaps []stepRow
	parts := make([][]stepRow, 7)
	err = together(into(ctx, r, &entries, "way_log", "context.log."), into(ctx, r, &placed, "way_placements", "context.assembly.", "context.injection."), into(ctx, r, &parts[0], "way_items", "context.item.", "context.erasure."), into(ctx, r, &parts[1], "way_erased"),
		into(ctx, r, &parts[2], "way_decisions", "context.surface.", "context.selection."), into(ctx, r, &parts[3], "way_budgets", "context.budget."), into(ctx, r, &parts[4], "way_redactions", "context.redaction."), into(ctx, r, &gaps, "way_missing", "context.missing."))
	if err != nil {
		return nil, err
	}
	steps, inLog := logged(entries)
	shown, visible := shownIn(placed)
	r = r.with("tool_call_id", inLog.tool, "thread_id", inLog.thread, "position", strconv.FormatInt(inLog.position, 10))
	reads := []func() error{into(ctx, r, &parts[5], "way_replacements", "context.elision.", "context.compaction.")}
	if inLog.position != nowhere && !visible {
		reads = append(reads, into(ctx, r, &parts[6], "way_calls", "context.usage."))
	}
	if err := together(reads...); err != nil {
		return nil, err
	}
	for i := range parts[6] {
		parts[6][i].Position = &inLog.position
	}
	limit, err := strconv.Atoi(r.given["limit"])
	if err != nil {
		return nil, fmt.Errorf("limit: %w", err)
	}
	return inOrder(slices.Concat(steps, shown, naming(gaps), slices.Concat(parts...)), r.given["turn_id"], limit), nil
}

// nowhere is the position of an item that has none in the log.
const nowhere = math.MinInt64

// place is where an item stands in the log, and the tool call that it answers.
type place struct {
	position     int64
	thread, tool string
}

func logged(entries []entryRow) (steps []stepRow, at place) {
	at.position = nowhere
	for i, e := range entries {
		if i == 0 {
			at.thread = e.Thread
		}
		if e.Position != nil && (at.position == nowhere || *e.Position < at.position) {
			at.position = *e.Position
		}
		if at.tool == "" && e.Type == "function_call_output" {
			at.tool = e.Tool
		}
		steps = append(steps, stepRow{Order: orderLogged, Step: Step{
			Recorded: e.Recorded, Happened: e.Happened, Turn: e.Turn, Call: e.Call, Step: "logged", Record: e.ID, Position: e.Position, Before: e.Tokens, After: e.Tokens, Note: e.Type,
			Stream: e.Stream, Sequence: e.Sequence,
		}})
	}
	return steps, at
}

// shownIn are the steps of assemblies that hold the item and of what was made visible
// or withdrawn, of them or of the item. It says whether an assembly holds the item.
func shownIn(placed []shownRow) (steps []stepRow, held bool) {
	positions := make(map[string]*int64) // by assembly
	for _, p := range placed {
		if _, ok := positions[p.Assembly]; !ok && p.Kind == "assembly" {
			positions[p.Assembly] = &p.Place
		}
	}
	for _, p := range placed {
		s := Step{Recorded: p.Recorded, Happened: p.Happened, Turn: p.Turn, Call: p.Call, Position: positions[p.Assembly], Stream: p.Stream, Sequence: p.Sequence}
		if p.Kind == "assembly" {
			s.Step, s.Record, s.Position, s.Before, s.After, s.Reason, s.Note, s.StandIn = "assembled", p.Assembly, &p.Place, p.Tokens, p.Tokens, p.Redaction, p.Layer, p.Target
			steps = append(steps, stepRow{Step: s, Order: orderAssembled})
			continue
		}
		if _, ok := positions[p.Assembly]; !p.Named && (!ok || p.Assembly == "") {
			continue
		}
		s.Step, s.Record, s.Reason, s.Note, s.StandIn = "injected", p.Record, p.Pass, p.Injected, p.Assembly
		if p.Kind == "removal" {
			s.Step, s.StandIn = "withdrawn", p.Replaced
		}
		steps = append(steps, stepRow{Step: s, Order: orderInjected})
	}
	return steps, len(positions) > 0
}

// naming are the steps of the gaps that name the item in one of them.
func naming(gaps []stepRow) []stepRow {
	named := make(map[string]bool)
	for _, g := range gaps {
		named[g.Record] = named[g.Record] || g.Named
	}
	return slices.DeleteFunc(gaps, func(g stepRow) bool { return !named[g.Record] })
}

// inOrder sorts steps as the stream has them, takes what is stored twice once, and
// leaves out the calls that came after a summary that stands for the item.
func inOrder(rows []stepRow, turn string, limit int) (steps []Step) {
	var summaries []int64
	for _, row := range rows {
		if row.Order == orderCompacted {
			summaries = append(summaries, row.Place)
		}
	}
	var cut int64
	if len(summaries) > 0 {
		cut = slices.Min(summaries)
	}
	slices.SortStableFunc(rows, func(a, b stepRow) int {
		return cmp.Or(a.Recorded.Compare(b.Recorded), cmp.Compare(a.Sequence, b.Sequence), cmp.Compare(a.Order, b.Order), cmp.Compare(a.Record, b.Record))
	})
	type key struct {
		stream   string
		sequence uint64
		order    uint8
	}
	seen := make(map[key]bool)
	for _, row := range rows {
		k := key{row.Stream, row.Sequence, row.Order}
		if seen[k] || row.Order == orderSeen && cut != 0 && row.Place >= cut || len(steps) == limit {
			continue
		}
		seen[k] = true
		row.InTurn = row.Turn == turn && turn != ""
		steps = append(steps, row.Step)
	}
	return steps
}
