package projector

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/leak"
)

// batch is a batch that is ready to be written: its rows, and what else is to be
// done. It holds no message but those that are quarantined.
type batch struct {
	ledger.Range
	outcome
	bytes     int // of the messages as they came
	links     []trace.Link
	stages    []stage            // what was done before the batch's span could begin
	withholds []leak.Withholding // what its redactions withhold
	landed    chan struct{}      // closed once the batch is committed
	free      chan<- *ledger.Batch
}

// land lets go of a batch that is committed.
func (b batch) land() {
	close(b.landed)
	select {
	case b.free <- b.rows:
	default:
	}
}

// flight is a batch between its rows and its commit: events that count already
// and that the ledger may not show yet.
type flight struct {
	first  uint64 // sequence
	landed <-chan struct{}
	firsts firsts
}

// over reports whether the batch is committed.
func (f flight) over() bool {
	select {
	case <-f.landed:
		return true
	default:
		return false
	}
}
