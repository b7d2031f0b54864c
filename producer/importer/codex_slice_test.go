package importer_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/telling"
)

// rolloutName is the name of a rollout of the session in rolloutLines.
const (
	rolloutSession = "019c8a59-e9dd-71f0-9ae3-4079fe9726a9"
	rolloutName    = "rollout-2026-02-23T12-54-34-" + rolloutSession + ".jsonl"
)

// rolloutLines makes a rollout. Answers have one to three items, tools can answer before the counts,
// counts repeat, records share milliseconds, and a turn can be interrupted.
func rolloutLines(t *rapid.T) (lines []string) {
	at := time.Date(2026, 2, 23, 11, 54, 34, 0, time.UTC)
	var total [5]int
	last, tool := total, 0
	add := func(kind, payload string, args ...any) {
		if rapid.IntRange(0, 2).Draw(t, "same time") > 0 {
			at = at.Add(time.Duration(rapid.IntRange(1, 3000).Draw(t, "ms")) * time.Millisecond)
		}
		lines = append(lines, fmt.Sprintf(`{"timestamp":%q,"type":%q,"payload":{%s}}`, at.Format("2006-01-02T15:04:05.000Z"), kind, fmt.Sprintf(payload, args...)))
	}
	count := func() {
		add("event_msg", `"type":"token_count","info":{"total_token_usage":%s,"last_token_usage":%s,"model_context_window":200}`, codexNumbersOf(total), codexNumbersOf(last))
	}
	message := func(role, kind string) {
		add("response_item", `"type":"message","role":%q,"content":[{"type":%q,"text":"text %d"}]`, role, kind, len(lines))
	}
	add("session_meta", `"id":%q,"timestamp":"2026-02-23T11:54:34.334Z","cwd":"/w","cli_version":"0.104.0"`, rolloutSession)
	message("developer", "input_text")
	for turn := range rapid.IntRange(1, 4).Draw(t, "turns") {
		add("event_msg", `"type":"task_started","turn_id":"turn-%d"`, turn)
		message("user", "input_text")
		add("event_msg", `"type":"user_message","message":"m"`)
		add("turn_context", `"turn_id":"turn-%d","model":"gpt-x"`, turn)
		for range rapid.IntRange(1, 5).Draw(t, "calls") {
			if rapid.Bool().Draw(t, "reasoning") {
				add("response_item", `"type":"reasoning","summary":[],"encrypted_content":"r%d"`, len(lines))
			}
			var open []int
			for range rapid.IntRange(0, 2).Draw(t, "tools") {
				tool++
				add("response_item", `"type":"function_call","name":"exec","arguments":"{}","call_id":"call_%d"`, tool)
				open = append(open, tool)
			}
			if len(open) == 0 {
				message("assistant", "output_text")
			}
			if len(open) > 1 && rapid.Bool().Draw(t, "early") {
				add("response_item", `"type":"function_call_output","call_id":"call_%d","output":"o"`, open[0])
				open = open[1:]
			}
			last = [5]int{rapid.IntRange(1, 900).Draw(t, "input"), 0, rapid.IntRange(1, 90).Draw(t, "output"), 0, 0}
			last[4] = last[0] + last[2]
			for i := range total {
				total[i] += last[i]
			}
			count()
			for _, id := range open {
				add("response_item", `"type":"function_call_output","call_id":"call_%d","output":"o"`, id)
			}
			for range rapid.IntRange(0, 2).Draw(t, "repeats") {
				at = at.Add(time.Millisecond) // a line that is the same is one that was written twice
				count()
			}
		}
		add("event_msg", `"type":"task_complete","turn_id":"turn-%d"`, turn)
	}
	return lines
}

func codexNumbersOf(n [5]int) string {
	return fmt.Sprintf(`{"input_tokens":%d,"cached_input_tokens":%d,"output_tokens":%d,"reasoning_output_tokens":%d,"total_tokens":%d}`, n[0], n[1], n[2], n[3], n[4])
}

// toldCalls are the records of calls of several imports, as the ledger reads them.
type toldCalls struct {
	records []telling.Call
	usage   []*schema.UsageRecorded
	places  []int64             // sequences
	facts   map[string][32]byte // digest by source and id
}

