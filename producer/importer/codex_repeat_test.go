package importer

import (
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestRepeats holds the repeats that are found to those of a set of all lines.
func TestRepeats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, seen := newCodexRepeats(), make(map[string]bool)
		second := rapid.Int64Range(0, 3)
		base := int64(0)
		for range rapid.IntRange(0, 120).Draw(t, "lines") {
			if rapid.Bool().Draw(t, "later") {
				base++
			}
			at := base
			if rapid.IntRange(0, 30).Draw(t, "older") == 0 {
				at -= second.Draw(t, "by")
			}
			line := strconv.FormatInt(at, 10) + " " + strconv.Itoa(rapid.IntRange(0, 50).Draw(t, "text"))
			e := &codexEntry{at: time.Unix(at, 0), untold: line == "0 0"}
			if got := r.first(e, []byte(line)); got == seen[line] {
				t.Fatalf("%s: new %t", line, got)
			}
			seen[line] = true
		}
	})
}
