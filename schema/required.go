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

var requirements sync.Map // reflect.Type → []requirement

// checkFields reports required fields that are missing and counts that are
// negative. The struct tags are the source; the cost is a few reflect calls.
func checkFields(fact Fact) (found Violations) {
	v := reflect.ValueOf(fact).Elem()
	for _, r := range requirementsOf(v.Type()) {
		if field := v.FieldByIndex(r.index); field.IsZero() || field.Kind() == reflect.Slice && field.Len() == 0 {
			found = append(found, &Violation{CodeRequired, r.pointer, "nothing", "a " + string(fact.EventType()) + " needs this field"})
		}
	}
	return append(found, checkCounts(v, "/data")...)
}

func requirementsOf(t reflect.Type) []requirement {
	if cached, ok := requirements.Load(t); ok {
		return cached.([]requirement)
	}
	var list []requirement
	for _, f := range reflect.VisibleFields(t) {
		if f.Tag.Get("ctx") == "required" {
			list = append(list, requirement{f.Index, "/data/" + jsonName(f)})
		}
	}
	requirements.Store(t, list)
	return list
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// checkCounts refuses negative values of every optional integer: tokens,
// bytes, items and positions all count from zero.
func checkCounts(v reflect.Value, pointer string) (found Violations) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		if v.Elem().Kind() == reflect.Int64 {
			if n := v.Elem().Int(); n < 0 {
				return Violations{{CodeRange, pointer, strconv.FormatInt(n, 10), "counts and positions start at 0; leave out what is unknown"}}
			}
			return nil
		}
		return checkCounts(v.Elem(), pointer)
	case reflect.Struct:
		t := v.Type()
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() {
				continue
			}
			at := pointer
			if !f.Anonymous {
				at += "/" + jsonName(f)
			}
			found = append(found, checkCounts(v.Field(i), at)...)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Struct {
			return nil
		}
		for i := range v.Len() {
			found = append(found, checkCounts(v.Index(i), pointer+"/"+strconv.Itoa(i))...)
		}
	}
	return found
}
