package bundle

import (
	"context"
	"math"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/migrate"
	"github.com/ctxledger/ctxledger/ledger/shadow"
)

// lastCommits is the number of committed ranges of each stream in the bundle.
const lastCommits = 20

type commit struct {
	Incarnation string            `json:"incarnation"`
	First       uint64            `json:"first_sequence"`
	Last        uint64            `json:"last_sequence"`
	Messages    uint64            `json:"messages"`
	Epoch       uint64            `json:"epoch"`
	RecordedAt  time.Time         `json:"recorded_at"`
	Rows        map[string]uint64 `json:"rows"`
}

// Commits reads the last committed ranges of each stream.
func Commits(ctx context.Context, l *ledger.Ledger) (any, error) {
	streams, err := l.Committed(ctx)
	if err != nil {
		return nil, err
	}
	list := []commit{}
	for incarnation := range streams {
		ranges, err := l.CommitsBefore(ctx, incarnation, math.MaxUint64, lastCommits)
		if err != nil {
			return nil, err
		}
		for _, r := range ranges {
			list = append(list, commit{incarnation.String(), r.First, r.Last, r.Messages, r.Epoch, r.RecordedAt, r.Rows})
		}
	}
	return list, nil
}

// Quarantine counts the quarantined messages by code, without their places and sources.
func Quarantine(ctx context.Context, l *ledger.Ledger) (any, error) {
	rows, err := answer.Ask(ctx, l, "quarantine-by-code", nil)
	if err != nil {
		return nil, err
	}
	counts := make(map[string]int64)
	for _, row := range rows {
		counts[row.Text("code")] += row.Count("messages")
	}
	return counts, nil
}

type migrations struct {
	Newest  string   `json:"newest"` // that this program knows
	Missing []string `json:"missing"`
}

// Migrations lists the steps that the tables lack.
func Migrations(ctx context.Context, l *ledger.Ledger) (any, error) {
	missing, err := shadow.Of(l).Pending(ctx)
	return migrations{migrate.Latest(), missing}, err
}
