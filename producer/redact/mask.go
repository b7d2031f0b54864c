package redact

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ctxledger/ctxledger/schema"
)

// Hit is one place where a withheld value was found. A Hit holds no part of the value.
type Hit struct {
	PolicyRef string
	Reason    string
	Form      Form
	// Start and End are byte offsets in the checked text. In JSON, the checked text is the
	// whole document.
	Start, End int
	// Path is the JSON Pointer of the string or number; values in names are also masked
	// there. A hit in a name has the path of its member. Empty for plain text and for a
	// document that is a single string.
	Path string
	// Key is true if the hit is in the name of a member.
	Key bool
	// Fingerprints are the fingerprints of the value, first the one of its bytes, then those of
	// its disguises; do not change them. None for a value of fewer than 8 bytes, and if the
	// guard is not [Guard.Fingerprinted].
	Fingerprints []schema.Fingerprint

	value int
}

const (
	placeholderStart = "[redacted:"
	placeholderEnd   = "]"
)

// Placeholder returns the text that replaces a value: [redacted:<policy ref>].
func Placeholder(policyRef string) string { return placeholderStart + policyRef + placeholderEnd }

// Check returns the withheld values in a text, in order. Placeholders of the guard's
// policies are not searched, so a masked text has no hits.
func (g *Guard) Check(text string) []Hit {
	if g.Len() == 0 || text == "" || g.held().surelyClean(text) {
		return nil
	}
	return g.held().find(text, false)
}

// Mask replaces every withheld value in a text by its placeholder and returns the hits.
// Overlapping values become one placeholder: the placeholder of the first value, and among
// values with the same start of the longest. The result has no hits. Text without hits is
// returned unchanged.
func (g *Guard) Mask(text string) (string, []Hit) {
	hits := g.Check(text)
	if len(hits) == 0 {
		return text, nil
	}
	return g.held().replace(text, hits, false), hits
}

// replace replaces the hits by placeholders. The hits must be sorted.
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
		// A placeholder and the text around it form a value by chance.
		return Placeholder(hits[0].PolicyRef)
	}
	return masked
}

// find returns the hits in a text or in the inside of a JSON literal. The hits are sorted
// by start, longest first. Each place is listed once for each value.
func (h *held) find(text string, literal bool) []Hit {
	var hits []Hit
	for _, v := range h.views(text, literal) {
		hits = h.search(hits, text, v)
	}
	if len(hits) == 0 {
		return nil
	}
	if hits = outside(hits, h.placeholders(text)); len(hits) == 0 {
		return nil
	}
	slices.SortStableFunc(hits, byStart)
	return distinct(hits)
}

// byStart orders hits by their start. Among hits with the same start, the longest is first.
// Among hits in the same place, the most specific form is first.
func byStart(a, b Hit) int {
	vague := func(h Hit) int {
		if h.Form == Separated {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End), cmp.Compare(a.value, b.value), vague(a)-vague(b))
}

// distinct removes hits that are within another hit of the same value. The hits must be
// sorted.
func distinct(hits []Hit) []Hit {
	ends := make(map[int]int) // ends of earlier hits, by value
	return slices.DeleteFunc(hits, func(hit Hit) bool {
		within := hit.End <= ends[hit.value]
		ends[hit.value] = max(ends[hit.value], hit.End)
		return within
	})
}

// search adds the hits in one reading of the text.
func (h *held) search(hits []Hit, text string, v view) []Hit {
	folded, squeezed := foldView(v), squeeze(v.text)
	hits = h.scan(hits, text, v, h.folded, folded.text, folded.span)
	hits = h.scan(hits, text, v, h.encoded, v.text, v.span)
	return h.scan(hits, text, v, h.squeezed, string(squeezed.text), func(start, end int) (int, int) {
		return v.span(squeezed.span(v.text, start, end))
	})
}

// scan adds the hits of one index in the searched form of a reading of the text. Span maps
// offsets back to the text. Overlapping hits of the same pattern become one, so a
// repetitive text has few.
func (h *held) scan(hits []Hit, text string, v view, x *index, searched string, span func(start, end int) (int, int)) []Hit {
	var last map[pattern]int
	x.scan(searched, func(p pattern, start int) {
		from, to := span(start, start+len(p.text))
		if k, ok := last[p]; ok && from < hits[k].End {
			hits[k].End = max(hits[k].End, runeEnd(text, to))
			return
		}
		if last == nil {
			last = map[pattern]int{}
		}
		last[p] = len(hits)
		hit := h.hit(text, v, p, from, to)
		hit.Start, hit.End = runeStart(text, from), runeEnd(text, to)
		hits = append(hits, hit)
	})
	return hits
}

// runeStart returns the start of the rune that position i is inside of, or i. A value that is not UTF-8 can
// begin and end inside of a rune of the text, which is replaced as a whole.
func runeStart(text string, i int) int {
	for n := 1; n < utf8.UTFMax && n <= i && i < len(text); n++ {
		if _, size := utf8.DecodeRuneInString(text[i-n:]); size > n {
			return i - n
		}
	}
	return i
}

// runeEnd returns the end of the rune that position i is inside of, or i.
func runeEnd(text string, i int) int {
	if start := runeStart(text, i); start < i {
		_, n := utf8.DecodeRuneInString(text[start:])
		return start + n
	}
	return i
}

func (h *held) hit(text string, v view, p pattern, start, end int) Hit {
	form := p.form
	switch {
	case v.form != "":
		form = v.form
	case p.form == Verbatim && text[start:end] != h.values[p.value].secret:
		form = Folded
	}
	return h.found(p.value, form, start, end)
}

// found returns the hit of a value.
func (h *held) found(value int, form Form, start, end int) Hit {
	v := h.values[value]
	return Hit{
		PolicyRef: v.policyRef, Reason: v.reason, Form: form, Start: start, End: end,
		Fingerprints: h.fingerprintsOf(value), value: value,
	}
}

// placeholders returns the places of the policies' placeholders in a text. Placeholders
// hold the policy's name and are not searched.
func (h *held) placeholders(text string) [][2]int {
	var spans [][2]int
	for from := 0; ; {
		i := strings.Index(text[from:], placeholderStart)
		if i < 0 {
			return spans
		}
		start := from + i
		from = start + len(placeholderStart)
		n := strings.Index(text[from:min(len(text), from+h.longestRef+len(placeholderEnd))], placeholderEnd)
		if n >= 0 && h.refs[text[from:from+n]] {
			spans = append(spans, [2]int{start, from + n + len(placeholderEnd)})
		}
	}
}

// outside drops the hits within the spans. The spans are in order.
func outside(hits []Hit, spans [][2]int) []Hit {
	if len(spans) == 0 {
		return hits
	}
	return slices.DeleteFunc(hits, func(hit Hit) bool { return within(spans, hit.Start, hit.End) })
}

func within(spans [][2]int, start, end int) bool {
	next, _ := slices.BinarySearchFunc(spans, start, func(s [2]int, start int) int { return cmp.Compare(s[0], start+1) })
	return next > 0 && end <= spans[next-1][1]
}
