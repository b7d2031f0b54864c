package schema

import (
	"reflect"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/schema/internal/scan"
)

// reader reads the data of an event in one pass. reader decodes the fact, checks the JSON
// grammar, finds duplicate names and applies the boundary rules to every member. A reader only
// accepts data. reader gives up on malformed data, on rule violations and on unusual values (null
// for a field, an unknown member, an unusual number). The decoder and the walk of [boundary] then
// decide; they define the contract. Property tests and a fuzz target compare accepted data with
// their result.
//
// The strings of a fact are parts of one copy of the data.
type reader struct {
	data  []byte
	text  string // copy of data; strings are parts of it
	at    int    // offset of the next byte
	depth int    // number of open objects and arrays
	free  bool   // whether the reader is below a member with foreign content
	// odd is set when a text that may be blank is read.
	odd bool
	// spaced is set when white space is read; see ref.
	spaced bool
	rules  ruling
}

// A reading reads the value at q.at into v and reports success.
type reading func(q *reader, v reflect.Value) bool

// A plan holds the steps that read and write the objects of one struct type.
type plan struct {
	of     reflect.Type
	fields []planField
	// These fields are for a fact: its constructor, its shape, and the attributes that name its
	// type.
	empty             func() Fact
	shape             *shape
	eventType, schema string
}

type planField struct {
	name  string
	index []int
	means *meaning
	read  reading

	key                 []byte // the name as JSON, with the colon
	omitZero, omitEmpty bool   // as the encoder understands the tag
	write               writing
}

// in returns the field of the struct v.
func (f *planField) in(v reflect.Value) reflect.Value {
	v = v.Field(f.index[0])
	for _, inner := range f.index[1:] {
		v = v.Field(inner)
	}
	return v
}

// plans maps every type of the contract to its plan.
var plans = func() map[Type]*plan {
	b := planBuilder{}
	plans := make(map[Type]*plan)
	for _, t := range Types() {
		p := b.plan(reflect.TypeOf(t.New()).Elem())
		p.empty, p.shape = factories[t], shapeOf(reflect.TypeOf(t.New()).Elem())
		p.eventType, p.schema = t.CloudEventsType(), t.DataSchema()
		plans[t] = p
	}
	return plans
}()

// readFact decodes e. readFact returns false if the decoder and the walk must decide.
func readFact(e *Event) (Fact, bool) {
	kind, version, err := contract.parse(e.Type)
	p := plans[kind]
	e.received.maybeBlank = true
	if err != nil || p == nil || version != contract.of(kind) || len(e.Data) > MaxEventBytes {
		return nil, false
	}
	fact := p.empty()
	q := readers.Get().(*reader)
	*q = reader{data: e.Data, text: string(e.Data), rules: ruling{event: e, concerns: concernsOf(fact)}}
	ok := q.object(p, reflect.ValueOf(fact).Elem())
	q.space()
	// Only the content mode of an item shows whether the item is a summary.
	ok = ok && q.at == len(q.data) && concernsOf(fact) == q.rules.concerns
	e.received.maybeBlank = q.odd || !ok
	*q = reader{}
	readers.Put(q)
	return fact, ok
}

// readers saves one allocation per event.
var readers = sync.Pool{New: func() any { return new(reader) }}

// object reads an object into a struct.
func (q *reader) object(p *plan, v reflect.Value) bool {
	if !q.open('{') {
		return false
	}
	seen, next := uint64(0), 0
	for more := !q.end('}'); more; {
		name, ok := q.name()
		if !ok {
			return false
		}
		i := p.find(name, next)
		if i < 0 || seen&(1<<i) != 0 {
			return false
		}
		seen, next = seen|1<<i, i+1
		f := &p.fields[i]
		field := f.in(v)
		if f.means == nil && !q.rules.compaction {
			ok = f.read(q, field)
		} else {
			ok = q.ruledMember(name, f.means, field, f.read)
		}
		if !ok {
			return false
		}
		if more, ok = q.more('}'); !ok {
			return false
		}
	}
	return true
}

