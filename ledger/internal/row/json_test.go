package row

import (
	"math"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"
)

// oddValues are values that the encoder refuses or encodes in a special way.
var oddValues = []any{
	"\xff", "</a>\u2028\x00\"", math.NaN(), math.Inf(1), math.Copysign(0, -1), 0.0, 1e15, -1e15, 1e300, int64(7), map[string]int64{"b": 2, "a": 1},
}

// anyJSON generates decoded JSON values, and sometimes values without a JSON form.
func anyJSON(deep int) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.String().AsAny(), rapid.Float64().AsAny(),
		rapid.Map(rapid.IntRange(-1e6, 1e6), func(n int) any { return float64(n) }),
		rapid.SampledFrom(oddValues),
	}
	if deep > 0 {
		kinds = append(kinds,
			rapid.SliceOfN(anyJSON(deep-1), 0, 4).AsAny(),
			rapid.MapOfN(rapid.OneOf(rapid.StringN(0, 4, -1), rapid.SampledFrom([]string{"\xff", "é", "\U0001F600", "\uffff"})), anyJSON(deep-1), 0, 20).AsAny())
	}
	return rapid.OneOf(kinds...)
}

// TestJSONTextIsTheEncoders: JSONText returns the encoder's text, and nothing for an encoder error.
func TestJSONTextIsTheEncoders(t *testing.T) {
	t.Parallel()
	check := func(t rapid.TB, value any) {
		v := map[string]any{"it": value, "and": 1.0}
		text, err := json.Marshal(v, json.Deterministic(true))
		if err != nil {
			text = nil
		}
		if got := JSONText(v); got != string(text) {
			t.Fatalf("got %q, want %q", got, text)
		}
	}
	for _, odd := range oddValues {
		check(t, odd)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, anyJSON(3).Draw(t, "value")) })
	for _, empty := range []any{nil, map[string]any(nil), map[string]any{}, []map[string]any{}, map[string]float64(nil)} {
		if got := JSONText(empty); got != "" {
			t.Errorf("%#v gives %q", empty, got)
		}
	}
}
