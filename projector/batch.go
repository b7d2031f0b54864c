package projector

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/leak"
)

// batch is a batch that is ready to be written. A batch holds its rows, its quarantined
// messages and the remaining work, and no other message.
type batch struct {
	ledger.Range
	outcome
	bytes   int // of the messages as received
	links   []trace.Link
	stages  []stage       // the work that was done before the batch's span could begin
	changes []leak.Change // of its redactions and revocations
	landed  chan struct{} // closed once the batch is committed
	free    chan<- *ledger.Batch
	grown   bool // the batch holds a turn; see turns
}

// land releases a batch that is committed. The memory of a batch with a turn goes to the next turn: the streams of
// a fleet would otherwise keep a batch of the full size each.
func (b batch) land() {
	close(b.landed)
	if b.grown {
		return
	}
	select {
	case b.free <- b.rows:
	default:
	}
}

// flight is a batch that is built but not yet committed. The flight's events already count, and the
// ledger may not show them yet.
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
