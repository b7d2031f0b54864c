package importer_test

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer/importer"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/telling"
	"pgregory.net/rapid"
)

type imported struct {
	events []*schema.Event
	report model.Report
}

// testOptions counts a token for every four bytes and has a fixed key.
func testOptions() model.Options {
	key, err := schema.NewKey(strings.NewReader(strings.Repeat("k", 32)), time.Unix(0, 0))
	if err != nil {
		panic(err)
	}
	return model.Options{Tenant: "acme", Key: key, Count: func(_, text string) (int64, string) {
		return int64(len(text)+3) / 4, "bytes/4"
	}}
}

func importText(tb testing.TB, file string, text []byte, opts model.Options) imported {
	tb.Helper()
	return importAs(tb, model.FormatClaudeCode, file, text, opts)
}

func importAs(tb rapid.TB, f model.Format, file string, text []byte, opts model.Options) imported {
	tb.Helper()
	var got imported
	var err error
	got.report, err = importer.Import(context.Background(), f, file, bytes.NewReader(text), opts, func(e *schema.Event) error {
		got.events = append(got.events, e)
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return got
}

func decode(tb testing.TB, e *schema.Event) schema.Fact {
	tb.Helper()
	fact, err := e.Decode()
	if err != nil {
		tb.Fatal(err)
	}
	return fact
}

// checkValid checks every event against the contract and the rules of the importer: unique ids,
// contiguous sequences, a scope first.
func checkValid(tb rapid.TB, events []*schema.Event) {
	tb.Helper()
	last := make(map[[2]string]int64)
	ids := make(map[[2]string]bool)
	for i, e := range events {
		if _, violations := schema.Validate(e); len(violations) > 0 {
			tb.Errorf("event %d, %s: %v", i, e.EventType(), violations)
		}
		if e.Sequence == nil {
			tb.Fatalf("event %d has no sequence", i)
		}
		scope := [2]string{e.Source, e.SessionID}
		before, begun := last[scope]
		if told, _ := telling.Parse(e.Source); !begun && told.IsSlice() {
			before = *e.Sequence - 1 // of an earlier slice
		}
		if *e.Sequence != before+1 {
			tb.Errorf("event %d of %s has sequence %d after %d", i, e.Source, *e.Sequence, before)
		}
		if begun == (e.EventType() == schema.TypeScopeOpened) {
			tb.Errorf("event %d of %s is a %s at sequence %d", i, e.Source, e.EventType(), *e.Sequence)
		}
		last[scope] = *e.Sequence
		if id := [2]string{e.Source, e.ID}; ids[id] {
			tb.Errorf("event %d, %s: id %s twice", i, e.EventType(), e.ID)
		} else {
			ids[id] = true
		}
	}
}

func equal(tb testing.TB, what string, got, want any) {
	tb.Helper()
	if reflect.DeepEqual(got, want) {
		return
	}
	if g, w := reflect.ValueOf(got), reflect.ValueOf(want); g.Kind() == reflect.Slice && g.Len() == 0 && (want == nil || w.Len() == 0) {
		return
	}
	tb.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
}

// counts holds the totals over the events of one log. Like a ledger, it reads the data of decoded
// events in the order of sequence.
type counts struct {
	sessions                             []string
	calls                                int
	input, cacheRead, cacheWrite, output int64
	tools                                map[string]int
	toolUses, toolResults                map[string]bool
	summaries                            int
	boundaries                           []boundaryFacts
}

func (c counts) unanswered() (n int) {
	for id := range c.toolUses {
		if !c.toolResults[id] {
			n++
		}
	}
	return n
}

func countEvents(tb testing.TB, events []*schema.Event) counts {
	c := counts{tools: make(map[string]int), toolUses: make(map[string]bool), toolResults: make(map[string]bool)}
	var window int64 // window of the last call
	var open []int   // boundaries before the next call
	for _, e := range events {
		if !slices.Contains(c.sessions, e.SessionID) {
			c.sessions = append(c.sessions, e.SessionID)
		}
		switch fact := decode(tb, e).(type) {
		case *schema.UsageRecorded:
			c.calls++
			c.input += value(fact.Usage.UncachedInput)
			c.cacheRead += value(fact.Usage.CacheRead)
			c.cacheWrite += value(fact.Usage.CacheWrite5m) + value(fact.Usage.CacheWrite1h) + value(fact.Usage.CacheWrite)
			c.output += value(fact.Usage.Output)
			if fact.LineageID == "" {
				continue
			}
			window, _ = fact.Usage.Window()
			for _, i := range open {
				read := value(fact.Usage.CacheRead)
				c.boundaries[i].NextCall = nextCall{fact.CallID, window, read, window - read}
			}
			open = nil
		case *schema.LogAppended:
			switch fact.ItemType {
			case "function_call":
				if !c.toolUses[fact.ToolCallID] {
					c.tools[fact.Name]++
				}
				c.toolUses[fact.ToolCallID] = true
			case "function_call_output":
				c.toolResults[fact.ToolCallID] = true
			}
		case *schema.SummaryCreated:
			c.summaries++
		case *schema.CompactionCompleted:
			open = append(open, len(c.boundaries))
			c.boundaries = append(c.boundaries, boundaryFacts{
				Line: int(fact.Metadata["line"].(float64)), Kind: "compact_boundary", UUID: fact.CompactionID, Timestamp: e.Time,
				Trigger: fact.Metadata["trigger"].(string), PreTokens: value(fact.TokensBefore),
				LogicalParentUUID: fact.Metadata["logical_parent_uuid"].(string), PrevCallWindow: window,
			})
		case *schema.ElisionApplied:
			open = append(open, len(c.boundaries))
			c.boundaries = append(c.boundaries, boundaryFacts{
				Line: int(fact.Metadata["line"].(float64)), Kind: "microcompact_boundary", UUID: fact.PassID, Timestamp: e.Time,
				Trigger: fact.Trigger, PreTokens: int64(fact.Metadata["pre_tokens"].(float64)),
				TokensSaved: value(fact.TokensSaved), CompactedToolIDs: len(fact.ElidedItemRefs), PrevCallWindow: window,
			})
		}
	}
	return c
}

func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
