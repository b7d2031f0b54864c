package ask

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/prove"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/history"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/translog"
)

// proving is the request to prove steps, with the public keys to use.
type proving struct {
	asked bool
	key   string // file; empty is the data folder's
}

// proveWay proves the fact behind each step of a way. The first error is a failed proof, the
// second a failed check.
func proveWay(ctx context.Context, a *cli.App, l *ledger.Ledger, t TurnFlags, w *history.Item, key string) (unproved, err error) {
	known, err := prove.Verifiers(a, key)
	if err != nil {
		return nil, err
	}
	sequences := make(map[string][]uint64)
	for _, s := range w.Steps {
		sequences[s.Stream] = append(sequences[s.Stream], s.Sequence)
	}
	places, err := read.Of(l).ScopePlaces(ctx, read.Scope{Tenant: t.Tenant, Session: t.Session, Turn: t.Turn}, 1)
	if err != nil || len(places) == 0 {
		return nil, err
	}
	scope := read.Scope{Tenant: places[0].Tenant, Session: t.Session}
	for stream, only := range sequences {
		scope.Only = only
		proofs, err := proveEvents(ctx, l, scope, stream, known)
		if err != nil {
			return nil, err
		}
		for i := range w.Steps {
			s := &w.Steps[i]
			if s.Stream != stream {
				continue
			}
			if s.Proof = proofs[s.Sequence]; s.Proof == nil {
				s.Proof = &history.Proof{Index: -1, Problem: "the table of events does not have it"}
			}
			if !s.Proof.Proved {
				unproved = cli.WithCode(cli.ExitNotVerified, fmt.Errorf("not every step is proved: the %s at sequence %d: %s", s.Step, s.Sequence, s.Proof.Problem))
			}
		}
	}
	return unproved, nil
}

// proveEvents proves events of one stream, by their sequences.
func proveEvents(ctx context.Context, l *ledger.Ledger, scope read.Scope, stream string, known note.Verifiers) (map[uint64]*history.Proof, error) {
	incarnation, err := uuid.Parse(stream)
	if err != nil {
		return nil, fmt.Errorf("stream %q: %w", stream, err)
	}
	proofs := make(map[uint64]*history.Proof)
	head, found, err := translog.Of(l).NewestHead(ctx, incarnation)
	if err != nil {
		return nil, err
	}
	var opened proof.Opened
	if found {
		if opened, err = proof.Open(head.Note, known); err != nil {
			return nil, cli.WithCode(cli.ExitNotVerified, fmt.Errorf("the newest head of stream %s: %w", stream, err))
		}
	}
	hashes := tlog.TileHashReader(opened.Tree(), translog.Of(l).LogTiles(ctx, incarnation))
	err = read.Of(l).ScopeEvents(ctx, scope, incarnation, func(e read.Logged) error {
		p := &history.Proof{Index: e.Index, Size: opened.Size}
		proofs[e.StreamSeq] = p
		leaf := proof.Leaf(e.Event, e.Salt)
		switch {
		case e.Index < 0:
			p.Problem = "the fact is not in the log: it was recorded before the log began"
		case leaf != e.Leaf:
			p.Problem = "the row differs from the log: the row was changed"
		case e.Index >= opened.Size:
			p.Problem = fmt.Sprintf("no signed head covers it yet: the newest has %d leaves", opened.Size)
		default:
			p.Problem = proveLeaf(opened.Checkpoint, hashes, e.Index, leaf)
			p.Proved = p.Problem == ""
		}
		return nil
	})
	return proofs, err
}

// proveLeaf makes the inclusion proof of a leaf and checks it against the head; the text names
// the problem.
func proveLeaf(head proof.Checkpoint, hashes tlog.HashReader, index int64, leaf tlog.Hash) string {
	path, err := tlog.ProveRecord(head.Size, index, hashes)
	if err != nil {
		return fmt.Sprintf("the hashes of the log do not fit its signed head: %v", err)
	}
	if err := tlog.CheckRecord(path, head.Size, head.Root, index, leaf); err != nil {
		return fmt.Sprintf("its leaf does not lead to the signed root: %v", err)
	}
	return ""
}
