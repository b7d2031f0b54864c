package read_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
)

// TestOneTellingOfACallCounts: of several records of one call the best known one counts in sums. The
// others stay and are listed, with the values that differ.
func TestOneTellingOfACallCounts(t *testing.T) {
	t.Parallel()
	c := newCorpus(t)
	c.in("s9", "s9", "t9", "run-9")
	usage := func(source, call, message string, fidelity schema.Fidelity, input, output int64) {
		f := &schema.UsageRecorded{CallID: call, ProviderMessageID: message, Model: "m", Usage: schema.ProviderUsage{UncachedInput: &input, Output: &output}}
		f.Fidelity = fidelity
		c.source = source
		c.add(f)
	}
	const imported = "urn:ctxledger:import:claude-code:s9"
	usage(imported, "msg_1", "", "", 10, 99) // from before the word
	usage("urn:x:wire", "wire-1", "msg_1", schema.FidelityWire, 11, 5)
	usage("urn:x:sdk", "sdk-1", "msg_1", "", 12, 50) // stated, from before the word
	usage("urn:x:otlp", "otlp-1", "msg_1", schema.FidelityReported, 13, 60)
	usage(imported, "msg_2", "", "", 20, 1)
	usage("urn:x:otlp", "otlp-2", "msg_2", schema.FidelityReported, 20, 1) // agrees
	usage(imported, "msg_3", "", schema.FidelityReconstructed, 30, 1)
	usage(imported, "msg_3", "", schema.FidelityReconstructed, 30, 7) // the same record, grown
	l := c.write()
	if got := fmt.Sprint(rows(t, l, "SELECT calls, uncached_input, output FROM session_summary WHERE session_id = 's9'", nil)); got != "[[3 61 13]]" {
		t.Errorf("the session has %s", got)
	}
	var told []string
	for _, row := range named(t, l, "tellings", map[string]string{"session_id": "s9"}, "call", "call_id", "counts", "fidelity", "window_tokens") {
		told = append(told, strings.Join(row, " "))
	}
	want := []string{
		"msg_1 wire-1 true wire 11", "msg_1 sdk-1 false stated 12", "msg_1 otlp-1 false reported 13", "msg_1 msg_1 false reconstructed 10",
		"msg_2 otlp-2 true reported 20", "msg_2 msg_2 false reconstructed 20",
	}
	if strings.Join(told, "\n") != strings.Join(want, "\n") {
		t.Errorf("the tellings are\n%s", strings.Join(told, "\n"))
	}
	var known []string
	for _, row := range named(t, l, "fidelity", map[string]string{"session_id": "s9"}, "call", "fidelity", "sources", "differs") {
		known = append(known, strings.Join(row, " "))
	}
	if got := strings.Join(known, "\n"); got != "msg_1 wire 4 [uncached_input output window_tokens]\nmsg_2 reported 2 []\nmsg_3 reconstructed 1 []" {
		t.Errorf("the calls are known as\n%s", got)
	}
}
