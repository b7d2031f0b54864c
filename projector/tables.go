package projector

import (
	"context"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/ledger/translog"
)

// tables is a ledger with all methods on its tables that the protocol needs.
type tables struct {
	*ledger.Ledger
	translog.Logs
	privacy.Tables
	shadow.Live
	shards []privacy.Tables // of the ledger and the other shards
	all    []*ledger.Ledger // the ledger, then the other shards, each once
}

// tablesOf returns the tables of a ledger, which may be one of several shards.
func tablesOf(l *ledger.Ledger, shards ...*ledger.Ledger) tables {
	return tables{
		Ledger: l, Logs: translog.Of(l), Tables: privacy.Of(l), Live: shadow.Of(l),
		shards: privacy.OfAll(l, shards...), all: ledger.Distinct(l, shards...),
	}
}

// WithheldThrough adds the fingerprints of the other shards. If one does not answer, the projector
// waits.
func (t tables) WithheldThrough(ctx context.Context, incarnation uuid.UUID, through uint64, revoked ...privacy.Redaction) ([]privacy.Withheld, error) {
	return privacy.WithheldOf(ctx, t.shards, incarnation, through, revoked...)
}

// RecordedRules asks the other shards for streams without commits here, because an erasure of another
// stream may name messages of this one.
func (t tables) RecordedRules(ctx context.Context, incarnations []uuid.UUID) (map[uuid.UUID][]ledger.RecordedRules, error) {
	return ledger.RecordedRulesOf(ctx, t.all, incarnations)
}

// CommittedAnywhere returns the last sequence of a stream that is committed on any shard, or 0.
func (t tables) CommittedAnywhere(ctx context.Context, incarnation uuid.UUID) (through uint64, err error) {
	for _, l := range t.all {
		last, _, err := l.LastCommit(ctx, incarnation)
		if err != nil {
			return 0, err
		}
		through = max(through, last.Last)
	}
	return through, nil
}

// FinishSwap also returns [shadow.ErrRestoring] if a restore has not finished on another shard. The projector
// would not know the redactions of that shard.
func (t tables) FinishSwap(ctx context.Context) (bool, error) {
	finished, err := t.Live.FinishSwap(ctx)
	for _, other := range t.all[1:] {
		if err == nil {
			err = shadow.Of(other).Restoring(ctx)
		}
	}
	return finished, err
}
