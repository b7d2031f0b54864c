package window

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Step is one rung of the pressure ladder of seed 000.
type Step string

// The five steps, in the seed's order.
const (
	DropRetrieved      Step = "drop_retrieved"       // 1: drop nonessential retrieved context
	TrimMessages       Step = "trim_messages"        // 2: trim old messages
	SummarizeMessages  Step = "summarize_messages"   // 3: summarise old messages
	CompactToolOutputs Step = "compact_tool_outputs" // 4: compact tool outputs
	ContextLimit       Step = "context_limit"        // 5: fail with a context-limit error
)

// Steps returns the five steps in the seed's order.
func Steps() []Step {
	return []Step{DropRetrieved, TrimMessages, SummarizeMessages, CompactToolOutputs, ContextLimit}
}

// Number returns the seed's number of the step, 1 to 5, in any order of a policy. An
// unknown step has number 0.
func (s Step) Number() int { return 1 + slices.Index(Steps(), s) }

// Outcome is the result of a step.
type Outcome string

// The outcomes of a step.
const (
	Applied      Outcome = "applied"      // the step changed the window, and the target is met
	Skipped      Outcome = "skipped"      // the target was met before the step
	Insufficient Outcome = "insufficient" // the step did all it could, and the target is not met
	Failed       Outcome = "failed"       // the runtime's function gave nothing usable, or the request cannot be sent
)

// Work is the runtime's function that writes a summary or shortens tool outputs. For
// SummarizeMessages, Work returns one Replacement with the id of a new item. For
// CompactToolOutputs, Work returns up to one Replacement per source item, named by Of[0].
// Work fills After and may fill Layer and State. For compaction, Work fills Of and may fill
// ID and ReloadRef. The planner fills the other fields. A replacement is not applied if it
// has no size, is not smaller than its source, or is a duplicate.
//
// Work runs synchronously. A panic in Work becomes the step's outcome. The caller must stop
// a Work that hangs, for example by a context, as the SDK does. For an equal plan, Work
// must give an equal answer.
type Work func(Request) ([]Replacement, error)

// Request asks the runtime for replacements.
type Request struct {
	Step   Step
	Source []string // item ids, in window order
	// Window holds the items that the earlier steps left, in order; Source is part of
	// Window.
	Window []Item
	Tokens int // current size of the source
	// Target is the largest total size of the replacements with which the step is enough.
	// Below 0 no replacement is enough.
	Target int
}

// ladder is the state of one Fit. Slices are parallel to items.
type ladder struct {
	items  []Item
	policy Policy
	work   Work
	limit  int
	target int

	together [][]int // result of units after the first call
	tokens   []int   // current size
	gone     []bool
	out      []Omission // reasons of the omitted items; nil before the first
	left     int        // number of remaining items
	total    int
	replacement
}

// replacement is the summary that replaces omitted items.
type replacement struct {
	summary  *Item
	insertAt int          // index before which the summary is inserted
	state    []Reinjected // state that follows the summary
}

func newLadder(items []Item, budget Budget, policy Policy, work Work) *ladder {
	l := &ladder{
		items: items, policy: policy, work: work,
		limit: budget.Limit(), target: policy.target(budget.Limit()),
		tokens: make([]int, len(items)), gone: make([]bool, len(items)), left: len(items),
	}
	for i := range items {
		l.tokens[i] = items[i].Tokens
		l.total += items[i].Tokens
	}
	return l
}

// exclude removes the items that the runtime excluded, with the other items of their tool
// calls.
func (l *ladder) exclude() error {
	if !slices.ContainsFunc(l.items, func(it Item) bool { return it.Excluded != "" }) {
		return nil
	}
	for _, unit := range l.units() {
		at := slices.IndexFunc(unit, func(i int) bool { return l.items[i].Excluded != "" })
		if at < 0 {
			continue
		}
		for _, i := range unit {
			why := Omission{Reason: l.items[i].Excluded}
			if why.Reason == "" {
				if l.items[i].Pinned {
					return &InvalidError{Field: "item.excluded", Ref: l.items[unit[at]].ID,
						Problem: "belongs to the same tool call as a pinned item; unpin it or do not exclude this item"}
				}
				why.Reason = l.items[unit[at]].Excluded
				why.Note = "goes with " + l.items[unit[at]].ID
			}
			l.omit(i, why)
		}
	}
	return nil
}

