package backup

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/archive"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/ledger/translog"
	"github.com/ctxledger/ctxledger/projector/erasure"
	"github.com/ctxledger/ctxledger/projector/rebuild"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// restoreTables has ClickHouse restore the tables of a part into its set.
func (w *restoring) restoreTables(ctx context.Context, p *restoredPart) error {
	// An insert of an interrupted restore must not reach the new tables.
	for _, s := range p.streams {
		if err := p.Ledger.KillInserts(ctx, s.Incarnation); err != nil {
			return err
		}
	}
	if err := w.clear(ctx); err != nil {
		return err
	}
	full, last := w.chain.full(), w.chain.last()
	fromFull := slices.Clone(full.Tables)
	if last.Incremental() {
		fromFull = slices.DeleteFunc(fromFull, func(name string) bool { return slices.Contains(last.Tables, name) })
		if err := w.restoreTablesOf(ctx, p, last, last.Tables); err != nil {
			return err
		}
	}
	if err := w.restoreTablesOf(ctx, p, full, fromFull); err != nil {
		return err
	}
	return p.set.Upgrade(ctx)
}

// restoreTablesOf has ClickHouse restore some tables of one backup into the set of a part.
func (w *restoring) restoreTablesOf(ctx context.Context, p *restoredPart, l Link, names []string) error {
	folder := tablesOf(p.Number)
	var need uint64
	for _, f := range l.Files {
		if strings.HasPrefix(f.Path, folder+"/") {
			need += uint64(f.Bytes)
		}
	}
	if err := room(p.staging, need); err != nil {
		return err
	}
	name := staged(p.Ledger) + uuid.NewString()
	to := filepath.Join(p.staging, name)
	if err := linkFolder(ctx, filepath.Join(l.Dir, filepath.FromSlash(folder)), to); err != nil {
		return fmt.Errorf("copy the tables to ClickHouse's folder: %w", err)
	}
	err := archive.Of(p.set.Ledger).Restore(ctx, name+"/", names, func(done, total uint64) {
		w.Progress.tell("restoring the tables", int64(done), int64(total))
	})
	if errors.Is(err, archive.ErrUnknownTable) {
		return fmt.Errorf("%w: %w", ErrLater, err)
	}
	if err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil {
		return fmt.Errorf("remove the copy of the tables: %w", err)
	}
	return nil
}

// clear removes what an interrupted backup or restore left in ClickHouse's folders.
func (w *restoring) clear(ctx context.Context) error {
	var parts []part
	for _, p := range w.parts {
		parts = append(parts, p.part)
	}
	return clearStaging(ctx, parts)
}

// room returns [ErrNoRoom] if a file system has less than the needed bytes.
func room(dir string, need uint64) error {
	var free syscall.Statfs_t
	if err := syscall.Statfs(dir, &free); err != nil {
		return fmt.Errorf("ask for the room of ClickHouse's folder: %w", err)
	}
	if bytes := free.Bavail * uint64(free.Bsize); bytes < need {
		return fmt.Errorf("%w (the tables need about %d MB, %d MB are free)", ErrNoRoom, need>>20, bytes>>20)
	}
	return nil
}

// withoutRoom wraps an error of a server or a file system without room in the sentinel.
func withoutRoom(sentinel, err error) error {
	if err == nil || errors.Is(err, sentinel) {
		return err
	}
	full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
	for _, says := range []string{"NOT_ENOUGH_SPACE", "No space left on device", "no space left on device", "insufficient resources", "insufficient storage"} {
		full = full || strings.Contains(err.Error(), says)
	}
	if full {
		return fmt.Errorf("%w (%w)", sentinel, err)
	}
	return err
}

// trim deletes the rows that the tables of a part have of later commits.
func (w *restoring) trim(ctx context.Context, p *restoredPart) error {
	for _, s := range w.chain.full().Streams {
		if s.HoldsEvents() && w.chain.full().ShardOf(s.Name) == p.Number {
			if err := p.set.Trim(ctx, s.Incarnation, s.Committed); err != nil {
				return err
			}
		}
	}
	return nil
}

// erasable are the tables of the set of a part, for the facts of erasures in the streams of all parts.
type erasable struct {
	translog.Logs
	all []*ledger.Ledger
}

// RecordedRules implements [streamio.CommittedRules].
func (e erasable) RecordedRules(ctx context.Context, incarnations []uuid.UUID) (map[uuid.UUID][]ledger.RecordedRules, error) {
	return ledger.RecordedRulesOf(ctx, e.all, incarnations)
}

