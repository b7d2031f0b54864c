package projector

import (
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/signing"
)

// A writer commits batches to the ledger, one after the other, under the lease. It belongs
// to one goroutine.
type writer struct {
	*shared
	lease      *lease.Lease
	signer     *signing.Signer // of the tree heads; nil signs none
	last       ledger.Range    // the last commit; the zero Range where there is none
	offered    ledger.Range    // the last that was to be committed, whether it was or not
	checked    time.Time       // when the ledger last said so
	doubtful   uint64          // up to here rows may be held, or their tokens, that no commit covers
	journalled ledger.Range    // the furthest that this projector has begun to write
}
