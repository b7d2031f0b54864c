package demo

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// TestRecord runs the whole script without a server. A test of the program checks the facts in
// the tables.
func TestRecord(t *testing.T) {
	t.Parallel()
	guard, err := Guard()
	if err != nil {
		t.Fatal(err)
	}
	config := producer.Config{Guard: guard, Counter: window.NewCounter(window.CounterConfig{})}
	var rec producertest.Recorder
	var said strings.Builder
	shown, err := Record(t.Context(), config, &rec, os.DirFS("../.."), func(format string, args ...any) {
		fmt.Fprintf(&said, format+"\n", args...)
	})
	if err != nil {
		t.Fatal(err)
	}
	rec.Check(t)
	events := rec.Events()
	for _, kind := range []schema.Type{
		schema.TypePressureApplied, schema.TypeElisionApplied, schema.TypeCompactionCompleted, schema.TypeSummaryCreated, schema.TypeRedactionApplied,
		schema.TypeMissingRequested, schema.TypeGrantNarrowed, schema.TypeGrantDenied, schema.TypeResourceAccessed, schema.TypeUsageRecorded,
	} {
		if len(events.Of(kind)) == 0 {
			t.Errorf("no %s", kind)
		}
	}
	if seals := len(events.Of(schema.TypeEnvelopeCreated)); seals != len(prompts)+2 {
		t.Errorf("%d turns are sealed; the first attempt and the helper have one each, the user %d", seals, len(prompts))
	}
	if strings.Contains(string(events.JSON())+said.String(), secret) {
		t.Error("the secret came through")
	}
	window := producertest.One[*schema.BudgetApplied](t, events.Session(shown.Session).Turn(shown.Turn).Call(shown.Call))
	if len(window.WindowSegments) < 7 {
		t.Errorf("the window to show has %d layers", len(window.WindowSegments))
	}
	for _, prompt := range prompts {
		if !strings.Contains(said.String(), prompt.text) {
			t.Errorf("no line mentions %q", prompt.text)
		}
	}
}