// erase deletes the rows of messages that were erased between the copy of the tables and the last copy
// of their stream.
func (w *restoring) erase(ctx context.Context, p *restoredPart) error {
	tables := erasable{translog.Of(p.set.Ledger), append(w.parts.others(p), p.set.Ledger)}
	for _, s := range w.chain.full().Streams {
		if !s.HoldsEvents() || w.chain.full().ShardOf(s.Name) != p.Number {
			continue
		}
		source, err := streamio.OpenSource(ctx, w.JetStream, s.Name, tables, w.Log)
		if err != nil {
			return err
		}
		erased, err := erasure.ReadErased(ctx, w.JetStream, source, tables, w.Log)
		if err != nil {
			return err
		}
		var gone []uint64
		for _, sequence := range erased {
			if sequence > s.Committed {
				continue
			}
			_, err := source.Stream.GetMsg(ctx, sequence)
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				gone = append(gone, sequence)
			} else if err != nil {
				return fmt.Errorf("look for an erased message: %w", err)
			}
		}
		if err := privacy.Of(p.set.Ledger).Erase(ctx, s.Incarnation, gone); err != nil {
			return err
		}
	}
	return nil
}

// project brings the set of a part level with its streams.
func (w *restoring) project(ctx context.Context, part *restoredPart, done *Restored) error {
	set := part.set.Ledger
	for _, s := range part.streams {
		first, _, err := translog.Of(set).LogStart(ctx, s.Incarnation)
		if err != nil {
			return err
		}
		p, err := w.Projector(rebuild.Target{
			Rebuild: rebuild.Rebuild{
				JetStream: w.JetStream, Ledger: set, Shards: w.parts.others(part), Keys: w.Keys, Ring: w.Ring, Log: w.Log, Timing: w.Timing, Steps: w.Steps,
			},
			Stream: s.Name, Set: set, Owner: w.owner, FirstLeaf: first, Gone: rebuild.GoneFrom(w.JetStream, s.Incarnation),
		})
		if err != nil {
			return err
		}
		w.Progress.tell("projecting "+s.Name, 0, int64(s.Last-w.chain.full().stream(s.Name).Committed))
		if err := p.Run(ctx); err != nil {
			return fmt.Errorf("project stream %s: %w", s.Name, err)
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		done.Committed[s.Name], _ = p.Progress()
	}
	return nil
}

// compare compares the transparency logs with the manifest, and with the newest head in the tables.
func (w *restoring) compare(ctx context.Context, p *restoredPart) error {
	logs := translog.Of(p.set.Ledger)
	for _, s := range p.streams {
		if s.LogSize == 0 {
			continue
		}
		log, err := logs.LogAt(ctx, s.Incarnation, s.Committed)
		if err != nil {
			return err
		}
		if log.Tree.Size != s.LogSize || hex.EncodeToString(log.Root[:]) != s.LogRoot {
			return fmt.Errorf("%w: stream %s has %d leaves up to sequence %d, the manifest names %d", ErrOtherLog, s.Name, log.Tree.Size, s.Committed, s.LogSize)
		}
		if err := w.compareHead(ctx, p, logs, s); err != nil {
			return err
		}
	}
	return nil
}

// compareHead checks that the newest head in the tables is a head of the restored log.
func (w *restoring) compareHead(ctx context.Context, p *restoredPart, logs translog.Logs, s Stream) error {
	head, found, err := logs.NewestHead(ctx, s.Incarnation)
	if err != nil || !found {
		return err
	}
	ring, err := w.Ring()
	if err != nil {
		return err
	}
	signed, err := proof.Open(head.Note, ring.Verifiers())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOtherLog, err)
	}
	last, _, err := p.set.Ledger.LastCommit(ctx, s.Incarnation)
	if err != nil {
		return err
	}
	log, err := logs.LogAt(ctx, s.Incarnation, last.Last)
	if err != nil {
		return err
	}
	if log.Tree.Size >= signed.Size {
		root, err := tlog.TreeHash(signed.Size, tlog.TileHashReader(tlog.Tree{N: log.Tree.Size, Hash: log.Root}, logs.LogTiles(ctx, s.Incarnation)))
		if err == nil && root == signed.Root {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the transparency log of stream %s: %w", s.Name, err)
		}
	}
	return fmt.Errorf("%w: the log of stream %s with %d leaves does not continue the signed head of %d leaves", ErrOtherLog, s.Name, log.Tree.Size, signed.Size)
}