func (c *toldCalls) add(t rapid.TB, got imported) {
	for _, e := range got.events {
		key, digest := e.Source+" "+e.ID, e.Digest()
		if was, known := c.facts[key]; known && was != digest {
			t.Errorf("%s of %s has two forms", e.EventType(), e.Source)
		}
		c.facts[key] = digest
		fact, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		u, ok := fact.(*schema.UsageRecorded)
		if !ok {
			continue
		}
		total, err := json.Marshal(u.ProviderUsage["total_token_usage"])
		if err != nil {
			t.Fatal(err)
		}
		r := telling.Call{Source: e.Source, ID: u.CallID, At: e.Time, Known: u.Usage.Output != nil, Begun: u.Metadata["begun_before_log"] == true, Output: -1, Bare: u.Metadata["background"] == true}
		if r.Known {
			r.Total, r.Output = strings.TrimPrefix(string(total), "null"), *u.Usage.Output
		}
		c.records, c.usage, c.places = append(c.records, r), append(c.usage, u), append(c.places, *e.Sequence)
	}
}

// sums returns the number of calls that count, and their tokens.
func (c *toldCalls) sums() [3]int64 {
	counted := make(map[string]*schema.UsageRecorded)
	for i, other := range telling.Elsewhere(c.records) {
		u := c.usage[i]
		if was := counted[u.CallID]; other < 0 && (was == nil || model.ValueOf(was.Usage.Output) < model.ValueOf(u.Usage.Output)) {
			counted[u.CallID] = u
		}
	}
	sum := [3]int64{int64(len(counted))}
	for u := range maps.Values(counted) {
		sum[1] += model.ValueOf(u.Usage.UncachedInput) + model.ValueOf(u.Usage.CacheRead)
		sum[2] += model.ValueOf(u.Usage.Output) + model.ValueOf(u.Usage.Reasoning)
	}
	return sum
}

// checkOrder compares the sequences of the calls that count with their times.
func (c *toldCalls) checkOrder(t rapid.TB) {
	t.Helper()
	seen := make(map[string]bool)
	last := make(map[int64]telling.Call)
	for i, other := range telling.Elsewhere(c.records) {
		if r := c.records[i]; other < 0 && !seen[r.ID] {
			seen[r.ID], last[c.places[i]] = true, r
		}
	}
	var before telling.Call
	for _, place := range slices.Sorted(maps.Keys(last)) {
		r := last[place]
		if r.At.Before(before.At) {
			t.Fatalf("the call %s of %s is after the call %s of %s", r.ID, r.Source, before.ID, before.Source)
		}
		before = r
	}
}

// rolloutSlice is the numbers of its first line and of the line after it. With head, the session_meta
// is before the slice.
type rolloutSlice struct {
	from, to int
	head     bool
}

// overlaps reports whether a slice begins within another one. The whole log begins before all.
func overlaps(p rolloutSlice, parts []rolloutSlice) bool {
	return slices.ContainsFunc(parts, func(o rolloutSlice) bool { return o.from > 0 && o.from < p.from && p.from < o.to })
}

// beginsWith reports whether another slice begins in the millisecond of p. They are in no order.
func beginsWith(t rapid.TB, lines []string, p rolloutSlice, parts []rolloutSlice) bool {
	return slices.ContainsFunc(parts, func(o rolloutSlice) bool {
		return p.from > 0 && o.from > p.from && timeOfLine(t, lines[o.from]).Equal(timeOfLine(t, lines[p.from]))
	})
}

func timeOfLine(t rapid.TB, line string) time.Time {
	var l struct{ Timestamp time.Time }
	if err := json.Unmarshal([]byte(line), &l); err != nil {
		t.Fatal(err)
	}
	return l.Timestamp
}

