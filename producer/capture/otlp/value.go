package otlp

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"

	common "go.opentelemetry.io/proto/otlp/common/v1"
)

// attributes are the attributes of a span or a log record, with those of its resource.
type attributes map[string]any

func (a attributes) add(list []*common.KeyValue) {
	for _, kv := range list {
		if _, set := a[kv.GetKey()]; !set {
			a[kv.GetKey()] = plain(kv.GetValue(), maxDepth)
		}
	}
}

const maxDepth = 32

// plain returns a value as the types of JSON. Levels below depth are left out.
func plain(v *common.AnyValue, depth int) any {
	if depth == 0 {
		return nil
	}
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return strings.ToValidUTF8(v.StringValue, "\uFFFD")
	case *common.AnyValue_BoolValue:
		return v.BoolValue
	case *common.AnyValue_IntValue:
		return v.IntValue
	case *common.AnyValue_DoubleValue:
		return v.DoubleValue
	case *common.AnyValue_BytesValue:
		return base64.StdEncoding.EncodeToString(v.BytesValue)
	case *common.AnyValue_ArrayValue:
		list := make([]any, 0, len(v.ArrayValue.GetValues()))
		for _, one := range v.ArrayValue.GetValues() {
			list = append(list, plain(one, depth-1))
		}
		return list
	case *common.AnyValue_KvlistValue:
		object := make(map[string]any)
		for _, kv := range v.KvlistValue.GetValues() {
			object[kv.GetKey()] = plain(kv.GetValue(), depth-1)
		}
		return object
	}
	return nil
}

// first returns the first value of a target, with its row of the mapping.
func (a attributes) first(target Target) (any, Attribute) {
	for _, row := range Mapping {
		if row.Target != target {
			continue
		}
		if value, ok := a[row.Name]; ok && value != nil && value != "" {
			return value, row
		}
		if row.Form == Prefixed || row.Form == Nested {
			if list := a.indexed(row.Name); len(list) > 0 {
				return list, row
			}
		}
	}
	return nil, Attribute{}
}

// text returns the first value of a target as text. Of a list it is the first element.
func (a attributes) text(target Target) string {
	value, _ := a.first(target)
	if list, ok := value.([]any); ok && len(list) > 0 {
		value = list[0]
	}
	text, _ := value.(string)
	return text
}

// number returns the first value of a target as a number of 0 or more, or nil.
func (a attributes) number(target Target) *int64 {
	value, _ := a.first(target)
	return numberOf(value)
}

func numberOf(value any) *int64 {
	var n int64
	switch value := value.(type) {
	case int64:
		n = value
	case float64:
		n = int64(value)
	case string:
		parsed, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return nil
		}
		n = parsed
	default:
		return nil
	}
	if n < 0 {
		return nil
	}
	return &n
}

// maxIndex is the largest index of an attribute by index.
const maxIndex = 10_000

// indexed collects <name>.<index>.<path> into a list of objects.
func (a attributes) indexed(name string) []any {
	root := make(map[string]any)
	for key, value := range a {
		if path, ok := strings.CutPrefix(key, name+"."); ok {
			put(root, strings.Split(path, "."), value)
		}
	}
	list, _ := lists(root).([]any)
	return list
}

func put(at map[string]any, path []string, value any) {
	for len(path) > 1 {
		next, ok := at[path[0]].(map[string]any)
		if !ok {
			next = make(map[string]any)
			at[path[0]] = next
		}
		at, path = next, path[1:]
	}
	if _, set := at[path[0]]; !set {
		at[path[0]] = value
	}
}

// lists makes lists of the objects whose names are indexes.
func lists(value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		return value
	}
	last := -1
	for name, member := range object {
		object[name] = lists(member)
		n, err := strconv.Atoi(name)
		if err != nil || n < 0 || n > maxIndex || strconv.Itoa(n) != name {
			last = maxIndex + 1
		}
		last = max(last, n)
	}
	if last < 0 || last > maxIndex {
		return object
	}
	list := make([]any, 0, len(object))
	for n := range last + 1 {
		if member, ok := object[strconv.Itoa(n)]; ok {
			list = append(list, member)
		}
	}
	return list
}

// decoded returns the value of a JSON text, and any other value unchanged.
func decoded(value any) any {
	if text, ok := value.(string); ok {
		var out any
		if decoder := json.NewDecoder(strings.NewReader(text)); json.Valid([]byte(text)) {
			decoder.UseNumber()
			if decoder.Decode(&out) == nil {
				return out
			}
		}
	}
	return value
}

// traceID returns the id of a trace or a span in hex. The JSON form of OTLP has hex where the
// JSON form of protobuf has base64, so the decoder has taken it for base64.
func traceID(id []byte, fromJSON bool) string {
	if fromJSON {
		return strings.ToLower(base64.StdEncoding.EncodeToString(id))
	}
	return hex.EncodeToString(id)
}
