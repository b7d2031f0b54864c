package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
)

// conservation checks candidates = selected + omitted for each selection, over all of its parts.
// Each omission needs a reason. The sets of a selection stay in memory until the selection is
// decided.
type conservation struct {
	found   *findings
	open    map[uint64]*choice
	checked int64
}

// choice is a selection with parts still to come.
type choice struct {
	id         string
	line       int64 // line of the last part
	considered []string
	selected   []string
	omitted    []string
	parts      int64          // number of parts; 0 until a part states it
	seen       map[int64]bool // parts read
	decided    bool
}

func (c *conservation) of(e *schema.Event, s *schema.Selection) *choice {
	key := hashOf(schema.TenantOf(e.Tenant), e.SessionID, e.AttemptID, s.SelectionID)
	if c.open[key] == nil {
		c.open[key] = &choice{id: s.SelectionID, seen: make(map[int64]bool)}
	}
	choice := c.open[key]
	for _, ref := range s.Candidates {
		choice.considered = append(choice.considered, ref.ID())
	}
	return choice
}

func (c *conservation) considered(e *schema.Event, s *schema.Selection) {
	if len(s.Candidates) > 0 {
		c.of(e, s)
	}
}

func (c *conservation) decided(e *schema.Event, s *schema.SelectionCompleted, line int64) {
	ch := c.of(e, &s.Selection)
	ch.line, ch.decided = line, true
	for i := range s.Selected {
		ch.selected = append(ch.selected, s.Selected[i].ItemRef.ID())
	}
	for i := range s.Omitted {
		id := s.Omitted[i].ItemRef.ID()
		ch.omitted = append(ch.omitted, id)
		if s.Omitted[i].Reason == "" {
			c.found.fault(Conservation, Fault{pack.EventsFile, line, "/data/omitted_item_refs/" + fmt.Sprint(i), "selection " + quote(s.SelectionID) + " omits " + quote(id) + " without a reason"})
		}
	}
	if s.Part != nil && s.Parts != nil && *s.Parts > 1 {
		ch.parts = max(ch.parts, *s.Parts)
		ch.seen[*s.Part] = true
		if int64(len(ch.seen)) < ch.parts {
			return
		}
	}
	c.check(ch)
	delete(c.open, hashOf(schema.TenantOf(e.Tenant), e.SessionID, e.AttemptID, s.SelectionID))
}

// check compares the sets of a decided selection.
func (c *conservation) check(ch *choice) {
	c.checked++
	considered, selected, omitted := setOf(ch.considered), setOf(ch.selected), setOf(ch.omitted)
	fault := func(problem string, ids []string) {
		if len(ids) > 0 {
			c.found.faultf(Conservation, pack.EventsFile, ch.line, "selection %s: %s: %s", quote(ch.id), problem, list(ids))
		}
	}
	within := func(set []string, id string) bool {
		_, ok := slices.BinarySearch(set, id)
		return ok
	}
	var neither, both, strange []string
	for _, id := range considered {
		if !within(selected, id) && !within(omitted, id) {
			neither = append(neither, id)
		}
	}
	for _, id := range selected {
		if within(omitted, id) {
			both = append(both, id)
		}
	}
	if len(considered) > 0 {
		for _, id := range setOf(slices.Concat(selected, omitted)) {
			if !within(considered, id) {
				strange = append(strange, id)
			}
		}
	}
	fault("neither selected nor omitted", neither)
	fault("both selected and omitted", both)
	fault("selected or omitted, but not a candidate", strange)
}

// finish reports selections with parts outside of the pack.
func (c *conservation) finish(v *verifier) {
	for _, ch := range c.open {
		if ch.decided && !v.facts.lost {
			c.found.faultf(Conservation, pack.EventsFile, ch.line, "selection %s: only %d of %d parts are in the pack", quote(ch.id), len(ch.seen), ch.parts)
		}
	}
	if v.totals.withheld > 0 && c.checked == 0 {
		c.found.settle(Conservation, NotChecked, "the records are withheld")
		return
	}
	c.found.settle(Conservation, Passed, "selections with all candidates either selected or omitted: %d", c.checked)
}

func setOf(ids []string) []string {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// quote escapes and shortens an id of the pack for printing.
func quote(id string) string {
	const most = 120
	if len(id) > most {
		id = strings.ToValidUTF8(id[:most], "") + "…"
	}
	return fmt.Sprintf("%q", id)
}

// list returns the first few ids.
func list(ids []string) string {
	const most = 5
	var quoted []string
	for _, id := range ids[:min(len(ids), most)] {
		quoted = append(quoted, quote(id))
	}
	text := strings.Join(quoted, ", ")
	if more := len(ids) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
