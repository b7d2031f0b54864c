package schema

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/schema/internal/scan"
)

// writer is the counterpart of [reader]. writer encodes a fact in one pass to the same bytes as
// the encoder, and applies the boundary rules to every member. A writer only accepts facts. A
// writer gives up on rule violations and unusual values. Unusual values are object references,
// times, negative counts, and Go types in maps that are not plain JSON. The encoder, the decoder
// and the walk of [boundary] then decide. Property tests compare accepted facts with their
// result.
type writer struct {
	data  []byte
	depth int  // number of open objects, and of open arrays of plain JSON
	free  bool // whether the writer is below a member with foreign content
	odd   bool // whether a written text may be blank
	rules ruling
}

// A writing appends the value v and reports success.
type writing func(w *writer, v reflect.Value) bool

// writers keeps buffers for the next events.
var writers = sync.Pool{New: func() any { return new(writer) }}

// EncodeData returns the data of e, encoded from fact. True means that the data decodes to the
// fact, has no negative count, and breaks no rule for members.
func EncodeData(e *Event, fact Fact) ([]byte, bool) {
	v := reflect.ValueOf(fact).Elem()
	p := plans[fact.EventType()]
	if p == nil || p.of != v.Type() {
		return nil, false
	}
	w := writers.Get().(*writer)
	defer writers.Put(w)
	*w = writer{data: w.data[:0], rules: ruling{event: e, concerns: concernsOf(fact)}}
	ok := w.object(p, v)
	w.rules = ruling{}
	e.received.maybeBlank = w.odd || !ok
	if !ok || len(w.data) > MaxEventBytes {
		return nil, false
	}
	return bytes.Clone(w.data), true
}

// object appends a struct as an object.
func (w *writer) object(p *plan, v reflect.Value) bool {
	w.depth++
	mark := byte('{')
	for i := range p.fields {
		f := &p.fields[i]
		field := f.in(v)
		if (f.omitEmpty || f.omitZero) && field.IsZero() {
			continue
		}
		before := len(w.data)
		w.data = append(append(w.data, mark), f.key...)
		at, outer := len(w.data), w.free
		w.free = outer || f.means.freeBelow(w.rules.compaction, w.depth, []byte(f.name))
		ok := f.write(w, field)
		w.free = outer
		if !ok {
			return false
		}
		value := w.data[at:]
		if f.omitEmpty && (string(value) == `[]` || string(value) == `{}`) {
			w.data = w.data[:before]
			continue
		}
		mark = ','
		if f.means != nil && !w.allowed([]byte(f.name), f.means, value) {
			return false
		}
	}
	w.depth--
	if mark == '{' {
		w.data = append(w.data, mark)
	}
	w.data = append(w.data, '}')
	return true
}

// allowed reports whether no rule refuses the member.
func (w *writer) allowed(name []byte, means *meaning, value []byte) bool {
	w.rules.apply(member{name: name, value: value, depth: w.depth, free: w.free}, means)
	return len(w.rules.found) == 0
}

// writing returns the function that writes a value of type t.
func (b planBuilder) writing(t reflect.Type) writing {
	switch t {
	case reflect.TypeFor[time.Time]():
		return func(*writer, reflect.Value) bool { return false }
	case reflect.TypeFor[Ref]():
		return func(w *writer, v reflect.Value) bool { return w.ref(v.String()) }
	case reflect.TypeFor[[]Ref]():
		return func(w *writer, v reflect.Value) bool {
			return writeList(w, *v.Addr().Interface().(*[]Ref), func(r Ref) bool { return w.ref(string(r)) })
		}
	case reflect.TypeFor[[]string]():
		return func(w *writer, v reflect.Value) bool {
			return writeList(w, *v.Addr().Interface().(*[]string), w.string)
		}
	case reflect.TypeFor[map[string]any]():
		return func(w *writer, v reflect.Value) bool {
			return writeMap(w, *v.Addr().Interface().(*map[string]any), w.any)
		}
	case reflect.TypeFor[map[string]float64]():
		return func(w *writer, v reflect.Value) bool {
			return writeMap(w, *v.Addr().Interface().(*map[string]float64), w.float)
		}
	}
	switch t.Kind() {
	case reflect.String:
		return func(w *writer, v reflect.Value) bool { return w.string(v.String()) }
	case reflect.Int64:
		return func(w *writer, v reflect.Value) bool { return w.count(v.Int()) }
	case reflect.Float64:
		return func(w *writer, v reflect.Value) bool { return w.float(v.Float()) }
	case reflect.Bool:
		return func(w *writer, v reflect.Value) bool {
			w.data = strconv.AppendBool(w.data, v.Bool())
			return true
		}
	case reflect.Interface:
		return func(w *writer, v reflect.Value) bool { return !v.IsNil() && w.any(v.Interface()) }
	case reflect.Pointer:
		inner := b.writing(t.Elem())
		return func(w *writer, v reflect.Value) bool { return !v.IsNil() && inner(w, v.Elem()) }
	case reflect.Struct:
		p := b.plan(t)
		return func(w *writer, v reflect.Value) bool { return w.object(p, v) }
	case reflect.Slice, reflect.Array:
		inner := b.writing(t.Elem())
		return func(w *writer, v reflect.Value) bool { return w.elements(v, inner) }
	}
	return func(*writer, reflect.Value) bool { return false }
}

