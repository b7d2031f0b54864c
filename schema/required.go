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
	s.negative(v, func(path []string, n int64) {
		found = append(found, &Violation{CodeRange, "/data/" + strings.Join(path, "/"), strconv.FormatInt(n, 10), "counts and positions start at 0; leave out what is unknown"})
	})
	return found
}

// negative reports every count below v that is negative, with the way to it.
// Ways are put together on the way back, so that a good fact costs none.
func (s *shape) negative(v reflect.Value, report func(path []string, n int64)) {
	for i := range s.counts {
		c := &s.counts[i]
		field := v.Field(c.index)
		below := func(path []string, n int64) {
			if c.name != "" {
				path = append([]string{c.name}, path...)
			}
			report(path, n)
		}
		switch c.kind {
		case reflect.Pointer:
			if !field.IsNil() {
				c.number(field.Elem(), below)
			}
		case reflect.Slice:
			for at := range field.Len() {
				c.number(field.Index(at), func(path []string, n int64) {
					below(append([]string{strconv.Itoa(at)}, path...), n)
				})
			}
		default:
			c.number(field, below)
		}
	}
}

func (c *count) number(v reflect.Value, report func(path []string, n int64)) {
	if c.inside != nil {
		c.inside.negative(v, report)
	} else if n := v.Int(); n < 0 {
		report(nil, n)
	}
}
