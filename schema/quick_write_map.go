package schema

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// mapDepth is how deep plain JSON is written quickly: far below what an event
// may hold, so that depth is the walk's to judge.
const mapDepth = 16

// writeMap appends a map as an object, by name, and asks the rules about its
// members.
func writeMap[T any](w *quickWriter, m map[string]T, write func(T) bool) bool {
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
func (w *quickWriter) any(value any) bool {
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

// number appends a number as somebody wrote it, if a reader can hold it.
func (w *quickWriter) number(value jsontext.Value) bool {
	data, err := jsontext.AppendFormat(w.data, value)
	if err != nil {
		return false
	}
	_, err = strconv.ParseFloat(string(data[len(w.data):]), 64)
	w.data = data
	return err == nil
}