// ruledMember reads the value of a member that a rule concerns, and applies the rules.
func (q *reader) ruledMember(name string, means *meaning, v reflect.Value, read reading) bool {
	q.space()
	m := member{name: []byte(name), value: q.data[q.at:], depth: q.depth, free: q.free}
	q.free = m.free || means.freeBelow(q.rules.compaction, m.depth, m.name)
	ok := read(q, v)
	q.free = m.free
	return ok && q.allowed(m, means)
}

// allowed reports whether no rule refuses the member.
func (q *reader) allowed(m member, means *meaning) bool {
	if means != nil {
		q.rules.apply(m, means)
	}
	return len(q.rules.found) == 0
}

// find returns the index of the field called name, or -1. find starts at next, because writers
// keep the order of the fields.
func (p *plan) find(name string, next int) int {
	for i := next; i < len(p.fields); i++ {
		if p.fields[i].name == name {
			return i
		}
	}
	for i := range next {
		if p.fields[i].name == name {
			return i
		}
	}
	return -1
}

// The functions below read the marks of JSON's grammar, and values without a Go type. Each
// function starts at a value or mark, or at the white space before it. Each function ends after
// the value or mark.

// peek returns the first byte of the next value or mark, and 0 at the end.
func (q *reader) peek() byte {
	q.space()
	if q.at < len(q.data) {
		return q.data[q.at]
	}
	return 0
}

func (q *reader) space() {
	for q.at < len(q.data) && q.data[q.at] <= ' ' {
		switch q.data[q.at] {
		case ' ', '\n', '\t', '\r':
			q.spaced = true
			q.at++
		default:
			return
		}
	}
}

// open reads the mark that opens an object or array.
func (q *reader) open(mark byte) bool {
	if q.peek() != mark || q.depth == MaxDepth {
		return false
	}
	q.at++
	q.depth++
	return true
}

// end reads the closing mark if it is the next byte.
func (q *reader) end(mark byte) bool {
	if q.peek() != mark {
		return false
	}
	q.at++
	q.depth--
	return true
}

// more reads the mark after a member or element, and reports whether another one follows.
func (q *reader) more(mark byte) (more, ok bool) {
	if q.peek() == ',' {
		q.at++
		return true, true
	}
	return false, q.end(mark)
}

// name reads a member's name and the colon.
func (q *reader) name() (string, bool) {
	name, ok := q.string()
	if !ok || q.peek() != ':' {
		return "", false
	}
	q.at++
	return name, true
}

// string reads a string.
func (q *reader) string() (string, bool) {
	if q.peek() != '"' {
		return "", false
	}
	start := q.at + 1
	at := scan.PlainEnd(q.text, start)
	if start == len(q.text) {
		return "", false
	}
	first := q.text[start]
	q.odd = q.odd || first <= ' ' || first == '"' || first == '\\' || first >= utf8.RuneSelf
	if at < len(q.text) && q.text[at] == '"' {
		q.at = at + 1
		return q.text[start:at], true
	}
	for ; at < len(q.text); at++ {
		switch c := q.text[at]; {
		case c == '"':
			q.at = at + 1
			text := q.text[start:at]
			return text, utf8.ValidString(text)
		case c == '\\':
			return q.escaped(start-1, at)
		case c < ' ':
			return "", false
		}
	}
	return "", false
}

// escaped reads the string that begins at start. Its first backslash is at the offset at.
func (q *reader) escaped(start, at int) (string, bool) {
	for ; at < len(q.data) && q.data[at] != '"'; at++ {
		if q.data[at] == '\\' {
			at++
		}
	}
	if at >= len(q.data) {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, q.data[start:at+1])
	q.at = at + 1
	return string(text), err == nil
}

