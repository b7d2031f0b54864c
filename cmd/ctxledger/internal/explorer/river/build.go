package river

import (
	"cmp"
	"slices"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
)

// Answers are the rows about one session that a river is drawn from.
type Answers struct {
	Session    answer.Row   // of sessions
	Calls      []answer.Row // of river
	Layers     []answer.Row // of call-layers
	Corrected  []answer.Row // of corrected-windows
	Boundaries []answer.Row // of compaction-boundaries
	Gaps       []answer.Row // of gaps
	Redactions []answer.Row // of redactions
}

// callKey names a call of a session: ids of calls may repeat in other turns.
type callKey struct{ turn, call string }

// recordKey names the usage record of a call: two attempts may have a call of the same id.
type recordKey struct {
	callKey
	at int64 // nanoseconds
}

// Of combines the answers.
func Of(a Answers) River {
	r := River{
		Session: a.Session.Text("session_id"), Tenant: a.Session.Text("tenant"),
		Agents: a.Session.Texts("agents"), Models: a.Session.Texts("models"),
		Started: a.Session.Moment("started_at"), Ended: a.Session.Moment("ended_at"),
		Turns:      a.Session.Count("turns"),
		Redactions: len(a.Redactions), Gaps: len(a.Gaps),
	}
	layers := make(map[recordKey][]answer.Row)
	for _, row := range a.Layers {
		k := recordKey{callKey{row.Text("turn_id"), row.Text("call_id")}, row.Moment("event_time").UnixNano()}
		layers[k] = append(layers[k], row)
	}
	corrected := make(map[recordKey]answer.Row)
	for _, row := range a.Corrected {
		corrected[recordKey{callKey{row.Text("turn_id"), row.Text("call_id")}, row.Moment("event_time").UnixNano()}] = row
	}
	withheld, gaps := count(a.Redactions), count(a.Gaps)
	var calls []Call
	recorded, unexplained := make(map[string]bool), false
	for _, row := range a.Calls {
		c := callOf(row)
		k := callKey{c.Turn, c.Call}
		own := layers[recordKey{k, c.At.UnixNano()}]
		stack(&c, own)
		if row := corrected[recordKey{k, c.At.UnixNano()}]; row != nil {
			c.Corrected, c.CorrectedError = row.Number("corrected_tokens"), row.Float("corrected_error")
		}
		c.Withheld, c.Gaps = withheld[k], gaps[k]
		if c.Top() == 0 {
			r.Windowless++
			continue
		}
		for _, l := range own {
			recorded[l.Text("layer")] = recorded[l.Text("layer")] || l.Count("tokens") > 0
		}
		u := c.Unexplained()
		unexplained = unexplained || u != nil && *u > 0
		r.Unsized = r.Unsized || c.Unsized > 0
		r.Billed = r.Billed || c.Billed != nil
		calls = append(calls, c)
	}
	for name, seen := range recorded {
		if !seen {
			delete(recorded, name)
		}
	}
	for _, row := range a.Gaps {
		if row["is_open"] == true {
			r.OpenGaps++
		}
	}
	// The query of the calls leaves out those that no model answered. The session counts them.
	r.Windowless = max(r.Windowless, int(a.Session.Count("calls"))-len(calls))
	r.Calls, r.Keys = len(calls), keys(recorded, unexplained, r.Unsized)
	slices.SortStableFunc(calls, func(a, b Call) int { return a.At.Compare(b.At) })
	for i := range calls {
		calls[i].Number = i + 1
	}
	r.Threads = threads(calls)
	cut(&r, a.Boundaries)
	markChildren(&r)
	return r
}

func count(rows []answer.Row) map[callKey]int {
	n := make(map[callKey]int)
	for _, row := range rows {
		n[callKey{row.Text("turn_id"), row.Text("call_id")}]++
	}
	return n
}

