package verify

import (
	"fmt"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
)

// stream is where sequences are contiguous.
type stream struct{ tenant, session, source string }

// completeness holds sealed scopes against the sequences that are there. It keeps
// ranges, a few for each source of a session, and the seals.
type completeness struct {
	found   *findings
	seen    map[stream]*ranges
	dropped map[stream]*ranges // used up by facts that a producer had to drop
	erased  map[stream]*ranges // of expired records, as proven facts of erasures have it
	// elsewhere are those that the exporter says are facts outside of the pack's scope.
	elsewhere map[stream]*ranges
	// placed counts expired records whose sequences a fact tells, unplaced those of
	// which none does.
	placed, unplaced int64
	seals            []seal
}

// seal is an envelope: which sequences its scope has.
type seal struct {
	line      int64
	id, scope string
	tenant    string
	ids       schema.Correlation
	sequences []schema.SequenceRanges
}

func rangesOf(of map[stream]*ranges, s stream) *ranges {
	if of[s] == nil {
		of[s] = &ranges{}
	}
	return of[s]
}

func (c *completeness) sequence(e *schema.Event) {
	if e.Sequence != nil {
		rangesOf(c.seen, stream{schema.TenantOf(e.Tenant), e.SessionID, e.Source}).add(*e.Sequence)
	}
}

func (c *completeness) seal(e *schema.Event, f *schema.EnvelopeCreated, line int64) {
	c.seals = append(c.seals, seal{line, f.ContextID, f.Scope, schema.TenantOf(e.Tenant), e.Correlation, f.Sequences})
}

func (c *completeness) drop(e *schema.Event, f *schema.FactsDropped) {
	for _, s := range f.Sequences {
		for _, r := range s.Ranges {
			rangesOf(c.dropped, stream{schema.TenantOf(e.Tenant), e.SessionID, s.Source}).addRange(r[0], r[1])
		}
	}
}

// finish answers for every sealed scope, and for that of the pack.
func (c *completeness) finish(v *verifier) {
	contentless := c.unplaced + v.totals.withheld
	var complete, provable, beyond int
	var asked *seal
	for _, e := range v.header.Elsewhere {
		for _, r := range e.Ranges {
			rangesOf(c.elsewhere, stream{schema.TenantOf(v.header.Scope.Tenant), v.header.Scope.Session, e.Source}).addRange(r[0], r[1])
		}
	}
	for i := range c.seals {
		s := &c.seals[i]
		if !s.within(v.header.Scope) {
			beyond++
			continue
		}
		if s.is(v.header.Scope) {
			asked = s
		}
		if len(s.sequences) == 0 {
			c.found.note(Completeness, "%s: its producer keeps no sequences, so that it is not provable", s)
			continue
		}
		provable++
		whole, gone := c.check(s, contentless)
		if whole {
			complete++
		}
		if gone > 0 {
			c.found.note(Completeness, "%s: sequences of it that are expired: %d", s, gone)
		}
	}
	if v.totals.withheld > 0 && len(c.seals) == 0 {
		c.found.settle(Completeness, Open, "the records are withheld, so that no sealed scope can be seen")
		return
	}
	within := fmt.Sprintf("sealed scopes: %d, of which complete: %d", provable, complete)
	if beyond > 0 {
		c.found.note(Completeness, "sealed scopes that go beyond the %s of the pack, which cannot show whether all of theirs is recorded: %d", v.header.Scope.Kind, beyond)
	}
	if c.placed > 0 {
		within += fmt.Sprintf("; records expired: %d", c.placed)
	}
	switch {
	case asked == nil:
		c.found.settle(Completeness, Open, "the %s of the pack was not sealed, so that more facts may have been recorded; %s", v.header.Scope.Kind, within)
	case len(asked.sequences) == 0:
		c.found.settle(Completeness, Open, "the producer of the pack's %s keeps no sequences; %s", v.header.Scope.Kind, within)
	case complete < provable:
		c.found.settle(Completeness, Open, "facts of sealed scopes are known not to be here; %s", within)
	default:
		c.found.settle(Completeness, Passed, "%s", within)
	}
}

func (s *seal) String() string {
	return fmt.Sprintf("%s %s at line %d", s.scope, quote(s.id), s.line)
}

// within reports whether all that the seal is about is of a pack's scope.
func (s *seal) within(scope pack.Scope) bool {
	return s.tenant == schema.TenantOf(scope.Tenant) && scope.Seals(s.scope) && scope.Has(&s.ids)
}

// is reports whether the seal is that of a pack's scope.
func (s *seal) is(scope pack.Scope) bool { return s.scope == scope.Kind && s.within(scope) }

// check reports whether all sequences of a scope are there, and names those that
// are not. Records without content may be they: their sequence is gone with it, unless
// the fact of their erasure has it. expired is how many were found so.
func (c *completeness) check(s *seal, contentless int64) (whole bool, expired int64) {
	whole = true
	for _, source := range s.sequences {
		at := stream{s.tenant, s.ids.SessionID, source.Source}
		var lacking, dropped, elsewhere [][2]int64
		for _, r := range source.Ranges {
			for _, absent := range c.seen[at].without(r[0], r[1]) {
				gaps := c.erased[at].without(absent[0], absent[1])
				expired += count([][2]int64{absent}) - count(gaps)
				for _, gap := range gaps {
					rest := c.dropped[at].without(gap[0], gap[1])
					if count(rest) < count([][2]int64{gap}) {
						dropped = append(dropped, gap)
					}
					for _, r := range rest {
						left := c.elsewhere[at].without(r[0], r[1])
						if count(left) < count([][2]int64{r}) {
							elsewhere = append(elsewhere, r)
						}
						lacking = append(lacking, left...)
					}
				}
			}
		}
		if len(dropped) > 0 {
			whole = false
			c.found.note(Completeness, "%s: the producer %s dropped facts within the sequences %s", s, quote(source.Source), spans(dropped))
		}
		if len(elsewhere) > 0 {
			whole = false
			c.found.note(Completeness, "%s: it names facts of %s that are not of what was asked for, as the exporter says, within the sequences %s", s, quote(source.Source), spans(elsewhere))
		}
		if len(lacking) == 0 {
			continue
		}
		whole = false
		if count(lacking) <= contentless {
			c.found.note(Completeness, "%s: sequences %s of %s are not among the records that have content; %d records have none", s, spans(lacking), quote(source.Source), contentless)
			continue
		}
		for _, gap := range lacking {
			c.found.faultf(Completeness, pack.EventsFile, 0, "%s: sequence %s of %s is missing, %s", s, spans([][2]int64{gap}), quote(source.Source), position(source.Ranges, gap))
		}
	}
	return whole, expired
}

// position says where in a scope a gap is.
func position(scope [][2]int64, gap [2]int64) string {
	first, last := scope[0][0], scope[len(scope)-1][1]
	switch {
	case gap[0] == first && gap[1] == last:
		return "which is all of it"
	case gap[0] == first:
		return "the first of it"
	case gap[1] == last:
		return "the last of it"
	}
	return "in the middle of it"
}

// spans writes ranges as 3, 5–7.
func spans(list [][2]int64) string {
	text := ""
	for i, r := range list {
		switch {
		case i == 8:
			return text + fmt.Sprintf(" and %d more ranges", len(list)-i)
		case i > 0:
			text += ", "
		}
		text += fmt.Sprint(r[0])
		if r[1] > r[0] {
			text += "–" + fmt.Sprint(r[1])
		}
	}
	return text
}
