package ledger

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
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

// AddLeaf appends the leaf of the tenant's event at to the log, which becomes tree.
// Leaves come in the order of the stream, after those of the batches before. The log
// keeps no tenant of events that were recorded before [SubjectRules].
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
	b.logHashes.add(row)
}

// WithoutLog takes the leaves out of the batch.
func (b *Batch) WithoutLog() { b.logHashes.reset() }

// Log is the state of a stream's transparency log after a commit. The zero Log is
// none, which an empty one is not: that has a root.
type Log struct {
	Tree proof.Tree
	Root tlog.Hash
}

// LogOf returns the state of a log.
func LogOf(t proof.Tree) Log { return Log{t, t.Root()} }

// IsZero reports whether there is no log.
func (l Log) IsZero() bool { return l.Root == tlog.Hash{} }

// LogAt returns the log of the events up to the sequence through, of which every
// one must be committed. A ledger that has no commit of them, or none with a log,
// has none.
func (l *Ledger) LogAt(ctx context.Context, incarnation uuid.UUID, through uint64) (Log, error) {
	params := clickhouse.Parameters{"incarnation": incarnation.String(), "through": unsigned(through)}
	var last, size uint64
	var root, frontier string
	found, err := l.queryOne(ctx, "tree_at", params, &last, &size, &root, &frontier)
	if err != nil {
		return Log{}, fmt.Errorf("read the state of the log: %w", err)
	}
	logged := found && root != string(make([]byte, tlog.HashSize))
	tree, err := proof.TreeOf(int64(size), []byte(frontier))
	if err != nil {
		return Log{}, fmt.Errorf("read the state of the log: %w", err)
	}
	if last < through { // a commit may end beyond it: the leaves between are one by one
		params["after"] = unsigned(last)
		leaves, err := l.hashes(ctx, "log_after", params)
		if err != nil {
			return Log{}, err
		}
		for _, leaf := range leaves {
			tree.Append(leaf, nil)
		}
		logged = logged || len(leaves) > 0
	}
	if !logged {
		return Log{}, nil
	}
	return LogOf(tree), nil
}

// LogStart returns the sequence of the first event of a stream that is in its log,
// and false where none is.
func (l *Ledger) LogStart(ctx context.Context, incarnation uuid.UUID) (first uint64, found bool, err error) {
	var n uint64
	if err := l.conn.QueryRow(l.with(ctx, clickhouse.Parameters{"incarnation": incarnation.String()}), statement("log_start")).Scan(&n, &first); err != nil {
		return 0, false, fmt.Errorf("look for the start of the log: %w", err)
	}
	return first, n > 0, nil
}

// LogTiles returns the hashes of a stream's log for package tlog, which checks them
// against a root. It is safe for concurrent use.
func (l *Ledger) LogTiles(ctx context.Context, incarnation uuid.UUID) tlog.TileReader {
	return proof.Tiles(func(level int, from, n int64) ([]tlog.Hash, error) {
		params := clickhouse.Parameters{"incarnation": incarnation.String()}
		if level == 0 {
			params["from"], params["to"] = unsigned(uint64(from)), unsigned(uint64(from+n))
			return l.hashes(ctx, "log_leaves", params)
		}
		step := uint64(1) << level
		params["first"], params["step"], params["n"] = unsigned((uint64(from)+1)*step-1), unsigned(step), unsigned(uint64(n))
		params["offset"] = strconv.Itoa((level/proof.TileHeight-1)*tlog.HashSize + 1)
		return l.hashes(ctx, "log_roots", params)
	})
}

// hashes asks a question whose answer is a column of hashes.
func (l *Ledger) hashes(ctx context.Context, name string, params clickhouse.Parameters) ([]tlog.Hash, error) {
	rows, err := l.conn.Query(l.with(ctx, params), statement(name))
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	defer rows.Close()
	var list []tlog.Hash
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, fmt.Errorf("read the log: %w", err)
		}
		if len(text) != tlog.HashSize {
			return nil, fmt.Errorf("read the log: a hash of %d bytes", len(text))
		}
		list = append(list, tlog.Hash([]byte(text)))
	}
	return list, rows.Err()
}

// queryOne reads the first row of an answer, and reports whether there is one.
func (l *Ledger) queryOne(ctx context.Context, name string, params clickhouse.Parameters, into ...any) (bool, error) {
	rows, err := l.conn.Query(l.with(ctx, params), statement(name))
	if err != nil {
		return false, err
	}
	defer rows.Close()
	if !rows.Next() {
		return false, rows.Err()
	}
	if err := rows.Scan(into...); err != nil {
		return false, err
	}
	return true, rows.Err()
}

// logParameters are what a commit says of the log.
func (l Log) parameters() clickhouse.Parameters {
	return clickhouse.Parameters{
		"tree_size": unsigned(uint64(l.Tree.Size)), "tree_root": hex.EncodeToString(l.Root[:]),
		"tree_frontier": hex.EncodeToString(l.Tree.FrontierBytes()),
	}
}

// Leaf is a leaf of a stream's log.
type Leaf struct {
	Hash   tlog.Hash
	Tenant string // whose; "" for one that was made by EnvelopeRules
}

// Leaves returns the leaves that a log has at sequences of its stream.
func (l *Ledger) Leaves(ctx context.Context, incarnation uuid.UUID, sequences []uint64) (map[uint64]Leaf, error) {
	found := make(map[uint64]Leaf)
	for part := range slices.Chunk(sequences, erasePart) {
		params := clickhouse.Parameters{"incarnation": incarnation.String(), "sequences": arrayParameter(part)}
		rows, err := l.conn.Query(l.with(ctx, params), statement("leaves"))
		if err != nil {
			return nil, fmt.Errorf("read the log: %w", err)
		}
		for rows.Next() {
			var sequence uint64
			var hash, tenant string
			if err = rows.Scan(&sequence, &hash, &tenant); err != nil {
				break
			}
			found[sequence] = Leaf{tlog.Hash([]byte(hash)), tenant}
		}
		if err = errors.Join(err, rows.Err(), rows.Close()); err != nil {
			return nil, fmt.Errorf("read the log: %w", err)
		}
	}
	return found, nil
}

// LogWhole returns up to which sequence the table has every leaf of a stream's log, so
// that a sequence without one has none. It is 0 where leaves are missing.
func (l *Ledger) LogWhole(ctx context.Context, incarnation uuid.UUID) (through uint64, err error) {
	params := clickhouse.Parameters{"incarnation": incarnation.String()}
	if err := l.conn.QueryRow(l.with(ctx, params), statement("log_whole")).Scan(&through); err != nil {
		return 0, fmt.Errorf("count the leaves of the log: %w", err)
	}
	return through, nil
}
