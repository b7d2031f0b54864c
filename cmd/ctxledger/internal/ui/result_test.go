package ui_test

import (
	"encoding/csv"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger/read"
)

// TestJSONHoldsEveryValue writes values that JSON has no form for.
func TestJSONHoldsEveryValue(t *testing.T) {
	t.Parallel()
	id, at := uuid.MustParse("00000000-0000-0000-0000-000000000001"), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var none *float64
	for _, test := range []struct {
		value any
		want  string
	}{
		{math.NaN(), "null"}, {math.Inf(1), "null"}, {float32(math.Inf(-1)), "null"}, {1.5, "1.5"}, {float32(0.1), "0.1"}, {none, "null"}, {nil, "null"},
		{"\xff", `"ff"`}, {[]string{"a", "\xff"}, `["a","ff"]`}, {[]float64{1, math.NaN()}, "[1,null]"}, {[]string(nil), "[]"},
		{[2]float64{1, math.Inf(1)}, "[1,null]"}, {[]uint8{1, 2}, "[1,2]"}, {[][]uint8{{1}, {}}, "[[1],[]]"}, {map[string]float64{"b": 2, "a": math.NaN()}, `{"a":null,"b":2}`},
		{map[uint64]string{7: "\xff"}, `{"7":"ff"}`}, {id, `"` + id.String() + `"`}, {[]uuid.UUID{id}, `["` + id.String() + `"]`},
		{at, `"2026-01-02T03:04:05Z"`}, {[]time.Time{at}, `["2026-01-02T03:04:05Z"]`},
	} {
		text, _ := write(t, &answer{columns: []read.ResultColumn{{Name: "a\xff"}, {Name: "a\xfe"}}, rows: [][]any{{test.value, 1}}}, ui.Form{Format: "json"})
		if want := "[{\"a\uFFFD\":" + test.want + ",\"a\uFFFD_2\":1}]"; strings.TrimSpace(text) != want {
			t.Errorf("%v is %s, want %s", test.value, text, want)
		}
		var read []map[string]any
		if err := json.Unmarshal([]byte(text), &read); err != nil {
			t.Errorf("%v: %v", test.value, err)
		}
	}
}

// TestCSVKeepsEmptyRows writes one column with empty values: a reader skips lines that are empty.
func TestCSVKeepsEmptyRows(t *testing.T) {
	t.Parallel()
	text, _ := write(t, &answer{columns: []read.ResultColumn{{Name: "x"}}, rows: [][]any{{nil}, {"a"}, {""}, {"b"}}}, ui.Form{Format: "csv"})
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) != 5 || rows[1][0] != "" || rows[4][0] != "b" {
		t.Errorf("%q is read as %q, %v", text, rows, err)
	}
}
