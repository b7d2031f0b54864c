package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/google/uuid"
)

// killPatience bounds how long KillInserts waits for what it has killed.
const killPatience = 2 * time.Second

// KillInserts ends every insert into this stream's tables that is still
// running and returns once none is, or none but those that wait for a client
// that has stopped: the server refuses these as soon as they send. A writer
// that takes over calls it before its own first insert, so all that run are of
// earlier epochs.
func (l *Ledger) KillInserts(ctx context.Context, incarnation uuid.UUID) error {
	prefix := chsql.Params{"prefix": queryPrefix(Range{Incarnation: incarnation})}
	// KILL … SYNC would wait for a stopped client until its connection times out.
	if err := l.sql.Exec(ctx, "kill_inserts", prefix); err != nil {
		return fmt.Errorf("kill inserts of earlier writers: %w", err)
	}
	for deadline := time.Now().Add(killPatience); time.Now().Before(deadline); {
		var running uint64
		if err := l.sql.Row(ctx, "running_inserts", prefix).Scan(&running); err != nil {
			return fmt.Errorf("look for inserts of earlier writers: %w", err)
		}
		if running == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}