func callOf(row answer.Row) Call {
	c := Call{
		Thread: row.Text("thread_id"), Run: row.Text("run_id"), ParentRun: row.Text("parent_run_id"), Agent: row.Text("agent"),
		Turn: row.Text("turn_id"), Call: row.Text("call_id"), Attempt: row.Text("attempt_id"), Model: row.Text("model"),
		At: row.Moment("event_time"), Limit: row.Number("max_tokens"), Billed: row.Number("window_tokens"), Estimated: row.Number("window_expected"),
		Read: row.Number("cache_read"), Written: row.Number("cache_written"),
		Prefix: row.Number("prefix_tokens"), Fresh: row.Number("new_tokens"), Again: row.Number("penalty_tokens"),
		Lost: row.Number("lost_tokens"), Cause: row.Text("cause"), Pause: row.Float("gap_seconds"),
		Cost: row.Float("recorded_cost"), Currency: row.Text("recorded_currency"),
		Threshold: row.Number("threshold_tokens"), BreakCost: row.Float("break_cost"), Reason: row.Text("cache_miss_reason"),
		Fidelity: row.Text("fidelity"), Coverage: row.Text("coverage"), Lacks: row.Texts("coverage_reasons"),
	}
	if c.Cost == nil {
		c.Cost, c.Currency = row.Float("at_least_cost"), row.Text("priced_currency")
		c.AtLeast = c.Cost != nil && row.Text("cost_lacks") != ""
	}
	if c.Billed != nil && (c.Read != nil || c.Written != nil) {
		rest := *c.Billed
		for _, part := range []*int64{c.Read, c.Written} {
			if part != nil {
				rest -= *part
			}
		}
		c.Neither = new(max(0, rest))
	}
	return c
}

// stack fills the bands of a call from the bottom up.
func stack(c *Call, rows []answer.Row) {
	sizes := make(map[Layer]int64)
	for _, row := range rows {
		n := row.Number("tokens")
		if n == nil {
			c.Unsized++
			continue
		}
		sizes[LayerOf(row.Text("layer"))] += max(0, *n)
		c.layered += max(0, *n)
	}
	scale := 1.0
	if c.Billed != nil && c.layered > *c.Billed {
		scale = float64(*c.Billed) / float64(c.layered)
	}
	if u := c.Unexplained(); u != nil && *u > 0 {
		sizes[Unexplained] = *u
	}
	for _, l := range Layers {
		if n := sizes[l]; n > 0 {
			drawn := float64(n)
			if l != Unexplained {
				drawn *= scale
			}
			c.Bands = append(c.Bands, Band{l, n, drawn})
		}
	}
}

// threads groups the calls by thread and child run. The one with the most calls is first.
func threads(calls []Call) (list []Thread) {
	index := make(map[[2]string]int)
	for _, c := range calls {
		k := [2]string{c.Thread, ""}
		if c.ParentRun != "" {
			k[1] = c.Run
		}
		i, ok := index[k]
		if !ok {
			i = len(list)
			index[k] = i
			list = append(list, Thread{ID: c.Thread, Run: c.Run, ParentRun: c.ParentRun, Agent: c.Agent})
		}
		list[i].Calls = append(list[i].Calls, c)
	}
	slices.SortStableFunc(list, func(a, b Thread) int {
		return cmp.Or(cmp.Compare(len(b.Calls), len(a.Calls)), a.Calls[0].At.Compare(b.Calls[0].At))
	})
	return list
}

// cut places each boundary before the first call of its thread that is later.
func cut(r *River, rows []answer.Row) {
	for _, row := range rows {
		c := Cut{
			Thread: row.Text("thread_id"), Kind: row.Text("kind"), Record: row.Text("uuid"), At: row.Moment("timestamp"), Trigger: row.Text("trigger"),
			Before: row.Number("pre_tokens"), After: row.Number("next_call_window"), Saved: row.Number("tokens_saved"),
		}
		if c.IsCompaction() {
			r.Compactions++
		} else {
			r.Elisions++
		}
		for i := range r.Threads {
			if t := &r.Threads[i]; t.ID == c.Thread {
				t.place(c, row.Text("next_call_id"))
				break
			}
		}
	}
}

func (t *Thread) place(c Cut, next string) {
	i := slices.IndexFunc(t.Calls, func(call Call) bool { return call.Call == next && !call.At.Before(c.At.Add(-time.Hour)) })
	if i < 0 {
		i = slices.IndexFunc(t.Calls, func(call Call) bool { return !call.At.Before(c.At) })
	}
	if i >= 0 {
		call := &t.Calls[i]
		c.Next = call.Number
		if c.IsCompaction() && c.After == nil {
			c.After = new(call.Top())
		}
		if !c.IsCompaction() {
			call.Elided++
		}
	}
	t.Cuts = append(t.Cuts, c)
}

// markChildren counts the child runs at the call that was the last of the parent run before the
// child's first call, and notes that call at the child.
func markChildren(r *River) {
	for c := range r.Threads {
		child := &r.Threads[c]
		if child.ParentRun == "" {
			continue
		}
		began := child.Calls[0].At
		for i := range r.Threads {
			t := &r.Threads[i]
			for j := len(t.Calls) - 1; j >= 0 && t.Calls[j].Run == child.ParentRun; j-- {
				if !t.Calls[j].At.After(began) {
					t.Calls[j].ChildRuns++
					child.Began = t.Calls[j].Number
					break
				}
			}
		}
	}
}
