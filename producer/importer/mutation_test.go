package importer_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// TestMutatedLogs makes the checks of [fuzz] for logs with valid JSON and changed records.
// Records are repeated, moved, or get values of other records. Random changes of bytes seldom
// give two records the same id.
func TestMutatedLogs(t *testing.T) {
	t.Parallel()
	formats, texts := logs(t), make(map[string][]byte)
	for log := range formats {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		texts[log] = text
	}
	names := slices.Sorted(maps.Keys(texts))
	rapid.Check(t, func(t *rapid.T) {
		log := rapid.SampledFrom(names).Draw(t, "log")
		checkAny(t, formats[log], mutated(t, texts[log]))
	})
}

// mutated returns a log with a few changes.
func mutated(t *rapid.T, text []byte) []byte {
	var records []any
	for dec := json.NewDecoder(bytes.NewReader(text)); ; {
		dec.UseNumber()
		var record any
		if dec.Decode(&record) != nil {
			break
		}
		records = append(records, record)
	}
	var root any = records
	for range rapid.IntRange(1, 6).Draw(t, "changes") {
		root = change(t, root)
	}
	var b bytes.Buffer
	for _, record := range root.([]any) {
		line, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes()
}

// A place is a value of a log, with a function that replaces the value.
type place struct {
	value any
	set   func(any)
}

// change makes one change.
func change(t *rapid.T, root any) any {
	var lists, texts []place
	var walk func(p place)
	walk = func(p place) {
		switch v := p.value.(type) {
		case []any:
			lists = append(lists, p)
			for i := range v {
				walk(place{v[i], func(to any) { v[i] = to }})
			}
		case map[string]any:
			names := make([]string, 0, len(v))
			for name := range v {
				names = append(names, name)
			}
			slices.Sort(names) // makes failures repeatable
			for _, name := range names {
				walk(place{v[name], func(to any) { v[name] = to }})
			}
		case string, json.Number:
			texts = append(texts, p)
		}
	}
	walk(place{root, func(to any) { root = to }})
	at := func(of []place, label string) place { return of[rapid.IntRange(0, len(of)-1).Draw(t, label)] }
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if kind <= 2 {
		list := at(lists, "list")
		v := list.value.([]any)
		if kind == 0 { // the records
			list, v = lists[0], root.([]any)
		}
		if len(v) == 0 {
			return root
		}
		from, to := rapid.IntRange(0, len(v)-1).Draw(t, "from"), rapid.IntRange(0, len(v)-1).Draw(t, "to")
		if rapid.Bool().Draw(t, "move") {
			v[from], v[to] = v[to], v[from]
		} else {
			list.set(slices.Insert(slices.Clone(v), to, copied(v[from])))
		}
		return root
	}
	if len(texts) == 0 {
		return root
	}
	into := at(texts, "into")
	switch kind {
	case 3, 4: // the value of another place with the same form
		into.set(at(texts, "other").value)
	case 5:
		hostile := []any{"", "{", "\x00", "a\x00b", "\x7f", "\u0085", "\"", "line:1", "line:2", "at-0", "message-0", "step-0", "event-0", "0", ":", "�",
			strconv.Itoa(rapid.IntRange(0, 9).Draw(t, "number")), json.Number("0"), json.Number("-1"), json.Number("1e300"), "2026-03-01T10:00:00.0004Z", "0001-01-01T00:00:00Z"}
		into.set(rapid.SampledFrom(hostile).Draw(t, "hostile"))
	}
	return root
}

// copied returns a copy that shares nothing with v.
func copied(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = copied(v[i])
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name := range v {
			object[name] = copied(v[name])
		}
		return object
	}
	return v
}