func (l *ladder) omit(i int, why Omission) {
	why.ID, why.Tokens = l.items[i].ID, l.items[i].Tokens
	if l.out == nil {
		l.out = make([]Omission, len(l.items))
	}
	l.out[i], l.gone[i] = why, true
	l.left--
	l.total -= l.tokens[i]
}

func (l *ladder) window() []Item {
	out := make([]Item, 0, l.left+1+len(l.state))
	for i := range l.items {
		if l.summary != nil && i == l.insertAt {
			out = append(out, *l.summary)
			for _, s := range l.state {
				out = append(out, s.Item)
			}
		}
		if !l.gone[i] {
			out = append(out, l.items[i])
			if last := &out[len(out)-1]; last.Tokens != l.tokens[i] {
				last.Kind, last.Tokens, last.Digest = KindStub, l.tokens[i], ""
			}
		}
	}
	ownCallIDs(out)
	return out
}

// ownCallIDs gives the items their own call ids, all in one array.
func ownCallIDs(items []Item) {
	n := 0
	for i := range items {
		n += len(items[i].CallIDs)
	}
	all := make([]string, 0, n)
	for i := range items {
		if items[i].CallIDs == nil {
			continue
		}
		from := len(all)
		all = append(all, items[i].CallIDs...)
		items[i].CallIDs = all[from:len(all):len(all)]
	}
}

// omitted returns the omitted items, in order, and reuses the memory of l.out.
func (l *ladder) omitted() []Omission {
	list := l.out[:0]
	for i, why := range l.out {
		if l.gone[i] {
			list = append(list, why)
		}
	}
	return list
}

// run runs one step and returns its result.
func (l *ladder) run(step Step) Rung {
	rung := Rung{Number: step.Number(), Step: step, TokensBefore: l.total}
	switch {
	case step == ContextLimit:
		rung.Outcome = Skipped
		if l.total > l.limit {
			rung.Outcome = Failed
		}
	case l.total <= l.target:
		rung.Outcome = Skipped
	default:
		l.apply(step, &rung)
	}
	rung.TokensAfter = l.total
	if rung.Outcome == "" {
		rung.Outcome = Insufficient
		if l.total <= l.target {
			rung.Outcome = Applied
		}
	}
	return rung
}

func (l *ladder) apply(step Step, rung *Rung) {
	switch step {
	case DropRetrieved:
		l.drop(rung, l.droppable())
	case TrimMessages:
		old := l.old(l.policy.TrimKeepFirst, l.policy.TrimKeepLast, false)
		l.drop(rung, old)
		if start := l.policy.TrimStartOn; start != "" && len(rung.Dropped) > 0 {
			l.dropBefore(rung, old, start)
		}
	case SummarizeMessages:
		l.summarize(rung)
	case CompactToolOutputs:
		l.compact(rung)
	}
}

// drop omits units, in this order, until the target is met.
func (l *ladder) drop(rung *Rung, candidates [][]int) {
	if len(candidates) == 0 {
		rung.Note = "nothing may be left out"
	}
	for _, unit := range candidates {
		if l.total <= l.target {
			return
		}
		if l.size(unit) == 0 {
			continue
		}
		l.leaveOut(rung, unit, "")
	}
}

// dropBefore omits the units before the first unit that begins with a message of the role.
func (l *ladder) dropBefore(rung *Rung, units [][]int, start string) {
	for _, unit := range units {
		switch {
		case l.gone[unit[0]]:
		case l.items[unit[0]].Role == start:
			return
		default:
			l.leaveOut(rung, unit, "the conversation begins with the role "+start)
		}
	}
}

func (l *ladder) leaveOut(rung *Rung, unit []int, note string) {
	for _, i := range unit {
		why := Omission{Reason: BudgetLimit, Step: rung.Step, Note: note}
		if l.items[i].Tokens > l.limit {
			why.Reason = TooLarge
		}
		l.omit(i, why)
		rung.Dropped = append(rung.Dropped, l.items[i].ID)
	}
}

