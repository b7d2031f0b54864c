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

// The commit protocol. One holder of the lease at a time goes through these
// states; whatever goes wrong in one of them, on either side, starts over at
// open, as a crash does, because stream and tables may be others by then.
//
//	acquire    the lease, with the next epoch
//	open       the stream anew
//	swap       tables, where a rebuild was cut off in it
//	kill       inserts that an earlier holder left running
//	verify     the last committed range still reads as it was committed
//	load       the identities and the withheld values that the ledger knows
//	walk back  to the newest commits that every table holds; mend what follows
//	settle     the journalled range: finish it, or undo it
//	verify     once more, after a reader is open, that the stream is still that one
//	follow     ┌─ read      a range of the stream
//	           │  build     its rows
//	           │  check     that the ledger is where it was left
//	           │  journal   its name, in the lease entry
//	           │  copy      what is quarantined, to its stream
//	           │  write     one block a table, with tokens
//	           │  commit    the row of commits
//	           └─ clear     messages with withheld values, from the stream
//
// What a crash after each step leaves, and which state of the next start
// answers it:
//
//	build      nothing
//	journal    a name            settle finds no rows and writes them
//	copy       a name            settle copies again; the message id makes it one
//	write      some tables       settle writes the tables that lack rows
//	commit     a name below the last commit, which settle drops
//	clear      messages          verify deletes those of the last range
//
// The journal is lost: the rows are written again under other tokens, and the
// keys collapse them. A writer wakes after its lease is gone: its inserts were
// killed or have run into their time limit, what it sends now is a block of a
// journalled range that has the same rows and the same tokens in every hand,
// and it cannot journal another. A table was restored: walk back finds it short.

// store is what the protocol needs of the ledger. [tables] is one; each
// method is described at the type that tables has it from.
type store interface {
	FinishSwap(ctx context.Context) (bool, error)
	KillInserts(ctx context.Context, incarnation uuid.UUID) error

	LastCommit(ctx context.Context, incarnation uuid.UUID) (ledger.Range, bool, error)
	CommitsBefore(ctx context.Context, incarnation uuid.UUID, first uint64, limit int) ([]ledger.Commit, error)
	Held(ctx context.Context, commits []ledger.Commit) ([]map[string]uint64, error)
	Lacking(ctx context.Context, b *ledger.Batch, first uint64, since time.Time) ([]ledger.Lack, error)
	LastHeld(ctx context.Context, r ledger.Range) (uint64, error)

	Identities(ctx context.Context, except []uuid.UUID, most, add func(uint64)) error
	Lookup(ctx context.Context, identities []uint64) ([]ledger.Known, error)
	Traces(ctx context.Context, r ledger.Range) (map[uint64]ledger.Trace, error)
	Reintroduced(ctx context.Context, r ledger.Range) ([]ledger.Position, error)
	WithheldThrough(ctx context.Context, incarnation uuid.UUID, through uint64) ([]privacy.Withheld, error)

	WriteRows(ctx context.Context, b *ledger.Batch, epoch uint64, tables ...string) error
	Evict(ctx context.Context, r ledger.Range, lacking []ledger.Lack) error
	WriteLacking(ctx context.Context, b *ledger.Batch, epoch uint64, lacking []ledger.Lack) error
	Commit(ctx context.Context, b *ledger.Batch, epoch uint64) error
	Discard(ctx context.Context, r ledger.Range, refused []uint64) error

	LogAt(ctx context.Context, incarnation uuid.UUID, through uint64) (ledger.Log, error)

	erasure.LiveTables
}

// walk takes the steps in their order and ends with the first error.
func (s *shared) walk(ctx context.Context, list []steps.Step) error {
	return s.config.Steps.Walk(ctx, list, s.take)
}

// recover brings ledger and stream to agreement: afterwards the ledger holds
// everything of the stream up to shared.committed and nothing beyond it that will
// not come again.
func (rc *recovery) recover(ctx context.Context) error {
	return rc.walk(ctx, []steps.Step{
		{Verb: "open the stream", Do: rc.open},
		{Verb: "finish a swap", Do: rc.finishSwap},
		{Verb: "kill inserts of earlier holders", Do: rc.kill},
		{Verb: "verify the last commit", Do: rc.verify},
		{Verb: "load what events are held against", Do: rc.load},
		{Verb: "walk back", Do: rc.walkBack},
		{Verb: "settle the journalled range", Do: rc.settle},
	})
}

// write takes a batch through the states of follow, from check on.
func (w *writer) write(ctx context.Context, b batch) error {
	b.rows.Epoch = w.lease.Epoch()
	return w.finish(ctx, b, []steps.Step{
		w.checkStep(),
		{Verb: "journal", Do: func(ctx context.Context) error { return w.journal(ctx, b.rows.Range) }},
	})
}

// finish takes the steps before and then those of a range that is journalled, by
// this holder or by an earlier one.
func (w *writer) finish(ctx context.Context, b batch, before []steps.Step) (err error) {
	ctx, done := w.traced(ctx, b)
	defer func() { done(err) }()
	err = w.walk(ctx, append(before,
		steps.Step{Verb: "publish to quarantine", Do: func(ctx context.Context) error { return w.quarantine(ctx, b.quarantined) }},
		steps.Step{Verb: "write", Do: func(ctx context.Context) error { return w.insert(ctx, b.rows) }},
		steps.Step{Verb: "commit", Do: func(ctx context.Context) error { return w.commit(ctx, b) }},
		steps.Step{Verb: "delete reintroduced values", Do: func(ctx context.Context) error { return w.deleteWithheld(ctx, reintroduced(b.quarantined)) }},
	))
	if err == nil {
		b.land()
	}
	return err
}
