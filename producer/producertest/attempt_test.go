package producertest_test

import (
	"testing"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
)

// TestCheckTellsAttemptsApart retries a call under a second attempt. Both attempts keep
// their facts, and Check reports no violation.
//
// Source: seed 001 (ACTX-AR-ID-002).
func TestCheckTellsAttemptsApart(t *testing.T) {
	t.Parallel()
	client, rec := producertest.New(t) // checks at the end, too
	run, err := client.Open(t.Context(), producer.Run{Session: "s", Place: producer.Place{Task: "task-1"}})
	if err != nil {
		t.Fatal(err)
	}
	turn := run.Turn("t", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 100}})
	items := []window.Item{{ID: "u1", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 5}}
	for _, attempt := range []string{"at-1", "at-2"} {
		call := turn.In(producer.Place{Attempt: attempt}).Call("c")
		if _, err := call.Fit(t.Context(), items, window.DefaultPolicy(), nil); err != nil {
			t.Fatal(err)
		}
	}
	rec.Check(t)
}
