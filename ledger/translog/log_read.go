package translog

import (
	"context"
	"fmt"
	"slices"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/tlog"
)

// LogAt returns the log of the events up to the sequence through, of which every
// one must be committed. A ledger that has no commit of them, or none with a log,
// has none.
func (l Logs) LogAt(ctx context.Context, incarnation uuid.UUID, through uint64) (ledger.Log, error) {
	params := chsql.Params{"incarnation": chsql.UUID(incarnation), "through": chsql.Number(through)}
	var last, size uint64
	var root, frontier string
	found, err := l.sql.First(ctx, "tree_at", params, &last, &size, &root, &frontier)
	if err != nil {
		return ledger.Log{}, fmt.Errorf("read the state of the log: %w", err)
	}
	logged := found && root != string(make([]byte, tlog.HashSize))
	tree, err := proof.TreeOf(int64(size), []byte(frontier))
	if err != nil {
		return ledger.Log{}, fmt.Errorf("read the state of the log: %w", err)
	}
	if last < through { // a commit may end beyond it: the leaves between are one by one
		params["after"] = chsql.Number(last)
		leaves, err := l.hashes(ctx, "log_after", params)
		if err != nil {
			return ledger.Log{}, err
		}
		for _, leaf := range leaves {
			tree.Append(leaf, nil)
		}
		logged = logged || len(leaves) > 0
	}
	if !logged {
		return ledger.Log{}, nil
	}
	return ledger.LogOf(tree), nil
}

// LogStart returns the sequence of the first event of a stream that is in its log,
// and false where none is.
func (l Logs) LogStart(ctx context.Context, incarnation uuid.UUID) (first uint64, found bool, err error) {
	var n uint64
	if err := l.sql.Row(ctx, "log_start", chsql.Params{"incarnation": chsql.UUID(incarnation)}).Scan(&n, &first); err != nil {
		return 0, false, fmt.Errorf("look for the start of the log: %w", err)
	}
	return first, n > 0, nil
}

// LogTiles returns the hashes of a stream's log for package tlog, which checks them against a
// root. A reader is safe for concurrent use.
func (l Logs) LogTiles(ctx context.Context, incarnation uuid.UUID) tlog.TileReader {
	return proof.Tiles(func(level int, from, n int64) ([]tlog.Hash, error) {
		params := chsql.Params{"incarnation": chsql.UUID(incarnation)}
		if level == 0 {
			params["from"], params["to"] = chsql.Number(from), chsql.Number(from+n)
			return l.hashes(ctx, "log_leaves", params)
		}
		step := uint64(1) << level
		params["first"], params["step"], params["n"] = chsql.Number((uint64(from)+1)*step-1), chsql.Number(step), chsql.Number(n)
		params["offset"] = chsql.Number((level/proof.TileHeight-1)*tlog.HashSize + 1)
		return l.hashes(ctx, "log_roots", params)
	})
}

// hashes asks a question whose answer is a column of hashes.
func (l Logs) hashes(ctx context.Context, name string, params chsql.Params) ([]tlog.Hash, error) {
	var list []tlog.Hash
	for row := range l.sql.Rows(ctx, name, params) {
		var text string
		if err := row.Scan(&text); err != nil {
			return nil, fmt.Errorf("read the log: %w", err)
		}
		if len(text) != tlog.HashSize {
			return nil, fmt.Errorf("read the log: a hash of %d bytes", len(text))
		}
		list = append(list, tlog.Hash([]byte(text)))
	}
	return list, nil
}

// Leaf is a leaf of a stream's log.
type Leaf struct {
	Hash   tlog.Hash
	Tenant string // whose; "" for one that was made by EnvelopeRules
}

// Leaves returns the leaves that a log has at sequences of its stream.
func (l Logs) Leaves(ctx context.Context, incarnation uuid.UUID, sequences []uint64) (map[uint64]Leaf, error) {
	found := make(map[uint64]Leaf)
	for part := range slices.Chunk(sequences, chsql.MostValues) {
		params := chsql.Params{"incarnation": chsql.UUID(incarnation), "sequences": chsql.Numbers(part)}
		for row := range l.sql.Rows(ctx, "leaves", params) {
			var sequence uint64
			var hash, tenant string
			if err := row.Scan(&sequence, &hash, &tenant); err != nil {
				return nil, fmt.Errorf("read the log: %w", err)
			}
			found[sequence] = Leaf{tlog.Hash([]byte(hash)), tenant}
		}
	}
	return found, nil
}

// LogWhole returns the last sequence up to which the table has every leaf of a stream's log. An
// earlier sequence without a leaf has none. The result is 0 if leaves are missing.
func (l Logs) LogWhole(ctx context.Context, incarnation uuid.UUID) (through uint64, err error) {
	params := chsql.Params{"incarnation": chsql.UUID(incarnation)}
	if err := l.sql.Row(ctx, "log_whole", params).Scan(&through); err != nil {
		return 0, fmt.Errorf("count the leaves of the log: %w", err)
	}
	return through, nil
}
