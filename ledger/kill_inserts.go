package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/google/uuid"
)

// killPatience bounds the time that KillInserts waits for killed inserts.
const killPatience = 2 * time.Second

// KillInserts ends every running insert of this stream, and returns once none runs. Inserts
// that wait for a stopped client may remain: the server refuses them as soon as they send. A
// new writer calls KillInserts before its first insert. All running inserts are then of earlier
// epochs.
//
// On replicas it ends the inserts of all of them, and returns once each has the rows of every other. It fails
// while one of them is down.
func (l *Ledger) KillInserts(ctx context.Context, incarnation uuid.UUID) error {
	if err := onReplicas(ctx, l, func(one *Ledger) error { return killInserts(ctx, one, incarnation) }); err != nil || !Replicated(l) {
		return err
	}
	return onReplicas(ctx, l, func(one *Ledger) error { return fetch(ctx, one) })
}

func killInserts(ctx context.Context, l *Ledger, incarnation uuid.UUID) error {
	prefix := chsql.Params{"prefix": chsql.Text(queryPrefix(Range{Incarnation: incarnation}))}
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
