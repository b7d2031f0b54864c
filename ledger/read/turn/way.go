package turn

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
)

// Fact holds the common columns of the facts of a session.
type Fact struct {
	Recorded time.Time `ch:"recorded_at"`
	Happened time.Time `ch:"event_time"`
	Turn     string    `ch:"turn_id"`
	Call     string    `ch:"call_id"`
	Stream   string    `ch:"incarnation"`
	Sequence uint64    `ch:"stream_seq"`
}

// Step is a row of the query why, and its fields are documented there.
type Step struct {
	Fact
	InTurn   bool               `ch:"in_turn"`
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
}

// The order of the steps of one event.
const (
	orderLogged     = 1
	orderAvailable  = 2
	orderConsidered = 3
	orderDecided    = 4
	orderAssembled  = 6
	orderInjected   = 7
	orderElided     = 8
	orderCompacted  = 9
	orderSeen       = 12
)

// stepRow is a step with its order among the steps of one event.
type stepRow struct {
	Step
	told
	Order uint8 `ch:"step_order"`
	Place int64 `ch:"place"` // in the thread
	Named bool  `ch:"named"` // the gap names the item
}

// entryRow is an entry of the log that is the item, or holds it.
type entryRow struct {
	Fact
	told
	ID       string `ch:"log_item_id"`
	Position *int64 `ch:"position"`
	Tokens   *int64 `ch:"tokens"`
	Type     string `ch:"item_type"`
	Thread   string `ch:"thread_id"`
	Tool     string `ch:"tool_call_id"`
}

// shownRow is an assembly that holds the item, or any injection or removal.
type shownRow struct {
	Fact
	told
	Kind      string `ch:"record_kind"`
	Record    string `ch:"record_id"`
	Assembly  string `ch:"assembly_id"`
	Block     uint32 `ch:"block"` // of the item; 1 is first
	Position  *int64 `ch:"position"`
	Tokens    *int64 `ch:"tokens"`
	Redaction string `ch:"redaction"`
	Layer     string `ch:"layer"`
	Pass      string `ch:"removed_by_pass"`
	Injection string `ch:"injection_kind"`
	Point     string `ch:"injection_point"`
	Target    string `ch:"target"`
	Replaced  string `ch:"replaced_by"`
	Named     bool   `ch:"named"`
	Attempt   string `ch:"attempt_id"`
	Order     *int64 `ch:"sequence"`
	Metadata  string `ch:"metadata"`
	based
}

// place is the place of the item in the window; 0 is first.
func (s shownRow) place() *int64 {
	if s.Position != nil {
		return s.Position
	}
	return new(s.keep() + int64(s.Block) - 1)
}

// how is the kind of an injection and its place, as text.
func (s shownRow) how() string {
	if s.Point == "" {
		return s.Injection
	}
	return s.Injection + " at " + s.Point
}

// decisionRow is a surface that offers the item, or a selection with the item as a candidate.
type decisionRow struct {
	Fact
	Kind        string             `ch:"record_kind"`
	Record      string             `ch:"record_id"`
	Surface     string             `ch:"surface_id"`
	SurfaceKind string             `ch:"surface_kind"`
	Query       string             `ch:"query"`
	Intent      string             `ch:"intent"`
	Policy      string             `ch:"policy"`
	Offered     uint64             `ch:"offered"` // its place among the candidates; 1 is first, 0 is not
	Decided     uint64             `ch:"decided"` // among those decided
	Outcome     string             `ch:"outcome"`
	Rank        *int64             `ch:"rank"`
	Score       *float64           `ch:"score"`
	Tokens      *int64             `ch:"tokens"`
	Reason      string             `ch:"reason"`
	Note        string             `ch:"note"`
	Signals     map[string]float64 `ch:"signals"`
}

