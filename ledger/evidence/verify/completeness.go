package verify

import (
	"fmt"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
)

// stream identifies one series of contiguous sequences.
type stream struct{ tenant, session, source string }

// completeness compares sealed scopes with the sequences in the pack. Memory holds the seals, and a
// few ranges for each source of a session.
type completeness struct {
	found   *findings
	seen    map[stream]*ranges
	dropped map[stream]*ranges // sequences of facts that a producer had to drop
	erased  map[stream]*ranges // sequences of expired records, from proven erasure facts
	// elsewhere holds the sequences that the exporter lists as facts outside of the pack's scope.
	elsewhere map[stream]*ranges
	// placed counts expired records with a sequence from an erasure fact. unplaced counts expired
	// records without a sequence.
	placed, unplaced int64
	seals            []seal
}

// seal is an envelope with the sequences of its scope.
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

// finish answers the question for every sealed scope and for the scope of the pack.
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
			c.found.note(Completeness, "%s: its producer does not number its facts, so completeness is not provable", s)
			continue
		}
		provable++
		whole, gone := c.check(s, contentless)
		if whole {
			complete++
		}
		if gone > 0 {
			c.found.note(Completeness, "%s: expired sequences: %d", s, gone)
		}
	}
	if v.totals.withheld > 0 && len(c.seals) == 0 {
		c.found.settle(Completeness, Open, "the records are withheld, so sealed scopes cannot be read")
		return
	}
	within := fmt.Sprintf("sealed scopes: %d, of which complete: %d", provable, complete)
	if beyond > 0 {
		c.found.note(Completeness, "sealed scopes that extend beyond the %s of the pack and cannot be checked with this pack: %d", v.header.Scope.Kind, beyond)
	}
	if c.placed > 0 {
		within += fmt.Sprintf("; records expired: %d", c.placed)
	}
	switch {
	case asked == nil:
		c.found.settle(Completeness, Open, "the %s of the pack was not sealed, so further facts may exist; %s", v.header.Scope.Kind, within)
	case len(asked.sequences) == 0:
		c.found.settle(Completeness, Open, "the producer of the pack's %s does not number its facts; %s", v.header.Scope.Kind, within)
	case complete < provable:
		c.found.settle(Completeness, Open, "some facts of sealed scopes are known to be missing from the pack; %s", within)
	default:
		c.found.settle(Completeness, Passed, "%s", within)
	}
}

func (s *seal) String() string {
	return fmt.Sprintf("%s %s at line %d", s.scope, quote(s.id), s.line)
}

// within reports whether the whole scope of the seal lies within a pack's scope.
func (s *seal) within(scope pack.Scope) bool {
	return s.tenant == schema.TenantOf(scope.Tenant) && scope.Seals(s.scope) && scope.Has(&s.ids)
}

// is reports whether the seal seals exactly a pack's scope.
func (s *seal) is(scope pack.Scope) bool { return s.scope == scope.Kind && s.within(scope) }

// check reports whether all sequences of a scope are present, and reports the missing ones. A
// missing sequence can belong to a record without content, unless an erasure fact names its
// sequence. expired is the number of sequences from erasure facts.
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
			c.found.note(Completeness, "%s: the seal names facts of %s within the sequences %s; the exporter lists these facts as outside of the requested scope", s, quote(source.Source), spans(elsewhere))
		}
		if len(lacking) == 0 {
			continue
		}
		whole = false
		if count(lacking) <= contentless {
			c.found.note(Completeness, "%s: sequences %s of %s are not found among the records with content; %d records have no content", s, spans(lacking), quote(source.Source), contentless)
			continue
		}
		for _, gap := range lacking {
			c.found.faultf(Completeness, pack.EventsFile, 0, "%s: sequence %s of %s is missing, %s", s, spans([][2]int64{gap}), quote(source.Source), position(source.Ranges, gap))
		}
	}
	return whole, expired
}

// position describes the place of a gap in a scope.
func position(scope [][2]int64, gap [2]int64) string {
	first, last := scope[0][0], scope[len(scope)-1][1]
	switch {
	case gap[0] == first && gap[1] == last:
		return "the whole scope"
	case gap[0] == first:
		return "the beginning of the scope"
	case gap[1] == last:
		return "the end of the scope"
	}
	return "in the middle of the scope"
}

// spans formats ranges as 3, 5–7.
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
