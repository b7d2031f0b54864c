package codex

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// TestRepeats compares the repeats of both passes with a set of all lines.
func TestRepeats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r codexRepeats
		lines := rapid.SliceOfN(rapid.IntRange(0, 50), 0, 120).Draw(t, "lines")
		for pass := range 2 {
			seen := make(map[int]bool)
			for number, line := range lines {
				if got := r.First([]byte(strconv.Itoa(line)), number); got == seen[line] {
					t.Fatalf("pass %d, line %d: new %t", pass+1, number, got)
				}
				seen[line] = true
			}
			r.Forget()
		}
	})
}
