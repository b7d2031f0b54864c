package turn

import (
	"cmp"
	"slices"
	"strings"
)

// Size is the row of the query call-size, and its fields are documented there.
type Size struct {
	Model            string   `ch:"model"`
	Max              *int64   `ch:"max_tokens"`
	Reserved         *int64   `ch:"reserved_tokens"`
	Billed           *int64   `ch:"billed_tokens"`
	CacheRead        *int64   `ch:"cache_read"`
	Output           *int64   `ch:"output_tokens"`
	Omitted          uint64   `ch:"omitted"`
	OmittedTokens    *int64   `ch:"omitted_tokens"`
	OmittedUnknown   uint64   `ch:"omitted_unknown"`
	OmissionReasons  []string `ch:"omission_reasons"`
	OmittedBy        []uint64 `ch:"omitted_by"`
	Shortened        []string `ch:"shortened_refs"`
	ShortenedBefore  []*int64 `ch:"shortened_before"`
	ShortenedAfter   []*int64 `ch:"shortened_after"`
	ShortenedHow     []string `ch:"shortened_how"`
	Redacted         []string `ch:"redacted_refs"`
	RedactedStates   []string `ch:"redacted_states"`
	RedactedPolicies []string `ch:"redacted_policies"`
	RedactedStandIn  []string `ch:"redacted_stand_in"`
}

// size holds the rows for a Size.
type size struct {
	usage      []callRow
	budgets    []budgetRow
	selections []selectionRow
	redactions []redactionRow
}

type budgetRow struct {
	Model      string   `ch:"model"`
	Max        *int64   `ch:"max_tokens"`
	Reserved   *int64   `ch:"reserved_tokens"`
	Refs       []string `ch:"truncated_refs"`
	Before     []*int64 `ch:"truncated_before"`
	After      []*int64 `ch:"truncated_after"`
	Strategies []string `ch:"truncated_strategies"`
}

type selectionRow struct {
	Items    []string `ch:"item_refs"`
	Outcomes []string `ch:"outcomes"`
	Tokens   []*int64 `ch:"tokens"`
	Reasons  []string `ch:"reasons"`
}

type redactionRow struct {
	Target   string   `ch:"target_ref"`
	State    string   `ch:"redaction_state"`
	Policies []string `ch:"policy_refs"`
	StandIn  string   `ch:"replacement_ref"`
}

// compareKnown orders numbers, unknown ones first.
func compareKnown(a, b *int64) int {
	switch {
	case a != nil && b != nil:
		return cmp.Compare(*a, *b)
	case a != nil:
		return 1
	case b != nil:
		return -1
	}
	return 0
}

func largest(a, b *int64) *int64 {
	if compareKnown(a, b) < 0 {
		return b
	}
	return a
}

func (s size) reckon() (r Size) {
	for _, b := range s.budgets {
		r.Model, r.Max, r.Reserved = max(r.Model, b.Model), largest(r.Max, b.Max), largest(r.Reserved, b.Reserved)
		r.Shortened, r.ShortenedBefore = append(r.Shortened, b.Refs...), append(r.ShortenedBefore, b.Before...)
		r.ShortenedAfter, r.ShortenedHow = append(r.ShortenedAfter, b.After...), append(r.ShortenedHow, b.Strategies...)
	}
	if len(s.usage) > 0 {
		bill := slices.MaxFunc(s.usage, func(a, b callRow) int {
			return cmp.Or(cmp.Compare(b.rank, a.rank), compareKnown(a.Output, b.Output), cmp.Compare(a.Model, b.Model), compareKnown(a.WindowSize, b.WindowSize), compareKnown(a.CacheRead, b.CacheRead))
		})
		r.Model, r.Billed, r.CacheRead, r.Output = cmp.Or(bill.Model, r.Model), bill.WindowSize, bill.CacheRead, bill.Output
	}
	s.leftOut(&r)
	for _, w := range s.redactions {
		r.Redacted, r.RedactedStates = append(r.Redacted, w.Target), append(r.RedactedStates, w.State)
		r.RedactedPolicies, r.RedactedStandIn = append(r.RedactedPolicies, strings.Join(w.Policies, ", ")), append(r.RedactedStandIn, w.StandIn)
	}
	return r
}

// leftOut counts the candidates that no selection took, and why not.
func (s size) leftOut(r *Size) {
	type candidate struct {
		selected, omitted bool
		size              *int64
		why               string
	}
	candidates := make(map[string]*candidate)
	for _, selection := range s.selections {
		for i, item := range selection.Items {
			c := candidates[item]
			if c == nil {
				c = new(candidate)
				candidates[item] = c
			}
			c.size = largest(c.size, selection.Tokens[i])
			switch selection.Outcomes[i] {
			case "selected":
				c.selected = true
			case "omitted":
				if !c.omitted {
					c.omitted, c.why = true, selection.Reasons[i]
				}
			}
		}
	}
	count := make(map[string]uint64)
	for _, c := range candidates {
		if c.selected {
			continue
		}
		r.Omitted++
		count[c.why]++
		if c.size == nil {
			r.OmittedUnknown++
		} else if r.OmittedTokens == nil {
			r.OmittedTokens = new(*c.size)
		} else {
			*r.OmittedTokens += *c.size
		}
	}
	for why := range count {
		r.OmissionReasons = append(r.OmissionReasons, why)
	}
	slices.SortFunc(r.OmissionReasons, func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
	for _, why := range r.OmissionReasons {
		r.OmittedBy = append(r.OmittedBy, count[why])
	}
}
