package projector

import (
	"testing"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/identity"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/leak"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// TestRangeTellsNothing: the digest of a range, in the journal and in commits, does not depend
// on the withheld value.
func TestRangeTellsNothing(t *testing.T) {
	t.Parallel()
	p := newBuilder(new(shared))
	p.config.Keys = projectortest.Keys(t)
	keys, err := leak.ReadKeys(p.config.Keys)
	if err != nil {
		t.Fatal(err)
	}
	p.withheld = leak.NewValues(keys)
	for _, v := range projectortest.Withheld(t, "pin-code-0001", "pin-code-0002") {
		p.withheld.Learn(v)
	}
	named := func(pin string) ledger.Range {
		p.seen = identity.New(1 << 20)
		b, err := p.assemble(t.Context(), []*streamio.Message{projectortest.At(1, projectortest.Event(1, 0).Binary()), projectortest.At(2, projectortest.Foreign(2, `{"note":"`+pin+`"}`).Binary())}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return b.Range
	}
	one, two, harmless := named("pin-code-0001"), named("pin-code-0002"), named("pin-code-0003")
	if !one.Same(two) || one.Same(harmless) {
		t.Error("the range depends on the value")
	}
}