// count reads a whole number from 0 of at most 18 digits.
func (q *reader) count() (n int64, ok bool) {
	q.space()
	start := q.at
	for ; q.at < len(q.data) && q.data[q.at]-'0' <= 9; q.at++ {
		n = n*10 + int64(q.data[q.at]-'0')
	}
	digits := q.at - start
	return n, digits == 1 || digits > 1 && digits <= 18 && q.data[start] != '0'
}

// number reads a number as JSON writes it and returns its text.
func (q *reader) number() (string, bool) {
	q.space()
	start := q.at
	if q.here() == '-' {
		q.at++
	}
	first := q.here()
	if whole := q.digits(); whole == 0 || whole > 1 && first == '0' {
		return "", false
	}
	if q.here() == '.' {
		q.at++
		if q.digits() == 0 {
			return "", false
		}
	}
	if q.here()|0x20 == 'e' {
		q.at++
		if c := q.here(); c == '+' || c == '-' {
			q.at++
		}
		if q.digits() == 0 {
			return "", false
		}
	}
	return q.text[start:q.at], true
}

func (q *reader) here() byte {
	if q.at < len(q.data) {
		return q.data[q.at]
	}
	return 0
}

func (q *reader) digits() (n int) {
	for ; q.here()-'0' <= 9; n++ {
		q.at++
	}
	return n
}

// literal reads one of the words of JSON if it is the next token.
func (q *reader) literal(word string) bool {
	q.space()
	if len(q.data)-q.at < len(word) || q.text[q.at:q.at+len(word)] != word {
		return false
	}
	q.at += len(word)
	return true
}

// any reads a value into the types that the decoder uses for an interface.
func (q *reader) any() (any, bool) {
	switch q.peek() {
	case '"':
		return boxed(q.string())
	case '{':
		m := make(map[string]any)
		return m, q.members(func(name string) bool {
			if _, twice := m[name]; twice {
				return false
			}
			value, ok := q.any()
			m[name] = value
			return ok
		})
	case '[':
		list := []any{}
		return list, q.elements(func() bool {
			value, ok := q.any()
			list = append(list, value)
			return ok
		})
	case 't':
		return true, q.literal("true")
	case 'f':
		return false, q.literal("false")
	case 'n':
		return nil, q.literal("null")
	}
	return boxed(q.float())
}

func boxed[T any](value T, ok bool) (any, bool) { return value, ok }

// skip reads a value only to check its grammar, its names and the rules.
func (q *reader) skip() bool {
	switch q.peek() {
	case '"':
		_, ok := q.string()
		return ok
	case '{':
		var room [8]string
		names := room[:0]
		return q.members(func(name string) bool {
			for _, other := range names {
				if name == other {
					return false
				}
			}
			names = append(names, name)
			return len(names) <= len(room) && q.skip()
		})
	case '[':
		return q.elements(q.skip)
	case 't':
		return q.literal("true")
	case 'f':
		return q.literal("false")
	case 'n':
		return q.literal("null")
	}
	_, ok := q.number()
	return ok
}

// members reads an object whose members have no Go type. The function value reads the value of
// one member. The rules for its name are applied to each member.
func (q *reader) members(value func(name string) bool) bool {
	if !q.open('{') {
		return false
	}
	for more := !q.end('}'); more; {
		name, ok := q.name()
		if !ok {
			return false
		}
		q.space()
		m := member{name: []byte(name), value: q.data[q.at:], depth: q.depth, free: q.free}
		means := meaningOf(m.name)
		q.free = m.free || means.freeBelow(q.rules.compaction, m.depth, m.name)
		ok = value(name)
		q.free = m.free
		ok = ok && q.allowed(m, means)
		if ok {
			more, ok = q.more('}')
		}
		if !ok {
			return false
		}
	}
	return true
}

// elements reads an array whose elements have no Go type.
func (q *reader) elements(value func() bool) bool {
	if !q.open('[') {
		return false
	}
	for more := !q.end(']'); more; {
		ok := value()
		if ok {
			more, ok = q.more(']')
		}
		if !ok {
			return false
		}
	}
	return true
}