// droppable returns the retrieved units that may be dropped, lowest priority first. Among
// units of equal priority the last is first, because retrievers list the best first.
func (l *ladder) droppable() [][]int {
	var out [][]int
	for _, unit := range l.units() {
		if l.every(unit, func(it *Item) bool { return it.Kind == KindRetrieved && !it.Essential && !it.Pinned }) {
			out = append(out, unit)
		}
	}
	slices.SortStableFunc(out, func(a, b []int) int {
		return cmp.Or(cmp.Compare(l.priority(a), l.priority(b)), cmp.Compare(b[0], a[0]))
	})
	return out
}

// old returns the conversation units between the first keepFirst and the last keepLast
// items, oldest first. Units that lie only partly between them are not included.
func (l *ladder) old(keepFirst, keepLast int, summaries bool) [][]int {
	var talk []int
	for i := range l.items {
		if !l.gone[i] && l.items[i].old(summaries) {
			talk = append(talk, i)
		}
	}
	if keepFirst >= len(talk) || keepLast >= len(talk)-keepFirst {
		return nil
	}
	from, to := talk[keepFirst], talk[len(talk)-1-keepLast]
	newest := l.newestUser()
	var out [][]int
	for _, unit := range l.units() {
		if unit[0] < from || unit[len(unit)-1] > to || slices.Contains(unit, newest) {
			continue
		}
		if l.every(unit, func(it *Item) bool { return !it.Pinned && it.old(summaries) }) {
			out = append(out, unit)
		}
	}
	return out
}

// newestUser returns the index of the newest user message in the window, or -1.
func (l *ladder) newestUser() int {
	for i := len(l.items) - 1; i >= 0; i-- {
		if !l.gone[i] && l.items[i].userMessage() {
			return i
		}
	}
	return -1
}

// every reports whether ok holds for all items of the unit and all of them are in the
// window.
func (l *ladder) every(unit []int, ok func(*Item) bool) bool {
	for _, i := range unit {
		if l.gone[i] || !ok(&l.items[i]) {
			return false
		}
	}
	return true
}

func (l *ladder) priority(unit []int) int {
	p := l.items[unit[0]].Priority
	for _, i := range unit[1:] {
		p = max(p, l.items[i].Priority)
	}
	return p
}

func (l *ladder) size(unit []int) int {
	sum := 0
	for _, i := range unit {
		sum += l.tokens[i]
	}
	return sum
}

func (l *ladder) summarize(rung *Rung) {
	source := slices.Concat(l.old(0, l.policy.SummarizeKeepLast, true)...)
	slices.Sort(source)
	if len(source) == 0 {
		rung.Note = "nothing may be summarised"
		return
	}
	request := l.request(rung.Step, source)
	answer, err := l.ask(request)
	switch {
	case err != nil:
		rung.Outcome, rung.Note = Failed, err.Error()
		return
	case len(answer) != 1:
		rung.Outcome, rung.Note = Failed, fmt.Sprintf("%d summaries came back, not one", len(answer))
		return
	}
	r := Replacement{Of: request.Source, ID: answer[0].ID, Layer: answer[0].Layer, Before: request.Tokens, After: answer[0].After, State: answer[0].State}
	if r.Layer == "" {
		r.Layer = LayerSummary
	}
	if note := l.refuse(r); note != "" {
		rung.Outcome, rung.Note = Failed, note
		return
	}
	for _, i := range source {
		l.omit(i, Omission{Reason: SupersededBySummary, Step: rung.Step, ReplacedBy: r.ID})
		rung.Dropped = append(rung.Dropped, l.items[i].ID)
	}
	l.summary = &Item{ID: r.ID, Layer: r.Layer, Kind: KindSummary, Role: RoleSystem, Tokens: r.After}
	l.insertAt, l.state = source[0], r.State
	l.total += r.size()
	rung.Replaced = []Replacement{r}
}

