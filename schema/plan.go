package schema

import (
	"bytes"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// planBuilder makes one plan per struct type.
type planBuilder map[reflect.Type]*plan

func (b planBuilder) plan(t reflect.Type) *plan {
	if p := b[t]; p != nil {
		return p
	}
	p := &plan{of: t}
	b[t] = p
	b.add(p, t, nil)
	if len(p.fields) > 64 {
		panic(t.Name() + " has more fields than a set of 64 bits holds")
	}
	return p
}

func (b planBuilder) add(p *plan, t reflect.Type, outer []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(outer[:len(outer):len(outer)], i)
		if f.Anonymous {
			b.add(p, f.Type, index)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		p.fields = append(p.fields, planField{
			name: name, index: index, means: meaningOf([]byte(name)), read: b.reading(f.Type),
			key: []byte(strconv.Quote(name) + ":"), omitZero: options == "omitzero", omitEmpty: options == "omitempty", write: b.writing(f.Type),
		})
	}
}

// reading returns the function that reads a value of type t.
func (b planBuilder) reading(t reflect.Type) reading {
	switch t {
	case reflect.TypeFor[Ref]():
		return readRef
	case reflect.TypeFor[[]Ref]():
		return readRefs
	case reflect.TypeFor[[]string]():
		return readStrings
	case reflect.TypeFor[time.Time]():
		return readTime
	case reflect.TypeFor[map[string]any]():
		return readMap
	case reflect.TypeFor[map[string]float64]():
		return readNumbers
	case reflect.TypeFor[*int64]():
		return readCount
	case reflect.TypeFor[Candidate](), reflect.TypeFor[SourceRef]():
		p := b.plan(t)
		return func(q *reader, v reflect.Value) bool {
			if q.peek() != '"' {
				return q.object(p, v)
			}
			text, ok := q.string()
			return ok && v.Addr().Interface().(interface{ fromText(string) error }).fromText(text) == nil
		}
	}
	switch t.Kind() {
	case reflect.String:
		return func(q *reader, v reflect.Value) bool {
			text, ok := q.string()
			v.SetString(text)
			return ok
		}
	case reflect.Int64:
		return func(q *reader, v reflect.Value) bool {
			n, ok := q.count()
			v.SetInt(n)
			return ok
		}
	case reflect.Float64:
		return func(q *reader, v reflect.Value) bool {
			n, ok := q.float()
			v.SetFloat(n)
			return ok
		}
	case reflect.Bool:
		return func(q *reader, v reflect.Value) bool {
			yes := q.literal("true")
			v.SetBool(yes)
			return yes || q.literal("false")
		}
	case reflect.Interface:
		return func(q *reader, v reflect.Value) bool {
			value, ok := q.any()
			if ok = ok && value != nil; ok {
				v.Set(reflect.ValueOf(value))
			}
			return ok
		}
	case reflect.Struct:
		p := b.plan(t)
		return func(q *reader, v reflect.Value) bool { return q.object(p, v) }
	case reflect.Pointer:
		inner := b.reading(t.Elem())
		return func(q *reader, v reflect.Value) bool {
			v.Set(reflect.New(t.Elem()))
			return inner(q, v.Elem())
		}
	case reflect.Slice:
		return sliceReading(t, b.reading(t.Elem()))
	case reflect.Array:
		return arrayReading(t.Len(), b.reading(t.Elem()))
	}
	panic("no reading of a " + t.String())
}

func sliceReading(t reflect.Type, inner reading) reading {
	return func(q *reader, v reflect.Value) bool {
		if !q.open('[') {
			return false
		}
		if q.end(']') {
			v.Set(reflect.MakeSlice(t, 0, 0))
			return true
		}
		for n, more := 0, true; more; n++ {
			if n == v.Cap() {
				v.Grow(max(4, n))
			}
			v.SetLen(n + 1)
			ok := inner(q, v.Index(n))
			if ok {
				more, ok = q.more(']')
			}
			if !ok {
				return false
			}
		}
		return true
	}
}

func arrayReading(n int, inner reading) reading {
	return func(q *reader, v reflect.Value) bool {
		if !q.open('[') {
			return false
		}
		for i := range n {
			if !inner(q, v.Index(i)) {
				return false
			}
			if more, ok := q.more(']'); !ok || more != (i < n-1) {
				return false
			}
		}
		return true
	}
}

func readCount(q *reader, v reflect.Value) bool {
	n, ok := q.count()
	if ok {
		*v.Addr().Interface().(**int64) = &n
	}
	return ok
}

// readTime reads times in UTC, with or without a fraction after a point. The decoder handles
// offsets. The decoder refuses the comma that package time allows.
func readTime(q *reader, v reflect.Value) bool {
	const whole = len("2006-01-02T15:04:05")
	text, ok := q.string()
	if !ok || len(text) <= whole || text[len(text)-1] != 'Z' || text[whole] != '.' && text[whole] != 'Z' {
		return false
	}
	return v.Addr().Interface().(*time.Time).UnmarshalText([]byte(text)) == nil
}

func readRef(q *reader, v reflect.Value) bool {
	ref, ok := q.ref()
	v.SetString(string(ref))
	return ok
}

// ref reads a reference in either form.
func (q *reader) ref() (Ref, bool) {
	switch q.peek() {
	case '"':
		text, ok := q.string()
		return Ref(text), ok && !Ref(text).isObject()
	case '{':
		start := q.at
		q.spaced = false
		if ok := q.skip(); !ok || !q.spaced {
			return Ref(q.text[start:q.at]), ok
		}
		value := jsontext.Value(bytes.Clone(q.data[start:q.at]))
		ok := value.Compact() == nil
		return Ref(value), ok
	}
	return "", false
}

func readRefs(q *reader, v reflect.Value) bool {
	list, ok := readList(q, (*reader).ref)
	*v.Addr().Interface().(*[]Ref) = list
	return ok
}

func readStrings(q *reader, v reflect.Value) bool {
	list, ok := readList(q, (*reader).string)
	*v.Addr().Interface().(*[]string) = list
	return ok
}

// readList reads an array into a slice of exactly its size.
func readList[T any](q *reader, read func(*reader) (T, bool)) ([]T, bool) {
	if !q.open('[') {
		return nil, false
	}
	if q.end(']') {
		return []T{}, true
	}
	var room [16]T
	list := room[:0]
	for more := true; more; {
		value, ok := read(q)
		if ok {
			list = append(list, value)
			more, ok = q.more(']')
		}
		if !ok {
			return nil, false
		}
	}
	return append(make([]T, 0, len(list)), list...), true
}

func readMap(q *reader, v reflect.Value) bool {
	if q.peek() != '{' {
		return false
	}
	value, ok := q.any()
	if ok {
		*v.Addr().Interface().(*map[string]any) = value.(map[string]any)
	}
	return ok
}

func readNumbers(q *reader, v reflect.Value) bool {
	m := make(map[string]float64)
	ok := q.members(func(name string) bool {
		if _, twice := m[name]; twice {
			return false
		}
		n, ok := q.float()
		m[name] = n
		return ok
	})
	*v.Addr().Interface().(*map[string]float64) = m
	return ok
}

// float reads a number of 64 bits.
func (q *reader) float() (float64, bool) {
	text, ok := q.number()
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}
