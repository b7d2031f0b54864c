package schema

import (
	"reflect"
	"sync"
)

// quick reads the data of an event in one pass: it decodes the fact, holds the
// text to JSON's grammar, refuses duplicate names, and asks of every member
// whether a boundary rule has something against it. It only ever says yes.
// Whatever is malformed, unusual or against a rule (null for a field, a member
// that the type does not have, a number that needs thought) makes it give up,
// and then the decoder and the walk of [boundary] decide, which are the
// contract. Property tests and a fuzz target hold a yes to their result.
//
// The strings of a fact are parts of one copy of the data.
type quick struct {
	data  []byte
	text  string // data, once more; strings are cut from it
	at    int    // the next byte
	depth int    // objects and arrays that are open
	free  bool   // below a member that holds what others wrote
	// spaced is set where white space is read; see ref.
	spaced bool
	rules  ruling
}

// A reading takes the value at q.at into v and reports whether it could.
type reading func(q *quick, v reflect.Value) bool

// A plan says how the objects of one struct type are read and written.
type plan struct {
	of     reflect.Type
	fields []planField
	// Of a fact: what makes an empty one, its shape, and the attributes that
	// name its type.
	empty             func() Fact
	shape             *shape
	eventType, schema string
}

type planField struct {
	name  string
	index []int
	means *meaning
	read  reading

	key                 []byte // the name as it is written, with the colon
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

// quickPlans has the plan of every type of the contract.
var quickPlans = func() map[Type]*plan {
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

// quickly decodes e, and reports false where the decoder and the walk must
// see to it.
func quickly(e *Event) (Fact, bool) {
	kind, version, err := contract.parse(e.Type)
	p := quickPlans[kind]
	if err != nil || p == nil || version != contract.of(kind) || len(e.Data) > MaxEventBytes {
		return nil, false
	}
	fact := p.empty()
	q := quickRoom.Get().(*quick)
	*q = quick{data: e.Data, text: string(e.Data), rules: ruling{event: e, concerns: concernsOf(fact)}}
	ok := q.object(p, reflect.ValueOf(fact).Elem())
	q.space()
	// An item says only in its content mode that it is a summary.
	ok = ok && q.at == len(q.data) && concernsOf(fact) == q.rules.concerns
	*q = quick{}
	quickRoom.Put(q)
	return fact, ok
}

// quickRoom spares an allocation an event.
var quickRoom = sync.Pool{New: func() any { return new(quick) }}

// object reads an object into a struct.
func (q *quick) object(p *plan, v reflect.Value) bool {
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
			ok = q.judged(name, f.means, field, f.read)
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

// judged reads the value of a member that means something to the rules, and
// asks them.
func (q *quick) judged(name string, means *meaning, v reflect.Value, read reading) bool {
	q.space()
	m := member{name: []byte(name), value: q.data[q.at:], depth: q.depth, free: q.free}
	q.free = m.free || means.freeBelow(q.rules.compaction, m.depth, m.name)
	ok := read(q, v)
	q.free = m.free
	return ok && q.allowed(m, means)
}

// allowed reports whether no rule has anything against a member that was read.
func (q *quick) allowed(m member, means *meaning) bool {
	if means != nil {
		q.rules.judge(m, means)
	}
	return len(q.rules.found) == 0
}

// find returns the index of the field called name, or -1. Writers keep the
// order of the fields, so it looks from next on.
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
