package projector

import (
	"context"
	"slices"

	"github.com/ctxledger/ctxledger/projector/internal/steps"
)

// The points of the protocol at which crashes differ, by the step before the crash.
const (
	pointOpened      = "open the stream"
	pointSwapped     = "finish a swap"
	pointKilled      = "kill inserts of earlier holders"
	pointVerified    = "verify the last commit"
	pointLoaded      = "load what events are held against"
	pointWalkedBack  = "walk back"
	pointSettled     = "settle the journalled range"
	pointUnmoved     = "look at the checkpoint"
	pointBuilt       = "build"                      // no step has an effect yet
	pointJournalled  = "journal"                    // the lease entry names the range
	pointQuarantined = "publish to quarantine"      // refused messages are in their stream
	pointWritten     = "write"                      // every table has its rows
	pointCommitted   = "commit"                     // the row of commits exists
	pointDeleted     = "delete reintroduced values" // the stream holds no withheld value of the range
)

// The points of a rebuild, next to "swapping", "exchanged" and "swapped" of the swap.
const (
	pointMade      = "make"
	pointProjected = "project"
	pointCompared  = "compare"
	pointHeld      = "hold the leases"
)

// atEach is called at each point.
type atEach func(point string)

// Walk runs the steps in order.
func (at atEach) Walk(ctx context.Context, list []steps.Step, take func(context.Context, steps.Step) error) error {
	if slices.ContainsFunc(list, func(s steps.Step) bool { return s.Verb == pointWritten }) {
		at(pointBuilt)
	}
	for _, s := range list {
		if err := take(ctx, s); err != nil {
			return err
		}
		at(s.Verb)
	}
	return nil
}
