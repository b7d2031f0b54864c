package ask

import (
	"context"
	"errors"
	"fmt"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/prove"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/history"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
)

// proving is the request to prove steps, with the public keys to use.
type proving struct {
	asked bool
	key   string // file; empty is the data folder's
}

// proveWay proves the fact behind each step of a history. The first error is a failed proof, the
// second a failed check.
func proveWay(ctx context.Context, a *cli.App, l *ledger.Ledger, t TurnFlags, w *history.Item, key string) (unproved, err error) {
	known, err := prove.Verifiers(a, key)
	if err != nil {
		return nil, err
	}
	err = answer.Prove(ctx, l, read.Scope{Tenant: t.Tenant, Session: t.Session, Turn: t.Turn}, w.Steps, known)
	if errors.Is(err, answer.ErrHead) {
		err = cli.WithCode(cli.ExitNotVerified, err)
	}
	for _, s := range w.Steps {
		if s.Proof != nil && !s.Proof.Proved {
			unproved = cli.WithCode(cli.ExitNotVerified, fmt.Errorf("not every step is proved: the %s at sequence %d: %s", s.Step, s.Sequence, s.Proof.Problem))
		}
	}
	return unproved, err
}