// cutRow is an elision pass or a compaction of the session.
type cutRow struct {
	Fact
	told
	Order     *int64   `ch:"sequence"`
	Kind      string   `ch:"record_kind"`
	Change    string   `ch:"change"`
	Record    string   `ch:"record_id"`
	Trigger   string   `ch:"trigger"`
	Refs      []string `ch:"elided_refs"`
	Tools     []string `ch:"elided_tool_call_ids"`
	Positions []*int64 `ch:"elided_positions"`
	Befores   []*int64 `ch:"elided_before"`
	Afters    []*int64 `ch:"elided_after"`
	Levels    []string `ch:"elided_levels"`
	Reload    []string `ch:"elided_reload_refs"`
	Level     string   `ch:"level"`
	Policy    string   `ch:"policy"`
	Before    *int64   `ch:"tokens_before"`
	After     *int64   `ch:"tokens_after"`
	Lost      []string `ch:"loss_notes"`
	Method    string   `ch:"method"`
	Summary   string   `ch:"summary_ref"`
	Named     bool     `ch:"named"` // the compaction names the item as its source
	Kept      bool     `ch:"kept"`
	First     *int64   `ch:"first_position"`
	Last      *int64   `ch:"last_position"`
	Thread    string   `ch:"thread_id"`
	Source    string   `ch:"source_thread_id"`
}

// Way answers as the query why does, with its arguments.
func Way(ctx context.Context, l *ledger.Ledger, arguments map[string]string) ([]Step, error) {
	r, err := newReader(l, "why", arguments)
	if err != nil {
		return nil, err
	}
	return r.way(ctx)
}

func (r reader) way(ctx context.Context) ([]Step, error) {
	var entries []entryRow
	var placed, based []shownRow
	var decisions []decisionRow
	var cuts []cutRow
	var erasures []erasureRow
	var items, budgets, redactions, gaps, calls []stepRow
	var retold tellings
	err := together(
		into(ctx, r, (*[]told)(&retold), "retold"),
		into(ctx, r, &entries, "way_log"),
		into(ctx, r, &items, "way_items"),
		into(ctx, r, &placed, "way_placements"),
		into(ctx, r, &based, "way_based"),
		into(ctx, r, &decisions, "way_decisions"),
		into(ctx, r, &cuts, "way_replacements"),
		into(ctx, r, &erasures, "erasures"),
		into(ctx, r, &budgets, "way_budgets"),
		into(ctx, r, &redactions, "way_redactions"),
		into(ctx, r, &gaps, "way_missing"))
	if err != nil {
		return nil, err
	}
	items, cuts = without(retold, items), without(retold, cuts)
	steps, inLog := logged(without(retold, entries))
	shown, visible := shownIn(held(without(retold, placed), without(retold, based)))
	if inLog.position != nowhere && !visible {
		r := r.with("thread_id", inLog.thread, "position", strconv.FormatInt(inLog.position, 10), "retold", retold.of(r.given["tenant"]))
		if err := into(ctx, r, &calls, "way_calls")(); err != nil {
			return nil, err
		}
	}
	for i := range calls {
		calls[i].Position = &inLog.position
	}
	gone, err := erased(erasures, r.given["session_id"])
	if err != nil {
		return nil, err
	}
	limit, err := strconv.Atoi(r.given["limit"])
	if err != nil {
		return nil, fmt.Errorf("limit: %w", err)
	}
	rows := slices.Concat(steps, shown, naming(gaps), replaced(cuts, r.given["item_id"], inLog), items, expired(gone, r.given["item_id"]), decided(decisions), budgets, redactions, calls)
	return inOrder(rows, r.given["turn_id"], limit), nil
}

// nowhere is the position of an item that has none in the log.
const nowhere = math.MinInt64

// place is the place of an item in the log, with the tool call that it answers.
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
			Fact: e.Fact, Step: "logged", Record: e.ID, Position: e.Position, Before: e.Tokens, After: e.Tokens, Note: e.Type,
		}})
	}
	return steps, at
}

// shownIn are the steps of assemblies with the item, and of injections and withdrawals of them
// or of the item. The second result reports whether an assembly holds the item.
func shownIn(placed []shownRow) (steps []stepRow, held bool) {
	positions := make(map[string]*int64) // by assembly
	for _, p := range placed {
		if _, ok := positions[p.Assembly]; !ok && p.Kind == "assembly" {
			positions[p.Assembly] = p.place()
		}
	}
	for _, p := range placed {
		s := Step{Fact: p.Fact, Position: positions[p.Assembly]}
		if p.Kind == "assembly" {
			s.Step, s.Record, s.Position, s.Before, s.After, s.Reason, s.Note, s.StandIn = "assembled", p.Assembly, p.place(), p.Tokens, p.Tokens, p.Redaction, p.Layer, p.Target
			steps = append(steps, stepRow{Step: s, Order: orderAssembled})
			continue
		}
		if _, ok := positions[p.Assembly]; !p.Named && (!ok || p.Assembly == "") {
			continue
		}
		s.Step, s.Record, s.Reason, s.Note, s.StandIn = "injected", p.Record, p.Pass, p.how(), p.Assembly
		if p.Kind == "removal" {
			s.Step, s.StandIn = "withdrawn", p.Replaced
		}
		steps = append(steps, stepRow{Step: s, Order: orderInjected})
	}
	return steps, len(positions) > 0
}

