package ledger

import (
	"time"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger/proof"
)

// logRow is a row of the table log_hashes: a leaf of the transparency log, and the
// roots of the tiles that it completes.
type logRow struct {
	Incarnation uuid.UUID `ch:"incarnation"`
	Index       uint64    `ch:"log_index"`
	StreamSeq   uint64    `ch:"stream_seq"`
	RecordedAt  time.Time `ch:"recorded_at"` // start of its month
	Hash        string    `ch:"hash"`        // 32 bytes
	Above       string    `ch:"above"`       // 32 bytes a tile, of level 8 first
	Tenant      string    `ch:"tenant"`      // of the event; empty before SubjectRules
}

// AddLeaf appends the leaf of the tenant's event at to the log, which becomes tree. Leaves come
// in the order of the stream, after the leaves of earlier batches. The log keeps no tenant of
// events that were recorded before [SubjectRules].
func (b *Batch) AddLeaf(tree *proof.Tree, leaf tlog.Hash, tenant string, at Position) {
	year, month, _ := at.RecordedAt.UTC().Date()
	row := logRow{
		Incarnation: at.Incarnation, Index: uint64(tree.Size), StreamSeq: at.StreamSeq,
		RecordedAt: time.Date(year, month, 1, 0, 0, 0, 0, time.UTC), Hash: string(leaf[:]),
	}
	if b.rules() >= SubjectRules {
		row.Tenant = tenant
	}
	tree.Append(leaf, func(level int, _ int64, h tlog.Hash) {
		if level > 0 {
			row.Above += string(h[:])
		}
	})
	b.logHashes.Add(row)
}

// WithoutLog takes the leaves out of the batch.
func (b *Batch) WithoutLog() { b.logHashes.Reset() }

// Log is the state of a stream's transparency log after a commit. The zero Log means no log. An
// empty log has a root.
type Log struct {
	Tree proof.Tree
	Root tlog.Hash
}

// LogOf returns the state of a log.
func LogOf(t proof.Tree) Log { return Log{t, t.Root()} }

// IsZero reports whether there is no log.
func (l Log) IsZero() bool { return l.Root == tlog.Hash{} }
