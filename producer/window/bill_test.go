package window_test

import (
	"fmt"
	"testing"

	"github.com/ctxledger/ctxledger/producer/window"
)

func ExamplePass_Settle() {
	pass, _ := window.PlanElision(window.History{Items: figure()}, own, window.Style{Level: window.Simple, StubTokens: 20, WholeCalls: true})
	// The next call sends a user message of 10 tokens after the window.
	asPlanned := pass.Settle(10, window.Bill{Window: 12_125, Read: 12_035})
	lapsed := pass.Settle(10, window.Bill{Window: 12_125})
	fmt.Printf("%d expected, %d recomputed, pays after %.2f calls\n", asPlanned.Expected, asPlanned.Recomputed, asPlanned.BreakEven)
	fmt.Printf("%d expected, %d more recomputed, pays after %.2f calls\n", lapsed.Expected, lapsed.Surprise(), lapsed.BreakEven)
	// Output:
	// 90 expected, 90 recomputed, pays after 0.05 calls
	// 90 expected, 12035 more recomputed, pays after 7.74 calls
}

func TestSettleNothing(t *testing.T) {
	t.Parallel()
	pass, err := window.PlanElision(window.History{Items: figure()}, window.ElisionPolicy{Name: "none"}, window.Style{Level: window.Trivial})
	if err != nil {
		t.Fatal(err)
	}
	if s := pass.Settle(10, window.Bill{Window: 30_125, Read: 30_115}); s.Surprise() != 0 || !s.Pays || s.BreakEven != 0 {
		t.Errorf("%+v", s)
	}
	if s := pass.Settle(10, window.Bill{Window: 30_125}); s.Pays {
		t.Errorf("a pass that saves nothing pays: %+v", s)
	}
}
