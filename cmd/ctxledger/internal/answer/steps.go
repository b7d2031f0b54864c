package answer

import (
	"context"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/history"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read/turn"
)

// Steps reads the history of an item. The arguments are those of the query why.
func Steps(ctx context.Context, l *ledger.Ledger, arguments map[string]string) ([]history.Step, error) {
	arguments, err := named(ctx, "why", arguments)
	if err != nil {
		return nil, err
	}
	if l, err = Of(ctx, l, arguments["session_id"]); err != nil {
		return nil, err
	}
	rows, err := turn.Way(ctx, l, arguments)
	var steps []history.Step
	for _, s := range rows {
		steps = append(steps, history.Step{
			Recorded: s.Recorded, Happened: history.Moment{Time: s.Happened}, Turn: s.Turn, InTurn: s.InTurn, Call: s.Call, Step: s.Step, Record: s.Record, Position: s.Position, Rank: s.Rank, Score: s.Score,
			Before: s.Before, After: s.After, Reason: s.Reason, Note: s.Note, Policy: s.Policy, StandIn: s.StandIn, Signals: s.Signals, Stream: s.Stream, Sequence: s.Sequence,
		})
	}
	return steps, err
}