// compareSlices imports slices of a log in the given order and compares their sums with those of the
// whole log. The windows of a slice are partial up to its first compaction, and have no entry of a
// later slice.
func compareSlices(t rapid.TB, lines []string, parts []rolloutSlice) {
	t.Helper()
	read := func(part rolloutSlice) imported {
		list := lines[part.from:part.to]
		if part.head {
			list = slices.Concat(lines[:1], list)
		}
		return importAs(t, model.FormatCodex, rolloutName, []byte(strings.Join(list, "\n")+"\n"), testOptions())
	}
	entries := make(map[int][]int64) // positions by the first line of the slice
	windows := make(map[int]int64)
	told, whole := &toldCalls{facts: make(map[string][32]byte)}, &toldCalls{facts: make(map[string][32]byte)}
	for _, part := range parts {
		got := read(part)
		checkValid(t, got.events)
		headless := 0
		for _, p := range got.report.Problems {
			if p.Reason == model.ReasonNoSession {
				headless++
			}
		}
		if (headless == 1) != (part.from > 0 && !part.head) {
			t.Errorf("lines %v give %d problems: %v", part, headless, got.report.Problems)
		}
		told.add(t, got)
		compacted := false
		for _, e := range got.events {
			fact, err := e.Decode()
			if err != nil {
				t.Fatal(err)
			}
			switch fact := fact.(type) {
			case *schema.CompactionCompleted:
				compacted = true
			case *schema.LogAppended:
				entries[part.from] = append(entries[part.from], *fact.Position)
			case *schema.UsageRecorded:
				windows[part.from] = max(windows[part.from], *fact.WindowNext)
				if partial := slices.Contains(fact.CoverageReasons, string(schema.PartialEntries)); partial != (part.from > 0 && !compacted) {
					t.Errorf("lines %v have windows with %v", part, fact.CoverageReasons)
				}
			}
		}
	}
	if !slices.ContainsFunc(parts, func(p rolloutSlice) bool { return overlaps(p, parts) || beginsWith(t, lines, p, parts) }) {
		told.checkOrder(t)
	}
	for from, next := range windows {
		for other, positions := range entries {
			if timeOfLine(t, lines[other]).After(timeOfLine(t, lines[from])) && slices.Min(positions) < next {
				t.Errorf("the windows after line %d have entries after line %d", from, other)
			}
		}
	}
	whole.add(t, read(rolloutSlice{to: len(lines)}))
	if got, want := told.sums(), whole.sums(); got != want {
		for i, other := range telling.Elsewhere(told.records) {
			if len(told.records) < 100 {
				t.Logf("%+v told by %d", told.records[i], other)
			}
		}
		t.Errorf("calls, input and output of slices %v, of the whole %v; slices %v", got, want, parts)
	}
}

// TestSlicesOfRollouts: slices of a rollout that have all of its lines give the sums of the whole, each
// call once, in any order.
func TestSlicesOfRollouts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := rolloutLines(t)
		begun := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, `"user_message"`) }) + 1
		cuts := []int{0, len(lines)}
		for range rapid.IntRange(1, 4).Draw(t, "cuts") {
			cuts = append(cuts, rapid.IntRange(begun, len(lines)-1).Draw(t, "cut"))
		}
		slices.Sort(cuts)
		cuts = slices.Compact(cuts)
		var parts []rolloutSlice
		for i, from := range cuts[:len(cuts)-1] {
			to := cuts[i+1]
			if rapid.IntRange(0, 3).Draw(t, "overlap") == 0 {
				to = min(to+rapid.IntRange(1, 30).Draw(t, "by"), len(lines))
			}
			counted := slices.ContainsFunc(lines[from:to], func(line string) bool { return strings.Contains(line, `"token_count"`) })
			parts = append(parts, rolloutSlice{from, to, from > 0 && counted && rapid.Bool().Draw(t, "head")})
		}
		if rapid.IntRange(0, 3).Draw(t, "whole") == 0 {
			parts = append(parts, rolloutSlice{to: len(lines)})
		}
		compareSlices(t, lines, rapid.Permutation(parts).Draw(t, "order"))
	})
}

// TestSlicesOfRealRollouts cuts a real rollout at many points.
func TestSlicesOfRealRollouts(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(transcripts(t), string(model.FormatCodex), rolloutName))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	step := 97
	if testing.Short() {
		step *= 24
	}
	for at := 40; at < len(lines); at += step {
		n, to := len(lines), min(at+200, len(lines))
		for _, parts := range [][]rolloutSlice{
			{{at, n, false}, {0, at, false}}, {{at, n, false}, {0, n, false}}, {{0, at, false}, {to, n, false}, {at, to, false}},
			{{at, n, true}, {0, n, false}},
		} {
			compareSlices(t, lines, slices.DeleteFunc(parts, func(p rolloutSlice) bool { return p.from == p.to }))
		}
	}
}
