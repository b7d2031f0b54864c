package backup

import (
	"errors"
	"fmt"
	"os"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/shardmap"
)

// A part is one of the ledgers of an installation: the plain one, or a shard of a cluster.
type part struct {
	shardmap.Part
	staging string // its folder of backups, as this process sees it
}

// ErrShards means that a backup is of other shards than an installation. Nothing was changed.
var ErrShards = errors.New("the backup is of other shards than this installation, and nothing was changed")

// ErrReplicas refuses shards that several servers have.
var ErrReplicas = errors.New("shards with replicas cannot be backed up or restored yet: use the backups of ClickHouse and of JetStream")

// partsOf returns the parts of an installation. staging has one folder for all of them, or one for each.
// Errors: [ErrStaging], [ErrReplicas].
func partsOf(t shardmap.Tables, staging []string) (list []part, err error) {
	for _, dir := range staging {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("%w: %s", ErrStaging, dir)
		}
	}
	all := t.All()
	switch {
	case len(staging) == 1 || len(staging) == len(all):
	case len(all) == 1:
		return nil, fmt.Errorf("%w: %d folders are named, and ClickHouse is one server: name its folder", ErrStaging, len(staging))
	default:
		return nil, fmt.Errorf("%w: %d folders are named for %d shards: name one for each, in the order of their numbers, or one that all of them use", ErrStaging, len(staging), len(all))
	}
	for i, p := range all {
		if ledger.Replicated(p.Ledger) {
			return nil, ErrReplicas
		}
		list = append(list, part{p, staging[min(i, len(staging)-1)]})
	}
	return list, nil
}

// shardsOf returns the shards of an installation, with their streams among these, and nothing for a plain ledger.
func shardsOf(parts []part, streams []string) (list []Shard) {
	for _, p := range parts {
		if p.Number > 0 {
			list = append(list, Shard{p.Number, p.Of(streams)})
		}
	}
	return list
}

// numbers returns the numbers of shards.
func numbers(shards []Shard) (list []uint32) {
	for _, s := range shards {
		list = append(list, s.Number)
	}
	return list
}

// of returns the part with the rows of a stream of events.
func of(parts []part, stream string) (part, error) {
	for _, p := range parts {
		if p.Has(stream) {
			return p, nil
		}
	}
	return part{}, fmt.Errorf("no shard has the stream %s: `ctxledger doctor` shows why", stream)
}

// failed returns an error of the part. That of a shard names it.
func (p part) failed(err error) error {
	if err == nil || p.Shard == "" {
		return err
	}
	return fmt.Errorf("%s: %w", p.Shard, err)
}