// refuse returns the reason why a summary cannot replace its source, or "".
func (l *ladder) refuse(r Replacement) string {
	switch {
	case r.ID == "":
		return "the summary has no id"
	case slices.ContainsFunc(l.items, func(it Item) bool { return it.ID == r.ID }):
		return "the summary has the id of another item"
	case r.After <= 0:
		return "the summary has no size"
	}
	known := map[string]bool{r.ID: true}
	for i := range l.items {
		known[l.items[i].ID] = true
	}
	for _, s := range r.State {
		switch {
		case s.Kind == "" || s.Item.ID == "" || s.Item.Tokens < 0:
			return "what is put back has no kind, no id or no size"
		case s.Item.Role == RoleAssistant:
			return "what is put back is what the model said, not state of the system"
		case known[s.Item.ID]:
			return "what is put back is among the candidates, or there twice"
		}
		known[s.Item.ID] = true
	}
	if r.size() >= r.Before {
		return ErrNotSmaller.Error()
	}
	return ""
}

func (l *ladder) compact(rung *Rung) {
	source := l.compactable()
	if len(source) == 0 {
		rung.Note = "no tool output may be compacted"
		return
	}
	sizes, err := l.compacted(l.request(rung.Step, source))
	if err != nil {
		rung.Outcome, rung.Note = Failed, err.Error()
		return
	}
	refused := 0
	for _, i := range source {
		if l.total <= l.target {
			return
		}
		r, ok := sizes[l.items[i].ID]
		if !ok || r.After <= 0 || r.After >= l.tokens[i] {
			refused++
			continue
		}
		r.Of, r.Before = []string{l.items[i].ID}, l.tokens[i]
		if reload := l.policy.CompactReloadRef; r.ReloadRef == "" && reload != nil {
			r.ReloadRef = reload(l.items[i])
		}
		l.total -= l.tokens[i] - r.After
		l.tokens[i] = r.After
		rung.Replaced = append(rung.Replaced, r)
	}
	if refused > 0 {
		rung.Note = fmt.Sprintf("%d of %d tool outputs came back no smaller, twice, or not at all", refused, len(source))
	}
	if refused == len(source) {
		rung.Outcome = Failed
	}
}

// compactable returns the tool results except the newest few, oldest first. Results that
// are no larger than a stub are not included.
func (l *ladder) compactable() []int {
	var results []int
	for i := range l.items {
		if l.items[i].Kind == KindToolResult && !l.gone[i] {
			results = append(results, i)
		}
	}
	results = results[:max(0, len(results)-l.policy.CompactKeepLast)]
	return slices.DeleteFunc(results, func(i int) bool {
		return l.items[i].Pinned || l.tokens[i] <= l.policy.CompactStubTokens
	})
}

func (l *ladder) compacted(request Request) (map[string]Replacement, error) {
	sizes := make(map[string]Replacement, len(request.Source))
	if stub := l.policy.CompactStubTokens; stub > 0 {
		for _, id := range request.Source {
			sizes[id] = Replacement{After: stub}
		}
		return sizes, nil
	}
	answer, err := l.ask(request)
	for _, r := range answer {
		if len(r.Of) != 1 {
			continue
		}
		if _, twice := sizes[r.Of[0]]; twice {
			r.After = 0 // a duplicate: the planner cannot choose between the two
		}
		sizes[r.Of[0]] = r
	}
	return sizes, err
}

func (l *ladder) request(step Step, source []int) Request {
	r := Request{Step: step, Source: make([]string, len(source))}
	for k, i := range source {
		r.Source[k] = l.items[i].ID
		r.Tokens += l.tokens[i]
	}
	r.Target = l.target - (l.total - r.Tokens)
	return r
}

// ask calls the runtime. Error texts of its function stay out of the plan, because they
// could quote content.
func (l *ladder) ask(r Request) (answer []Replacement, err error) {
	if l.work == nil {
		return nil, ErrNoWork
	}
	defer func() {
		if recover() != nil {
			answer, err = nil, ErrWorkPanicked
		}
	}()
	r.Source, r.Window = slices.Clone(r.Source), l.window()
	answer, err = l.work(r)
	for _, known := range []error{ErrWorkPanicked, ErrWorkTimeout, ErrNoWork} {
		if errors.Is(err, known) {
			return nil, known
		}
	}
	if err != nil {
		return nil, errors.New("the runtime's function returned an error")
	}
	return answer, nil
}
