// Package schematest contains helpers for the tests of schema and of the packages below it. The
// package imports no type of schema. The tests inside schema can therefore import it.
package schematest

import (
	"fmt"
	"reflect"
	"time"

	"pgregory.net/rapid"
)

// EventTime is the time of the events that tests make.
var EventTime = time.Date(2026, 3, 2, 9, 0, 0, 123456789, time.UTC)

// Filler fills every field of a fact with drawn values. The result is valid JSON of the contract.
// Rules may still refuse it.
type Filler struct {
	T *rapid.T
	n int
}

func (f *Filler) Text() string {
	f.n++
	return fmt.Sprintf("%s-%d", rapid.SampledFrom([]string{"a", "Ω \"quoted\"", "x<y>&z", "line\nbreak", "😀", "\x00"}).Draw(f.T, "text"), f.n)
}

func (f *Filler) any() any {
	return rapid.SampledFrom([]any{"text", true, 1.5, 0.0, map[string]any{"b": "x", "a": []any{1.0, "y"}}, []any{}, ""}).Draw(f.T, "any")
}

func (f *Filler) Fill(v reflect.Value) {
	switch v.Type().Name() {
	case "Ref":
		v.SetString(rapid.SampledFrom([]string{"ref-" + fmt.Sprint(f.n), `{"id":"r","uri":"file:///x"}`}).Draw(f.T, "ref"))
		return
	case "Time":
		v.Set(reflect.ValueOf(EventTime.Add(time.Duration(rapid.Int64Range(0, 1e15).Draw(f.T, "time")))))
		return
	case "Type":
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f.Fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.Fill(v.Elem())
	case reflect.Slice:
		n := rapid.IntRange(1, 2).Draw(f.T, "n")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			f.Fill(v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			f.Fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		f.Fill(value)
		v.SetMapIndex(reflect.ValueOf("key "+fmt.Sprint(f.n)), value)
		v.SetMapIndex(reflect.ValueOf("another"), value)
	case reflect.Interface:
		v.Set(reflect.ValueOf(f.any()))
	case reflect.String:
		v.SetString(f.Text())
	case reflect.Int64:
		v.SetInt(rapid.Int64Range(0, 1<<62).Draw(f.T, "int"))
	case reflect.Float64:
		v.SetFloat(rapid.Float64Range(-1e9, 1e300).Draw(f.T, "float"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(f.T, "bool"))
	default:
		f.T.Fatalf("a field of kind %s, which the Filler does not know", v.Kind())
	}
}
