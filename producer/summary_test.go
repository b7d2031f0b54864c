package producer_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// TestRunningLog keeps a log over two refreshes, swaps it in, and continues with the next
// log.
func TestRunningLog(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t)
	turn := turnOf(t, client, "s")
	call := turn.Call("c")
	items := spoken(t, turn)
	runningLog := producer.NewRunningLog("log", "every_2_turns")
	comp := begin(t, call, items)
	if _, err := comp.CompleteWithLog(t.Context(), runningLog); !errors.Is(err, producer.ErrInvalid) {
		t.Errorf("an empty log: %v", err)
	}
	refresh := func(text, subcontext string, covers []window.Item) error {
		return runningLog.Refresh(t.Context(), call, subcontext, covers, producer.Summary{Content: producer.Content{Text: text}, OpenQuestions: []string{"which file"}})
	}
	for _, bad := range []error{refresh("", "sub-1", items[1:3]), refresh("Read.", "", items[1:3]), refresh("Read.", "sub-1", nil)} {
		if !errors.Is(bad, producer.ErrInvalid) {
			t.Errorf("refused for %v", bad)
		}
	}
	if err := refresh("Read a file.", "sub-1", items[1:4]); err != nil {
		t.Fatal(err)
	}
	if _, err := comp.CompleteWithLog(t.Context(), runningLog); !errors.Is(err, producer.ErrInvalid) {
		t.Errorf("half of the source is covered: %v", err)
	}
	if err := refresh("Read a file and was done.", "sub-2", items[4:6]); err != nil {
		t.Fatal(err)
	}
	after, err := comp.CompleteWithLog(t.Context(), runningLog)
	if err != nil || !slices.Equal(ids(after), []string{"system", "log", "u2"}) {
		t.Fatalf("%v, %v", ids(after), err)
	}
	created, refreshed := producertest.One[*schema.SummaryCreated](t, rec.Events()), producertest.One[*schema.SummaryRefreshed](t, rec.Events())
	if created.SummaryID != "log" || created.SummaryKind != "running_log" || created.EphemeralContextID != "sub-1" || *created.CoversThroughPosition != 2 || created.RefreshPolicy != "every_2_turns" {
		t.Errorf("%+v", created)
	}
	if refreshed.SummaryID != "log" || refreshed.EphemeralContextID != "sub-2" || *refreshed.CoversThroughPosition != 4 || !slices.Equal(schema.RefIDs(refreshed.SourceItemRefs), replaced) {
		t.Errorf("%+v", refreshed)
	}
	done := producertest.One[*schema.CompactionCompleted](t, rec.Events())
	if done.Method != schema.MethodRollingSummary || done.SummaryRef != "log" {
		t.Errorf("%+v", done)
	}
	for _, e := range rec.Events() {
		if slices.Contains([]string{"sub-1", "sub-2"}, e.ContextID) {
			t.Errorf("%s is of the sub-context, which is thrown away", e.Fact.EventType())
		}
	}

	// The next log follows the first.
	after = add(t, turn, after, say("a2", "assistant", "More and more of the same, and then some more of it, and then some."), say("u3", "user", "Well?"))
	if err := refresh("Read a file, was done, did more.", "sub-3", after[2:4]); err != nil {
		t.Fatal(err)
	}
	if runningLog.SummaryID() != "log:2" {
		t.Errorf("goes on as %s", runningLog.SummaryID())
	}
	next, err := call.Compact(t.Context(), producer.Compaction{ID: "second", Window: after, Source: []string{"log", "u2", "a2"}})
	if err != nil {
		t.Fatal(err)
	}
	after, err = next.CompleteWithLog(t.Context(), runningLog)
	if err != nil || !slices.Equal(ids(after), []string{"system", "log:2", "u3"}) {
		t.Errorf("%v, %v", ids(after), err)
	}
}