// expired are the steps of the erasures that took the item.
func expired(gone []expiry, item string) (steps []stepRow) {
	for _, e := range gone {
		if e.item == item {
			steps = append(steps, stepRow{Step: Step{Fact: e.Fact, Step: "expired", Record: item, Reason: e.reason, Policy: e.policy}})
		}
	}
	return steps
}

// decided are the steps of surfaces that offered the item, and of selections with the item.
func decided(rows []decisionRow) (steps []stepRow) {
	for _, d := range rows {
		s := Step{Fact: d.Fact, Record: d.Record, Policy: d.Policy, StandIn: d.Surface}
		row := stepRow{Order: orderConsidered}
		switch surface := strings.HasPrefix(d.Kind, "surface"); {
		case d.Kind == "selection_completed" && d.Decided > 0:
			row.Order = orderDecided
			s.Step, s.Rank, s.Score, s.Before, s.After, s.Reason, s.Note, s.Signals = d.Outcome, d.Rank, d.Score, d.Tokens, d.Tokens, d.Reason, d.Note, d.Signals
		case d.Offered > 0 && surface:
			row.Order = orderAvailable
			s.Step, s.Record, s.Position, s.Note, s.StandIn = "available", d.Surface, new(int64(d.Offered)-1), d.SurfaceKind, ""
		case d.Offered > 0 && d.Decided == 0:
			s.Step, s.Note = "considered", cmp.Or(d.Query, d.Intent)
		default:
			continue
		}
		row.Step = s
		steps = append(steps, row)
	}
	return steps
}

// replaced are the steps of passes that elided or reloaded the item, and of compactions with
// the item.
func replaced(cuts []cutRow, item string, in place) (steps []stepRow) {
	for _, c := range cuts {
		row := stepRow{Order: orderElided, Place: sequenced{c.Order, c.Sequence}.place(), Step: Step{Fact: c.Fact, Record: c.Record, Reason: c.Trigger}}
		s := &row.Step
		if c.Kind == "compaction" {
			covered := in.position != nowhere && c.First != nil && c.Last != nil && *c.First <= in.position && in.position <= *c.Last && cmp.Or(c.Source, c.Thread) == in.thread
			if c.Change != "completed" || c.Kept || !c.Named && !covered {
				continue
			}
			row.Order = orderCompacted
			s.Step, s.Before, s.After, s.Note, s.Policy, s.StandIn = "compacted", c.Before, c.After, strings.Join(c.Lost, " · "), c.Method, c.Summary
			steps = append(steps, row)
			continue
		}
		i := slices.Index(c.Refs, item) + 1
		if i == 0 && in.tool != "" {
			i = slices.Index(c.Tools, in.tool) + 1
		}
		if i == 0 {
			continue
		}
		s.Step = "elided"
		if c.Change == "reloaded" {
			s.Step = "reloaded"
		}
		s.Position, s.Before, s.After, s.Note, s.Policy, s.StandIn = at(c.Positions, i), at(c.Befores, i), at(c.Afters, i), cmp.Or(at(c.Levels, i), c.Level), c.Policy, at(c.Reload, i)
		steps = append(steps, row)
	}
	return steps
}

// naming are the steps of the gaps that name the item in one of them.
func naming(gaps []stepRow) []stepRow {
	named := make(map[string]bool)
	for _, g := range gaps {
		named[g.Record] = named[g.Record] || g.Named
	}
	return slices.DeleteFunc(gaps, func(g stepRow) bool { return !named[g.Record] })
}

// inOrder sorts steps in stream order and drops repeated ones. Calls after a summary of the
// item are left out.
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
