package schema

import (
	"reflect"
	"strconv"
	"strings"
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

// shapes has the shape of every struct type of the contract.
var shapes = func() map[reflect.Type]*shape {
	all := make(map[reflect.Type]*shape)
	for _, t := range Types() {
		addShape(all, reflect.TypeOf(t.New()).Elem())
	}
	return all
}()

func shapeOf(t reflect.Type) *shape { return shapes[t] }

func addShape(all map[reflect.Type]*shape, t reflect.Type) *shape {
	if have := all[t]; have != nil {
		return have
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
			if c.inside = addShape(all, inner); len(c.inside.counts) > 0 {
				s.counts = append(s.counts, c)
			}
		}
	}
	all[t] = s
	return s
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// checkRequired reports required fields that are missing. The struct tags are
// the source.
func checkRequired(fact Fact) (found Violations) {
	v := reflect.ValueOf(fact).Elem()
	for _, r := range shapeOf(v.Type()).required {
		if field := v.FieldByIndex(r.index); field.IsZero() || field.Kind() == reflect.Slice && field.Len() == 0 {
			found = append(found, &Violation{CodeRequired, r.pointer, "nothing", "a " + string(fact.EventType()) + " needs this field"})
		}
	}
	return found
}

// checkCounts reports counts that are negative: tokens, bytes, items and
// positions all count from zero.
func checkCounts(fact Fact) (found Violations) {
	v := reflect.ValueOf(fact).Elem()
	for _, n := range shapeOf(v.Type()).negatives(v) {
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
