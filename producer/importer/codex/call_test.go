package codex

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// TestCodexCalls: calls are returned unchanged, each in its line, also after skipped lines.
func TestCodexCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Int64Range(-1, 1<<62)
		var packed codexCalls
		calls := make(map[int]*codexCall)
		line := 0
		for range rapid.IntRange(0, 40).Draw(t, "calls") {
			line += rapid.IntRange(1, 3).Draw(t, "lines between")
			c := &codexCall{line: line, edge: rapid.Bool().Draw(t, "edge")}
			if rapid.Bool().Draw(t, "counted") {
				c.counted = line + rapid.IntRange(0, 9).Draw(t, "to its count")
				c.count = &codexCount{gap: rapid.Bool().Draw(t, "gap"), window: number.Draw(t, "window")}
				for _, p := range []*codexPacked{&c.count.tokens, &c.count.total, &c.count.own} {
					for i := range p {
						p[i] = number.Draw(t, "tokens")
					}
				}
			}
			packed.Add(c)
			calls[line] = c
		}
		for at := range line + 2 {
			if rapid.IntRange(0, 3).Draw(t, "skip") == 0 {
				continue
			}
			if begins := packed.begins(at); begins != (calls[at] != nil) {
				t.Fatalf("line %d: begins %t", at, begins)
			}
			if got := packed.take(at); !reflect.DeepEqual(got, calls[at]) {
				t.Fatalf("line %d: %+v, want %+v", at, got, calls[at])
			}
			if packed.take(at) != nil {
				t.Fatalf("line %d: taken twice", at)
			}
		}
	})
}
