package importer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
)

// windowsOf returns the windows of a log's calls as ranges of positions, with what they lack.
func windowsOf(t *testing.T, got imported) (list []string) {
	t.Helper()
	for _, u := range factsOf[*schema.UsageRecorded](t, got) {
		first := "unknown"
		if u.WindowFirst != nil {
			first = fmt.Sprint(*u.WindowFirst)
		}
		list = append(list, fmt.Sprint(u.CallID, " ", first, " ", *u.WindowNext, " ", u.CoverageReasons))
	}
	return list
}

// TestClocksThatRunBackwards: a log whose times go back has the same facts, ids, order and windows as with a
// clock that runs forwards. No call has a negative gap.
func TestClocksThatRunBackwards(t *testing.T) {
	t.Parallel()
	lines := sliceLines(0, 12)
	forwards := importText(t, "log.jsonl", []byte(strings.Join(lines, "\n")), testOptions())
	for i := range lines {
		lines[i] = strings.Replace(lines[i], fmt.Sprintf("T10:%02d:", i), fmt.Sprintf("T10:%02d:", 59-i), 1)
	}
	backwards := importText(t, "log.jsonl", []byte(strings.Join(lines, "\n")), testOptions())
	checkValid(t, backwards.events)
	if len(backwards.events) != len(forwards.events) {
		t.Fatalf("%d facts, want %d", len(backwards.events), len(forwards.events))
	}
	for i, e := range backwards.events {
		if e.ID != forwards.events[i].ID || *e.Sequence != *forwards.events[i].Sequence {
			t.Fatalf("fact %d is %s, want %s", i, e.ID, forwards.events[i].ID)
		}
	}
	if got, want := windowsOf(t, backwards), windowsOf(t, forwards); !slices.Equal(got, want) {
		t.Errorf("the windows are %q, want %q", got, want)
	}
	for _, u := range factsOf[*schema.UsageRecorded](t, backwards) {
		if u.GapSeconds != nil && *u.GapSeconds < 0 {
			t.Errorf("call %s comes %v seconds after the one before", u.CallID, *u.GapSeconds)
		}
	}
}

// TestLogRewrittenInItsFirstHalf: where the first half of a log was replaced, the calls of the second half
// keep their ids and what was billed. Their windows say that records are missing before them.
func TestLogRewrittenInItsFirstHalf(t *testing.T) {
	t.Parallel()
	lines := sliceLines(0, 12)
	before := importText(t, "log.jsonl", []byte(strings.Join(lines, "\n")), testOptions())
	for i := range 6 {
		lines[i] = strings.NewReplacer(`"u-`, `"v-`, `"msg_`, `"new_`, "text", "rewritten").Replace(lines[i])
	}
	after := importText(t, "log.jsonl", []byte(strings.Join(lines, "\n")), testOptions())
	checkValid(t, after.events)
	seen := make(map[string]bool)
	for _, e := range after.events {
		if seen[e.ID] {
			t.Errorf("the event %s twice", e.ID)
		}
		seen[e.ID] = true
	}
	old, calls := factsOf[*schema.UsageRecorded](t, before), factsOf[*schema.UsageRecorded](t, after)
	if len(calls) != len(old) {
		t.Fatalf("%d calls, want %d", len(calls), len(old))
	}
	for i, u := range calls {
		same := u.CallID == old[i].CallID && *u.Usage.Output == *old[i].Usage.Output
		partial := u.Coverage == schema.CoveragePartial && slices.Contains(u.CoverageReasons, string(schema.PartialSlice))
		if same != (i >= 3) || partial != (i >= 3) {
			t.Errorf("call %d: %s, coverage %s %v", i, u.CallID, u.Coverage, u.CoverageReasons)
		}
	}
}
