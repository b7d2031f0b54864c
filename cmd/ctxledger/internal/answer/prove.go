package answer

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/history"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/translog"
)

// ErrHead means that no known key signed the newest head of a log.
var ErrHead = errors.New("the newest head of the log is not signed by a known key")

// Prove looks up the fact behind each step of a history in the transparency log, and fills the proof
// of the step. A step whose fact is not in the table of events is not proved. The error can wrap [ErrHead].
func Prove(ctx context.Context, l *ledger.Ledger, scope read.Scope, steps []history.Step, known note.Verifiers) error {
	sequences := make(map[string][]uint64)
	for _, s := range steps {
		sequences[s.Stream] = append(sequences[s.Stream], s.Sequence)
	}
	tenant, err := Tenant(ctx, scope.Tenant)
	if err != nil {
		return err
	}
	scope.Tenant = tenant
	if l, err = Of(ctx, l, scope.Session); err != nil {
		return err
	}
	places, err := read.Of(l).ScopePlaces(ctx, scope, 1)
	if err != nil {
		return err
	}
	for stream, only := range sequences {
		var proofs map[uint64]*history.Proof
		if len(places) > 0 {
			proofs, err = proveEvents(ctx, l, read.Scope{Tenant: places[0].Tenant, Session: scope.Session, Only: only}, stream, known)
		}
		if err != nil {
			return err
		}
		for i := range steps {
			s := &steps[i]
			if s.Stream != stream {
				continue
			}
			if s.Proof = proofs[s.Sequence]; s.Proof == nil {
				s.Proof = &history.Proof{Index: -1, Problem: "the table of events does not have it"}
			}
		}
	}
	return nil
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
			return nil, fmt.Errorf("%w: stream %s: %w", ErrHead, stream, err)
		}
	}
	hashes := tlog.TileHashReader(opened.Tree(), &keptTiles{translog.Of(l).LogTiles(ctx, incarnation), make(map[tlog.Tile][]byte)})
	err = read.Of(l).ScopeEvents(ctx, scope, incarnation, func(e read.Logged) error {
		p := &history.Proof{Index: e.Index, Size: opened.Size}
		proofs[e.StreamSeq] = p
		switch {
		case e.Index < 0:
			p.Problem = "the fact is not in the log: it was recorded before the log began"
		case e.Expired():
			p.Problem = "its content has expired by the retention, so its leaf cannot be computed"
		case !e.Proven():
			p.Problem = "the row differs from the log: the row was changed"
		case e.Index >= opened.Size:
			p.Problem = fmt.Sprintf("no signed head covers it yet: the newest has %d leaves", opened.Size)
		default:
			p.Problem = proveLeaf(opened.Checkpoint, hashes, e.Index, e.Leaf)
			p.Proved = p.Problem == ""
		}
		return nil
	})
	return proofs, err
}

// keptTiles reads each tile of a log once: the proofs of the steps of an item share most of them.
type keptTiles struct {
	tlog.TileReader
	kept map[tlog.Tile][]byte
}

// ReadTiles is [tlog.TileReader.ReadTiles].
func (k *keptTiles) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var missing []tlog.Tile
	for _, t := range tiles {
		if k.kept[t] == nil {
			missing = append(missing, t)
		}
	}
	if len(missing) > 0 {
		read, err := k.TileReader.ReadTiles(missing)
		if err != nil {
			return nil, err
		}
		for i, t := range missing {
			k.kept[t] = read[i]
		}
	}
	data := make([][]byte, len(tiles))
	for i, t := range tiles {
		data[i] = k.kept[t]
	}
	return data, nil
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
