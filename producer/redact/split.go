package redact

import "slices"

// joined is the squeezed text of all string values of a document, in order.
type joined struct {
	text []byte
	from []int32 // offset in the document of each byte
	to   []int32
	of   []int32 // place of each byte
}

// put appends the text of a place. A placeholder becomes a byte that is in no value.
func (j *joined) put(h *held, doc string, of int, p place) {
	inside := doc[p.start:p.end]
	v := literalView(inside)
	squeezed, known := squeeze(v.text), h.placeholders(v.text)
	for i, c := range squeezed.text {
		if at := int(squeezed.at[i]); within(known, at, at+1) {
			c = 0
		}
		from, to := v.span(squeezed.span(v.text, i, i+1))
		j.text = append(j.text, c)
		j.from, j.to, j.of = append(j.from, int32(p.start+from)), append(j.to, int32(p.start+to)), append(j.of, int32(of))
	}
}

// findSplit adds hits for values with parts in several places.
func (w *walker) findSplit() {
	var j joined
	for i, p := range w.places {
		if !p.key && p.with == "" {
			j.put(w.held, w.doc, i, p)
		}
	}
	w.held.squeezed.scan(string(j.text), func(p pattern, start int) {
		for end := start + len(p.text); start < end && j.of[start] != j.of[end-1]; {
			n := 1
			for j.of[start+n] == j.of[start] {
				n++
			}
			w.addSplit(p, j, start, start+n)
			start += n
			if j.of[start] == j.of[end-1] {
				w.addSplit(p, j, start, end)
			}
		}
	})
}

// addSplit adds a hit for the part of a pattern in one place.
func (w *walker) addSplit(p pattern, j joined, start, end int) {
	at := &w.places[j.of[start]]
	at.hits = append(at.hits, w.held.found(p.value, Split, int(j.from[start]), int(j.to[end-1])))
	slices.SortStableFunc(at.hits, byStart)
	at.hits = distinct(at.hits)
}
