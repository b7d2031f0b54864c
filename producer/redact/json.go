package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// ErrJSON says that the document to mask is not one JSON value. It is permanent.
var ErrJSON = errors.New("mask JSON: not a JSON value")

// MaskJSON masks every string of a JSON value, names of members included, and
// every number that is a withheld value as it stands. All other bytes stay as
// they are, and a document without hits is returned unchanged. The result is
// JSON again: a masked number becomes a string, and a masked name that would
// stand in the document twice gets a number ("[redacted:p]#2").
//
// The error is [ErrJSON], which quotes nothing of the document.
func (g *Guard) MaskJSON(data []byte) ([]byte, []Hit, error) {
	if !json.Valid(data) {
		return nil, nil, ErrJSON
	}
	if g.Len() == 0 {
		return data, nil, nil
	}
	w := &walker{held: g.held(), doc: string(data)}
	w.value("")
	if len(w.hits) == 0 {
		return data, nil, nil
	}
	w.out.WriteString(w.doc[w.copied:])
	return w.out.Bytes(), w.hits, nil
}

// walker goes once through a document that is known to be valid.
type walker struct {
	held   *held
	doc    string
	pos    int // next byte to read
	copied int // bytes of doc that are in out, or replaced there
	out    bytes.Buffer
	hits   []Hit
	names  map[string]bool // masked names so far
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
		w.literal(path, false)
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
		name := w.literal(path, true)
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

// literal reads a string. For a name it returns what stands for it in a path.
func (w *walker) literal(path string, name bool) string {
	start := w.pos + 1
	end := start
	for w.doc[end] != '"' {
		if w.doc[end] == '\\' {
			end++
		}
		end++
	}
	w.pos = end + 1
	inside := w.doc[start:end]
	hits := w.held.find(inside, true)
	if len(hits) == 0 {
		return pointer(inside, name)
	}
	masked := w.held.replace(inside, hits, true)
	if name {
		masked = w.unique(masked)
		path += "/" + pointer(masked, true)
	}
	for _, hit := range hits {
		hit.Start, hit.End = hit.Start+start, hit.End+start
		hit.Path, hit.Key = path, name
		w.hits = append(w.hits, hit)
	}
	w.replace(start, end, masked)
	return pointer(masked, name)
}

// number reads a number, true, false or null.
func (w *walker) number(path string) {
	start := w.pos
	for w.pos < len(w.doc) && strings.IndexByte(",]} \t\r\n", w.doc[w.pos]) < 0 {
		w.pos++
	}
	token := w.doc[start:w.pos]
	if c := token[0]; c != '-' && (c < '0' || c > '9') {
		return
	}
	i, ok := w.held.exact[token]
	if !ok {
		i, ok = w.held.exact[strings.TrimPrefix(token, "-")]
	}
	if !ok {
		return
	}
	v := w.held.values[i]
	w.hits = append(w.hits, Hit{
		PolicyRef: v.policyRef, Reason: v.reason, Form: Number,
		Start: start, End: w.pos, Path: path, value: i,
	})
	w.replace(start, w.pos, `"`+Placeholder(v.policyRef)+`"`)
}

func (w *walker) replace(start, end int, with string) {
	w.out.WriteString(w.doc[w.copied:start])
	w.out.WriteString(with)
	w.copied = end
}

// unique keeps two members from getting the same name.
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

// pointer returns the inside of a literal as a segment of a JSON Pointer.
func pointer(inside string, name bool) string {
	if !name {
		return ""
	}
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
