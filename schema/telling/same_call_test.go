package telling

import (
	"fmt"
	"testing"
	"time"
)

// TestElsewhere: of the records of a call one counts.
func TestElsewhere(t *testing.T) {
	const whole, slice = ImportSource + "codex:s;r2;bare;0a", ImportSource + "codex:s:from:b;r3;bare;0a"
	const rewritten = ImportSource + "codex:s:from:b;r3;bare;0b"
	for name, c := range map[string]struct {
		calls []Call
		want  string
	}{
		"a rewritten slice gave the call another id": {[]Call{
			{Source: rewritten, ID: "x2", Total: "9", Known: true}, {Source: slice, ID: "x1", Total: "9", Known: true, Retold: true},
		}, "[-1 0]"},
		"the telling from before counts again": {[]Call{
			{Source: rewritten, ID: "x2", Total: "9", Known: true, Retold: true}, {Source: slice, ID: "x1", Total: "9", Known: true},
		}, "[1 -1]"},
		"the whole log has the call":                 {[]Call{{Source: slice, ID: "x", Output: 5}, {Source: whole, ID: "x", Output: 5}}, "[1 -1]"},
		"the whole log ends in the middle of a call": {[]Call{{Source: slice, ID: "x", Output: 5}, {Source: whole, ID: "x", Output: 3}}, "[-1 -1]"},
		"revision 1 did not tell slices from logs":   {[]Call{{Source: slice, ID: "x"}, {Source: ImportSource + "codex:s", ID: "x"}}, "[-1 -1]"},
		"the slice has the call, the whole log its counts": {[]Call{
			{Source: slice, ID: "x", Output: 5}, {Source: whole, ID: "x", Output: 5, Bare: true},
		}, "[-1 0]"},
		"a state counted the call before the log had it": {[]Call{
			{Source: Counts(ImportSource+"openhands:s", "r9") + ";r3;bare;0a", ID: "x", Output: 5, Bare: true}, {Source: ImportSource + "openhands:s;r2;bare;0a", ID: "x", Output: 5},
		}, "[1 -1]"},
		"one source has both": {[]Call{{Source: whole, ID: "x", Output: 5, Bare: true}, {Source: whole, ID: "x", Output: 5}}, "[-1 -1]"},
		"revision 2 did not tell slices of OpenHands": {[]Call{
			{Source: ImportSource + "openhands:s:from:b;r3;bare;0a", ID: "x"}, {Source: ImportSource + "openhands:s;r2;bare;0a", ID: "x"},
		}, "[-1 -1]"},
		"the log ends before the counts, and two slices with them overlap": {[]Call{
			{Source: whole, ID: "x", Output: -1},
			{Source: slice, ID: "x", At: time.Unix(1, 0), Total: "9", Known: true, Begun: true, Output: 5},
			{Source: ImportSource + "codex:s:from:c;r3;bare;0a", ID: "y", Total: "9", Known: true, Begun: true, Output: 5},
		}, "[2 2 -1]"},
		"the log ends before the counts": {[]Call{
			{Source: whole, ID: "x", Output: -1}, {Source: slice, ID: "x", Total: "9", Known: true, Begun: true, Output: 5},
		}, "[-1 -1]"},
		"other logs": {[]Call{{Source: slice, ID: "x", Total: "9"}, {Source: slice, ID: "y", Total: "8"}}, "[-1 -1]"},
	} {
		if got := fmt.Sprint(Elsewhere(c.calls)); got != c.want {
			t.Errorf("%s: %s instead of %s", name, got, c.want)
		}
	}
}
