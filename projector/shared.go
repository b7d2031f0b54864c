package projector

import (
	"sync/atomic"

	"github.com/ctxledger/ctxledger/projector/streamio"
)

// shared is what both sides of a projector use: its configuration, its stream and its
// ledger. Only Projector.open changes the stream, while neither side runs.
type shared struct {
	config   Config
	store    store
	clock    clock
	source   streamio.Source
	siblings siblings
	rebuild  *rebuilding // nil for the live tables
	health
}

// counts are what a projector has done since it started.
type counts struct {
	events      atomic.Uint64
	quarantined atomic.Uint64
	duplicates  atomic.Uint64
	unknownKeys atomic.Uint64
	lost        atomic.Uint64 // sequences that producers used and whose facts did not come
}
