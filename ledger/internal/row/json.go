package row

import (
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// JSONText encodes free-form members; nothing encodes as the empty string.
func JSONText(v any) string {
	m, plain := v.(map[string]any)
	if !plain {
		if r := reflect.ValueOf(v); !r.IsValid() || (r.Kind() == reflect.Map || r.Kind() == reflect.Slice) && r.Len() == 0 {
			return ""
		}
	} else if len(m) == 0 {
		return ""
	}
	var room [256]byte
	if text, ok := appendPlain(room[:0], v); ok {
		return string(text)
	}
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return ""
	}
	return string(text)
}

// appendPlain appends the encoding of a value, faster than the encoder, and reports whether it
// could. It knows the types that JSON without a type is read into.
func appendPlain(b []byte, v any) (_ []byte, ok bool) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), true
	case bool:
		return strconv.AppendBool(b, v), true
	case float64:
		if n := int64(v); float64(n) == v && n != 0 && -1e15 < n && n < 1e15 {
			return strconv.AppendInt(b, n, 10), true
		}
		return append(b, jsontext.Float(v).String()...), !math.IsNaN(v) && !math.IsInf(v, 0)
	case string:
		b, err := jsontext.AppendQuote(b, v)
		return b, err == nil
	case []any:
		b = append(b, '[')
		for i, element := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if b, ok = appendPlain(b, element); !ok {
				return b, false
			}
		}
		return append(b, ']'), true
	case map[string]any:
		var room [16]string
		names := room[:0]
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		b = append(b, '{')
		for i, name := range names {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			if b, err = jsontext.AppendQuote(b, name); err != nil {
				return b, false
			}
			if b, ok = appendPlain(append(b, ':'), v[name]); !ok {
				return b, false
			}
		}
		return append(b, '}'), true
	}
	return b, false
}

// extra holds rare values of the rows of a table in one column of JSON, since each column costs
// every insert. Nothing is the empty string.
type extra map[string]any

func (e *extra) text(name, value string) {
	if value != "" {
		e.set(name, value)
	}
}

func (e *extra) list(name string, values []string) {
	if len(values) > 0 {
		e.set(name, values)
	}
}

func (e *extra) set(name string, value any) {
	if *e == nil {
		*e = make(extra)
	}
	(*e)[name] = value
}

func (e *extra) json() string {
	if len(*e) == 0 {
		return ""
	}
	return JSONText(*e)
}
