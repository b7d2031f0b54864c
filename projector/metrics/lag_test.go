package metrics

import (
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/projector/streamio"
)

// After a failed measurement, a ledger that was behind stays behind, and a level ledger becomes
// unknown.
func TestLagThatCannotBeMeasured(t *testing.T) {
	t.Parallel()
	var l LagMeter
	if _, known := l.Now(); known || l.Behind() {
		t.Error("a lag is known before it was measured")
	}
	l.note(Lag{Events: 3, Age: time.Minute, Committed: 7}, nil)
	l.note(Lag{}, streamio.ErrUndelivered)
	if lag, known := l.Now(); !known || lag.Events != 3 || lag.Age < time.Minute {
		t.Errorf("the lag is %+v, %v", lag, known)
	}
	l.note(Lag{Committed: 10}, nil)
	if lag, known := l.Now(); !known || lag != (Lag{Committed: 10}) {
		t.Errorf("the lag is %+v, %v", lag, known)
	}
	l.note(Lag{}, streamio.ErrUndelivered)
	if _, known := l.Now(); known {
		t.Error("the lag is known though nobody answers")
	}
}