// elements appends a slice or array.
func (w *writer) elements(v reflect.Value, inner writing) bool {
	w.data = append(w.data, '[')
	for i := range v.Len() {
		if i > 0 {
			w.data = append(w.data, ',')
		}
		if !inner(w, v.Index(i)) {
			return false
		}
	}
	w.data = append(w.data, ']')
	return true
}

// writeList does the same as elements, for a type that needs no reflection.
func writeList[T any](w *writer, list []T, write func(T) bool) bool {
	w.data = append(w.data, '[')
	for i, value := range list {
		if i > 0 {
			w.data = append(w.data, ',')
		}
		if !write(value) {
			return false
		}
	}
	w.data = append(w.data, ']')
	return true
}

func (w *writer) float(n float64) bool {
	w.data = append(w.data, jsontext.Float(n).String()...)
	return w.data[len(w.data)-1] <= '9' // not NaN or an infinity
}

func (w *writer) string(s string) bool {
	w.odd = w.odd || maybeBlank(s)
	if scan.PlainEnd(s, 0) == len(s) {
		w.data = append(append(append(w.data, '"'), s...), '"')
		return true
	}
	data, err := jsontext.AppendQuote(w.data, s)
	w.data = data
	return err == nil
}

// ref appends a string reference.
func (w *writer) ref(s string) bool {
	return !strings.HasPrefix(s, "{") && w.string(s)
}

func (w *writer) count(n int64) bool {
	w.data = strconv.AppendInt(w.data, n, 10)
	return n >= 0
}

// mapDepth is the maximum depth of plain JSON that is written in one pass. mapDepth is far below
// MaxDepth. The walk decides about deeper JSON.
const mapDepth = 16

// writeMap appends a map as an object, sorted by name, and applies the rules to its members.
func writeMap[T any](w *writer, m map[string]T, write func(T) bool) bool {
	if w.depth++; w.depth > mapDepth {
		return false
	}
	var room [16]string
	names := room[:0]
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	w.data = append(w.data, '{')
	for i, name := range names {
		if i > 0 {
			w.data = append(w.data, ',')
		}
		if !w.string(name) {
			return false
		}
		w.data = append(w.data, ':')
		at, outer := len(w.data), w.free
		means := meaningOf([]byte(name))
		w.free = outer || means.freeBelow(w.rules.compaction, w.depth, []byte(name))
		ok := write(m[name])
		w.free = outer
		if !ok || means != nil && !w.allowed([]byte(name), means, w.data[at:]) {
			return false
		}
	}
	w.data = append(w.data, '}')
	w.depth--
	return true
}

// any appends a value of plain JSON.
func (w *writer) any(value any) bool {
	switch value := value.(type) {
	case nil:
		w.data = append(w.data, "null"...)
		return true
	case string:
		return w.string(value)
	case bool:
		w.data = strconv.AppendBool(w.data, value)
		return true
	case int:
		w.data = strconv.AppendInt(w.data, int64(value), 10)
		return true
	case int64:
		w.data = strconv.AppendInt(w.data, value, 10)
		return true
	case float64:
		return w.float(value)
	case jsontext.Value:
		return value.Kind() == '0' && w.number(value)
	case map[string]any:
		return writeMap(w, value, w.any)
	case map[string]int64:
		return writeMap(w, value, func(n int64) bool { return w.any(n) })
	case []any:
		if w.depth++; w.depth > mapDepth {
			return false
		}
		ok := writeList(w, value, w.any)
		w.depth--
		return ok
	}
	return false
}

// number appends the text of a number if a reader can read it.
func (w *writer) number(value jsontext.Value) bool {
	data, err := jsontext.AppendFormat(w.data, value)
	if err != nil {
		return false
	}
	_, err = strconv.ParseFloat(string(data[len(w.data):]), 64)
	w.data = data
	return err == nil
}
