package importer_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/ctxledger/ctxledger/producer/importer/model"
	"pgregory.net/rapid"
)

// fuzz checks that no input makes a parser panic, loop, or emit an event that the contract
// refuses. A second import must emit the same events.
func fuzz(f *testing.F, format model.Format, lines bool) {
	for log, of := range logs(f) {
		if of != format && format != model.FormatAuto {
			continue
		}
		text, err := os.ReadFile(log)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add(text[:len(text)/2])
		if lines {
			for _, line := range bytes.SplitAfter(text, []byte("\n")) {
				f.Add(line)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 64<<10 {
			t.Skip("its parts are inputs, too")
		}
		checkAny(t, format, text)
	})
}

func checkAny(tb rapid.TB, format model.Format, text []byte) {
	tb.Helper()
	opts := testOptions()
	opts.StoreText = true
	first := importAs(tb, format, "f", text, opts)
	checkValid(tb, first.events)
	second := importAs(tb, format, "f", text, opts)
	if len(first.events) != len(second.events) {
		tb.Fatalf("%d events, and then %d", len(first.events), len(second.events))
	}
	for i := range first.events {
		if first.events[i].Digest() != second.events[i].Digest() {
			tb.Fatalf("event %d differs", i)
		}
	}
}

func FuzzClaudeCode(f *testing.F) { fuzz(f, model.FormatClaudeCode, true) }
func FuzzCodex(f *testing.F)      { fuzz(f, model.FormatCodex, true) }
func FuzzSWEAgent(f *testing.F)   { fuzz(f, model.FormatSWEAgent, false) }
func FuzzOpenHands(f *testing.F)  { fuzz(f, model.FormatOpenHands, false) }
func FuzzAuto(f *testing.F)       { fuzz(f, model.FormatAuto, false) }
