package projector

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/projector/erasure"
	"github.com/ctxledger/ctxledger/projector/internal/steps"
)

// The commit protocol. One holder of the lease at a time passes through these states. Every
// failure, on either side, is handled like a crash and starts over at open, because stream and
// tables may have been replaced.
//
//	acquire    take the lease, with the next epoch
//	open       open the stream again
//	swap       finish the swap of a rebuild that was interrupted
//	kill       kill inserts of an earlier holder
//	verify     check that the last committed range still reads as committed
//	load       load the identities and the withheld values of the ledger
//	walk back  find the newest commits that every table holds; repair later ones
//	settle     finish or undo the journalled range
//	verify     open a reader, and check again that the stream is the same
//	follow     ┌─ read      read a range of the stream
//	           │  build     build its rows
//	           │  check     check that the ledger ends with the last commit
//	           │  journal   write the range to the lease entry
//	           │  copy      copy quarantined messages to their stream
//	           │  write     insert one block for each table, with tokens
//	           │  check     check again: the tables may have been replaced during the write
//	           │  commit    insert the row of commits
//	           └─ clear     delete messages with withheld values from the stream
//
// A crash after each step leaves these remains, which a state of the next start handles:
//
//	build      nothing
//	journal    the range         settle finds no rows and writes them
//	copy       the range         settle copies again; the message id removes repeats
//	write      some tables       settle writes the tables that lack rows
//	commit     a range below the last commit, which settle drops
//	clear      messages          verify deletes the messages of the last range
//
// Three other cases:
//
//   - The journal is lost. The rows are written again under other tokens, and the keys of the
//     tables collapse them.
//   - A writer wakes after it lost its lease. The writer's inserts were killed or have reached
//     their time limit. A new insert is a block of a journalled range, which has the same rows
//     and tokens for every holder. The writer cannot journal another range.
//   - A table was restored from an older copy. Walk back finds the missing rows.

// store lists the methods of the ledger that the protocol needs. [tables] implements it. The
// types that [tables] embeds describe the methods.
type store interface {
	FinishSwap(ctx context.Context) (bool, error)
	KillInserts(ctx context.Context, incarnation uuid.UUID) error

	LastCommit(ctx context.Context, incarnation uuid.UUID) (ledger.Range, bool, error)
	CommittedAnywhere(ctx context.Context, incarnation uuid.UUID) (uint64, error)
	CommitsBefore(ctx context.Context, incarnation uuid.UUID, first uint64, limit int) ([]ledger.Commit, error)
	Held(ctx context.Context, commits []ledger.Commit) ([]map[string]uint64, error)
	Lacking(ctx context.Context, b *ledger.Batch, first uint64, since time.Time) ([]ledger.Lack, error)
	LastHeld(ctx context.Context, r ledger.Range) (uint64, error)

	Identities(ctx context.Context, except []uuid.UUID, most, add func(uint64)) error
	Lookup(ctx context.Context, identities []uint64) ([]ledger.Known, error)
	Traces(ctx context.Context, r ledger.Range) (map[uint64]ledger.Trace, error)
	Reintroduced(ctx context.Context, r ledger.Range) ([]ledger.Position, error)
	WithheldThrough(ctx context.Context, incarnation uuid.UUID, through uint64, revoked ...privacy.Redaction) ([]privacy.Withheld, error)

	WriteRows(ctx context.Context, b *ledger.Batch, epoch uint64, tables ...string) error
	Evict(ctx context.Context, r ledger.Range, lacking []ledger.Lack) error
	WriteLacking(ctx context.Context, b *ledger.Batch, epoch uint64, lacking []ledger.Lack) error
	Commit(ctx context.Context, b *ledger.Batch, epoch uint64) error
	Discard(ctx context.Context, r ledger.Range, refused []uint64) error

	LogAt(ctx context.Context, incarnation uuid.UUID, through uint64) (ledger.Log, error)

	erasure.LiveTables
}

// walk runs the steps in order and stops at the first error.
func (s *shared) walk(ctx context.Context, list []steps.Step) error {
	return s.config.Steps.Walk(ctx, list, s.take)
}

// recover brings ledger and stream to agreement. Afterwards the ledger holds every message of
// the stream up to shared.committed. Rows beyond that belong only to messages that will arrive
// again.
func (rc *recovery) recover(ctx context.Context) error {
	return rc.walk(ctx, []steps.Step{
		{Verb: "open the stream", Do: rc.open},
		{Verb: "finish a swap", Do: rc.finishSwap},
		{Verb: "wait for the shared streams", Do: rc.awaitEarlier},
		{Verb: "kill inserts of earlier holders", Do: rc.kill},
		{Verb: "verify the last commit", Do: rc.verify},
		{Verb: "load what events are held against", Do: rc.load},
		{Verb: "walk back", Do: rc.walkBack},
		{Verb: "settle the journalled range", Do: rc.settle},
	})
}

// write takes a batch through the states of follow, from the first check to clear.
func (w *writer) write(ctx context.Context, b batch) error {
	b.rows.Epoch = w.lease.Epoch()
	return w.finish(ctx, b, []steps.Step{
		w.checkStep(),
		{Verb: "journal", Do: func(ctx context.Context) error { return w.journal(ctx, b.rows.Range) }},
	})
}

// finish runs the steps in before, and then the remaining steps of a journalled range. This
// holder or an earlier one has journalled the range.
func (w *writer) finish(ctx context.Context, b batch, before []steps.Step) (err error) {
	ctx, done := w.traced(ctx, b)
	defer func() { done(err) }()
	err = w.walk(ctx, append(before,
		steps.Step{Verb: "publish to quarantine", Do: func(ctx context.Context) error { return w.quarantine(ctx, b.quarantined) }},
		steps.Step{Verb: "write", Do: func(ctx context.Context) error { return w.insert(ctx, b.rows) }},
		w.checkStep(),
		steps.Step{Verb: "commit", Do: func(ctx context.Context) error { return w.commit(ctx, b) }},
		steps.Step{Verb: "delete reintroduced values", Do: func(ctx context.Context) error { return w.deleteWithheld(ctx, reintroduced(b.quarantined)) }},
	))
	if err == nil {
		b.land()
	}
	return err
}
