package schema

import (
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// A requirement is one field of a fact type that the tag ctx:"required" marks.
type requirement struct {
	index   []int
	pointer string
}

// A shape is what the checks need to know of a struct type. It is worked out
// once, so that a check costs a few reads.
type shape struct {
	required []requirement
	counts   []count
}

// A count is a field that counts from zero, or that holds such fields.
type count struct {
	index  int
	name   string // "" for an embedded struct
	kind   reflect.Kind
	inside *shape // nil where the field itself is the number
}

var shapes sync.Map // reflect.Type → *shape

func shapeOf(t reflect.Type) *shape {
	if cached, ok := shapes.Load(t); ok {
		return cached.(*shape)
	}
	s := &shape{}
	for _, f := range reflect.VisibleFields(t) {
		if f.Tag.Get("ctx") == "required" {
			s.required = append(s.required, requirement{f.Index, "/data/" + jsonName(f)})
		}
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		c := count{index: i, kind: f.Type.Kind()}
		if !f.Anonymous {
			c.name = jsonName(f)
		}
		inner := f.Type
		if c.kind == reflect.Pointer || c.kind == reflect.Slice {
			inner = inner.Elem()
		}
		switch inner.Kind() {
		case reflect.Int64:
			s.counts = append(s.counts, c)
		case reflect.Struct:
			if c.inside = shapeOf(inner); len(c.inside.counts) > 0 {
				s.counts = append(s.counts, c)
			}
		}
	}
	shapes.Store(t, s)
	return s
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// checkFields reports required fields that are missing and counts that are
// negative: tokens, bytes, items and positions all count from zero. The struct
// tags and types are the source.
func checkFields(fact Fact) (found Violations) {
	v := reflect.ValueOf(fact).Elem()
	s := shapeOf(v.Type())
	for _, r := range s.required {
		if field := v.FieldByIndex(r.index); field.IsZero() || field.Kind() == reflect.Slice && field.Len() == 0 {
			found = append(found, &Violation{CodeRequired, r.pointer, "nothing", "a " + string(fact.EventType()) + " needs this field"})
		}
	}
	for _, n := range s.negatives(v) {
		found = append(found, &Violation{CodeRange, "/data/" + strings.Join(n.path, "/"), strconv.FormatInt(n.value, 10), "counts and positions start at 0; leave out what is unknown"})
	}
	return found
}

// A negative is a count below zero and the way to it.
type negative struct {
	path  []string
	value int64
}

// negatives finds every count below v that is negative. Ways are put together
// on the way back, so that a good fact costs none.
func (s *shape) negatives(v reflect.Value) (found []negative) {
	for i := range s.counts {
		c := &s.counts[i]
		field := v.Field(c.index)
		var below []negative
		switch c.kind {
		case reflect.Pointer:
			if !field.IsNil() {
				below = c.in(field.Elem())
			}
		case reflect.Slice:
			for at := range field.Len() {
				below = append(below, within(strconv.Itoa(at), c.in(field.Index(at)))...)
			}
		default:
			below = c.in(field)
		}
		if c.name != "" {
			below = within(c.name, below)
		}
		found = append(found, below...)
	}
	return found
}

// in finds the negative counts of one value of the field.
func (c *count) in(v reflect.Value) []negative {
	if c.inside != nil {
		return c.inside.negatives(v)
	}
	if n := v.Int(); n < 0 {
		return []negative{{value: n}}
	}
	return nil
}

// within puts a name before the way to each.
func within(name string, list []negative) []negative {
	for i := range list {
		list[i].path = append([]string{name}, list[i].path...)
	}
	return list
}
