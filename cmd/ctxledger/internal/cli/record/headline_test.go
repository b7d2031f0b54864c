package record

import (
	"testing"

	"github.com/ctxledger/ctxledger/ledger/read"
)

func TestHeadlineSaysWhatCostsLack(t *testing.T) {
	t.Parallel()
	const built = ", by the built-in list"
	for want, b := range map[string]read.Bill{
		"cache breaks after pauses cost $1.00 of $3.00" + built: {Calls: 4, Cost: 3, Cause: "idle", BreakCost: 1},
		"cache breaks after pauses cost $1.00 of at least $3.00" + built + "; 2 of 4 calls lack a final count of tokens, and only what is known is priced": {Calls: 4, Partial: 2, Cost: 3, Cause: "idle", BreakCost: 1},
		"these model calls cost at least $3.00" + built + "; 1 of 4 calls have no price":                                                                   {Calls: 4, Unpriced: 1, Cost: 3},
	} {
		b.Currencies, b.Sources = []string{"USD"}, []string{"built-in list"}
		if got := billSentence(b); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
