package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// ErrJSON means that the document to mask is not one JSON value. The error is permanent.
var ErrJSON = errors.New("mask JSON: not a JSON value")

// MaskJSON masks every string of a JSON value, including names of members. MaskJSON also
// masks every number of at least 8 digits that is equal to a withheld value. A value that
// is split over strings in sequence is masked in each of them. All other bytes stay
// unchanged, and a document without hits is returned unchanged.
//
// The result is valid JSON. A masked number becomes a string. If a masked name would be in
// one object twice, the name gets a number ("[redacted:p]#2"). The error is [ErrJSON] and
// quotes no part of the document.
func (g *Guard) MaskJSON(data []byte) ([]byte, []Hit, error) {
	if !json.Valid(data) {
		return nil, nil, ErrJSON
	}
	return g.MaskEncoded(data)
}

// MaskEncoded is [Guard.MaskJSON] for the output of a JSON encoder. For a document without
// hits, the nesting and the punctuation are not checked. No value passes in any other
// input.
func (g *Guard) MaskEncoded(data []byte) ([]byte, []Hit, error) {
	if g.Len() == 0 || g.held().surelyCleanJSON(data) {
		return data, nil, nil
	}
	if !json.Valid(data) {
		return nil, nil, ErrJSON
	}
	return g.held().maskJSON(data)
}

// maskJSON is MaskJSON by the full search. The document must be valid.
func (h *held) maskJSON(data []byte) ([]byte, []Hit, error) {
	w := &walker{held: h, doc: string(data)}
	w.value("")
	w.findSplit()
	out, hits := w.masked()
	if len(hits) == 0 {
		return data, nil, nil
	}
	return out, hits, nil
}

// walker reads a valid document once.
type walker struct {
	held   *held
	doc    string
	pos    int // position of the next byte
	places []place
	names  map[string]bool // all masked names
}

// place is a string of the document, without its quotes, or a number.
type place struct {
	start, end int
	path       string
	key        bool
	hits       []Hit  // with offsets in the document
	with       string // masked text; for a value, set only if the value is a number
}

func (w *walker) space() {
	for w.pos < len(w.doc) && strings.IndexByte(" \t\r\n", w.doc[w.pos]) >= 0 {
		w.pos++
	}
}

// value reads one value at the path, a JSON Pointer.
func (w *walker) value(path string) {
	w.space()
	switch w.doc[w.pos] {
	case '{':
		w.object(path)
	case '[':
		w.array(path)
	case '"':
		w.text(path)
	default:
		w.number(path)
	}
	w.space()
}

func (w *walker) object(path string) {
	for w.pos++; ; w.pos++ {
		if w.space(); w.doc[w.pos] == '}' {
			break
		}
		name := w.name(path)
		w.space()
		w.pos++ // the colon
		w.value(path + "/" + name)
		if w.doc[w.pos] == '}' {
			break
		}
	}
	w.pos++
}

func (w *walker) array(path string) {
	w.pos++
	if w.space(); w.doc[w.pos] == ']' {
		w.pos++
		return
	}
	for i := 0; ; i++ {
		w.value(path + "/" + strconv.Itoa(i))
		w.pos++
		if w.doc[w.pos-1] == ']' {
			return
		}
	}
}

// literal reads a string.
func (w *walker) literal() place {
	p := place{start: w.pos + 1}
	for p.end = p.start; w.doc[p.end] != '"'; p.end++ {
		if w.doc[p.end] == '\\' {
			p.end++
		}
	}
	w.pos = p.end + 1
	p.hits = w.held.find(w.doc[p.start:p.end], true)
	for i := range p.hits {
		p.hits[i].Start, p.hits[i].End = p.hits[i].Start+p.start, p.hits[i].End+p.start
	}
	return p
}

func (w *walker) text(path string) {
	p := w.literal()
	p.path = path
	w.places = append(w.places, p)
}

// name reads the name of a member and returns its form in a path.
func (w *walker) name(path string) string {
	p := w.literal()
	if len(p.hits) == 0 {
		return pointer(w.doc[p.start:p.end])
	}
	p.with = w.unique(w.held.replace(w.doc[p.start:p.end], moved(p.hits, -p.start), true))
	name := pointer(p.with)
	p.key, p.path = true, path+"/"+name
	w.places = append(w.places, p)
	return name
}

// number reads a number, true, false or null.
func (w *walker) number(path string) {
	p := place{start: w.pos, path: path}
	for w.pos < len(w.doc) && strings.IndexByte(",]} \t\r\n", w.doc[w.pos]) < 0 {
		w.pos++
	}
	p.end = w.pos
	i, ok := w.held.number([]byte(w.doc[p.start:p.end]))
	if !ok {
		return
	}
	hit := w.held.found(i, Number, p.start, p.end)
	p.hits, p.with = []Hit{hit}, `"`+Placeholder(hit.PolicyRef)+`"`
	w.places = append(w.places, p)
}

// shortestNumber is the smallest number of digits of a number that is checked. A shorter
// number can be a count.
const shortestNumber = 8

// number returns the index of the value that a JSON number is equal to.
func (h *held) number(token []byte) (value int, withheld bool) {
	if len(token) < shortestNumber || !numeric(token[0]) {
		return 0, false
	}
	value, withheld = h.exact[string(token)]
	if !withheld && token[0] == '-' && len(token) > shortestNumber {
		value, withheld = h.exact[string(token[1:])]
	}
	return value, withheld
}

// numeric reports whether a number may hold c.
func numeric(c byte) bool {
	return '0' <= c && c <= '9' || c == '-' || c == '.' || c == '+' || c == 'e' || c == 'E'
}

// masked returns the document with all hits replaced, and the hits.
func (w *walker) masked() ([]byte, []Hit) {
	var out bytes.Buffer
	var hits []Hit
	copied := 0
	for _, p := range w.places {
		if len(p.hits) == 0 {
			continue
		}
		if p.with == "" {
			p.with = w.held.replace(w.doc[p.start:p.end], moved(p.hits, -p.start), true)
		}
		for _, hit := range p.hits {
			hit.Path, hit.Key = p.path, p.key
			hits = append(hits, hit)
		}
		out.WriteString(w.doc[copied:p.start])
		out.WriteString(p.with)
		copied = p.end
	}
	out.WriteString(w.doc[copied:])
	return out.Bytes(), hits
}

// moved returns the hits with changed offsets.
func moved(hits []Hit, by int) []Hit {
	out := slices.Clone(hits)
	for i := range out {
		out[i].Start, out[i].End = out[i].Start+by, out[i].End+by
	}
	return out
}

// unique returns a different name for each member.
func (w *walker) unique(name string) string {
	out := name
	for n := 2; w.names[out] || strings.Contains(w.doc, `"`+out+`"`); n++ {
		out = name + "#" + strconv.Itoa(n)
	}
	if w.names == nil {
		w.names = map[string]bool{}
	}
	w.names[out] = true
	return out
}

// pointer returns the inside of a name as a segment of a JSON Pointer.
func pointer(inside string) string {
	if strings.Contains(inside, `\`) {
		var decoded string
		if json.Unmarshal([]byte(`"`+inside+`"`), &decoded) == nil {
			inside = decoded
		}
	}
	if strings.ContainsAny(inside, "~/") {
		inside = strings.NewReplacer("~", "~0", "/", "~1").Replace(inside)
	}
	return inside
}
