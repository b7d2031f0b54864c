package answer

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/queries"
)

// A replayOf is the quarantined message that a replay names.
type replayOf struct {
	Tenant      string // "default" for none
	Incarnation uuid.UUID
	Sequence    uint64
}

// A replay has the place of its message in its own stream, and its outcome. The names are those of
// all_replays.sql.
type replay struct {
	replayOf
	As      uint64
	At      time.Time
	Outcome string
}

// replaysElsewhere returns the replays that are on another shard than the quarantined message. A
// fixed event is there if its session is.
func replaysElsewhere(ctx context.Context, shards *cluster.Ledgers) ([]replay, error) {
	return gather(shards, func(l *ledger.Ledger) ([]replay, error) { return readElsewhere(ctx, l) })
}

// readElsewhere returns the replays on a shard whose quarantined message is on another.
func readElsewhere(ctx context.Context, l *ledger.Ledger) (list []replay, _ error) {
	for row := range l.SQL(files).Rows(ctx, "replays_elsewhere", nil) {
		var r replay
		if err := row.Scan(&r.Tenant, &r.Incarnation, &r.Sequence, &r.As, &r.At, &r.Outcome); err != nil {
			return nil, fmt.Errorf("read replays: %w", err)
		}
		list = append(list, r)
	}
	return list, nil
}

const replaysView = "FROM quarantine_replays"

// withReplays makes a query about quarantined messages find their replays on all shards.
func withReplays(ctx context.Context, shards *cluster.Ledgers, q queries.Query, bound map[string]string) (queries.Query, map[string]string, error) {
	if !strings.Contains(q.SQL, replaysView) {
		return q, bound, nil
	}
	list, err := replaysElsewhere(ctx, shards)
	if err != nil {
		return q, bound, err
	}
	text, err := json.Marshal(list)
	if err != nil {
		return q, bound, err
	}
	q.SQL = strings.ReplaceAll(q.SQL, replaysView, "FROM ("+shards.All()[0].SQL(files).Text("all_replays")+")")
	return q, with(bound, "replays_elsewhere", string(text)), nil
}
