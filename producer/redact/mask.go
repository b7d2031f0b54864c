package redact

import (
	"cmp"
	"slices"
	"strings"
)

// Hit is one place where a withheld value was found. It holds no part of it.
type Hit struct {
	PolicyRef string
	Reason    string
	Form      Form
	// Start and End are byte offsets in the text that was checked; in JSON, in
	// the whole document.
	Start, End int
	// Path is the JSON Pointer of the string or number, with what is masked in
	// names masked there too. A hit in a name has the path of its member. Empty
	// for plain text and for a document that is a single string.
	Path string
	// Key is true when the hit is in the name of a member.
	Key bool

	value int
}

const (
	placeholderStart = "[redacted:"
	placeholderEnd   = "]"
)

// Placeholder returns what stands in place of a value: [redacted:<policy ref>].
func Placeholder(policyRef string) string { return placeholderStart + policyRef + placeholderEnd }

// Check finds the withheld values in a text, in order. A placeholder of one of
// the guard's policies is not searched, so a masked text has no hits.
func (g *Guard) Check(text string) []Hit {
	if g.Len() == 0 || text == "" {
		return nil
	}
	return g.held().find(text, false)
}

// Mask replaces every withheld value in a text with its placeholder and reports
// what it found. Overlapping values become one placeholder, of the one that
// starts first and is longest. What comes out has no hits. Text without hits is
// returned as it is.
func (g *Guard) Mask(text string) (string, []Hit) {
	hits := g.Check(text)
	if len(hits) == 0 {
		return text, nil
	}
	return g.held().replace(text, hits, false), hits
}

// replace puts placeholders in the place of the hits, which must be sorted.
func (h *held) replace(text string, hits []Hit, literal bool) string {
	var b strings.Builder
	b.Grow(len(text))
	from := 0
	for i := 0; i < len(hits); {
		start, end := hits[i].Start, hits[i].End
		ref := hits[i].PolicyRef
		for i++; i < len(hits) && hits[i].Start < end; i++ {
			end = max(end, hits[i].End)
		}
		b.WriteString(text[from:start])
		b.WriteString(Placeholder(ref))
		from = end
	}
	b.WriteString(text[from:])
	masked := b.String()
	if len(h.find(masked, literal)) > 0 {
		// A placeholder and its surroundings happen to make up a value.
		return Placeholder(hits[0].PolicyRef)
	}
	return masked
}

// find returns the hits in a text or in the inside of a JSON literal, sorted by
// start, longest first, each place once for each value.
func (h *held) find(text string, literal bool) []Hit {
	var hits []Hit
	for _, v := range h.views(text, literal) {
		hits = h.search(hits, text, foldView(v), h.folded)
		hits = h.search(hits, text, v, h.encoded)
	}
	if len(hits) == 0 {
		return nil
	}
	if hits = h.outside(text, hits); len(hits) == 0 {
		return nil
	}
	slices.SortStableFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End), cmp.Compare(a.value, b.value))
	})
	return slices.CompactFunc(hits, func(a, b Hit) bool {
		return a.Start == b.Start && a.End == b.End && a.value == b.value
	})
}

// search adds the hits in one reading of the text. Overlapping ones of the same
// pattern grow into one, so that a repetitive text has few.
func (h *held) search(hits []Hit, text string, v view, x *index) []Hit {
	var last map[pattern]int
	x.scan(v.text, func(p pattern, start int) {
		from, to := v.span(start, start+len(p.text))
		if k, ok := last[p]; ok && from < hits[k].End {
			hits[k].End = to
			return
		}
		if last == nil {
			last = map[pattern]int{}
		}
		last[p] = len(hits)
		hits = append(hits, h.hit(text, v, p, from, to))
	})
	return hits
}

func (h *held) hit(text string, v view, p pattern, start, end int) Hit {
	value := h.values[p.value]
	hit := Hit{
		PolicyRef: value.policyRef, Reason: value.reason, Form: p.form,
		Start: start, End: end, value: p.value,
	}
	switch {
	case v.form != "":
		hit.Form = v.form
	case p.form == Verbatim && text[start:end] != value.secret:
		hit.Form = Folded
	}
	return hit
}

// outside drops the hits that lie within a placeholder of one of the policies:
// what stands there is the policy's name.
func (h *held) outside(text string, hits []Hit) []Hit {
	var spans [][2]int
	for from := 0; ; {
		i := strings.Index(text[from:], placeholderStart)
		if i < 0 {
			break
		}
		start := from + i
		from = start + len(placeholderStart)
		n := strings.Index(text[from:min(len(text), from+h.longestRef+len(placeholderEnd))], placeholderEnd)
		if n >= 0 && h.refs[text[from:from+n]] {
			spans = append(spans, [2]int{start, from + n + len(placeholderEnd)})
		}
	}
	if len(spans) == 0 {
		return hits
	}
	return slices.DeleteFunc(hits, func(hit Hit) bool {
		next, _ := slices.BinarySearchFunc(spans, hit.Start, func(s [2]int, start int) int { return cmp.Compare(s[0], start+1) })
		return next > 0 && hit.End <= spans[next-1][1]
	})
}
