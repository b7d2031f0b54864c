package projector

import (
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/leak"
)

// A builder makes batches of messages, in the order of the stream. It knows what the
// ledger has up to the last commit, and what is in flight to it. It belongs to one
// goroutine.
type builder struct {
	*shared
	seen     *identities // of all events in the ledger; nil until it is loaded
	withheld *leak.Values
	unknown  map[leak.UnknownKey]bool
	translog translog
	holes    holes
	flights  []flight
	free     chan *ledger.Batch // batches to use again
	model    *ledger.Batch      // the last that was built; nil before
	firsts   int                // how many firsts that had
}

func newBuilder(s *shared) *builder {
	return &builder{shared: s, unknown: make(map[leak.UnknownKey]bool), free: make(chan *ledger.Batch, 2)}
}
