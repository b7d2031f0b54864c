package proof

import (
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// ErrFork means that the newer of two heads of a log does not contain the leaves of the older head.
// Somebody has changed, removed or withheld leaves. Keep both heads as evidence.
var ErrFork = errors.New("the log is forked")

// Grown proves that the log of the head newer begins with the log of the head older. The tiles are
// the tiles of the current log, which must contain at least the leaves of newer. Grown checks the
// tiles against newer. Errors: [ErrFork]. Other errors come from reading tiles and mean nothing
// about the log.
func Grown(older, newer Checkpoint, tiles tlog.TileReader) (tlog.TreeProof, error) {
	switch {
	case older.Origin != newer.Origin:
		return nil, fmt.Errorf("%w: the heads are from two different logs, %q and %q", ErrFork, older.Origin, newer.Origin)
	case newer.Size < older.Size:
		return nil, fmt.Errorf("%w: the older head has %d leaves, the newer only %d", ErrFork, older.Size, newer.Size)
	case newer.Size == older.Size && newer.Root != older.Root:
		return nil, fmt.Errorf("%w: the heads of %d leaves have different roots, %s and %s", ErrFork, newer.Size, older.Root, newer.Root)
	case newer.Size == older.Size:
		return nil, nil
	case older.Size == 0:
		if older.Root != (Tree{}).Root() {
			return nil, fmt.Errorf("%w: the empty log has another root", ErrFork)
		}
		return nil, nil
	}
	noted := &notedTiles{TileReader: tiles}
	found, err := tlog.ProveTree(newer.Size, older.Size, tlog.TileHashReader(newer.Tree(), noted))
	switch {
	case noted.err != nil:
		return nil, noted.err
	case err != nil:
		return nil, fmt.Errorf("%w: the stored hashes do not give the root of the head of %d leaves", ErrFork, newer.Size)
	}
	if err := tlog.CheckTree(found, newer.Size, newer.Root, older.Size, older.Root); err != nil {
		return nil, fmt.Errorf("%w: the first %d of %d leaves do not give the root of the older head", ErrFork, older.Size, newer.Size)
	}
	return found, nil
}

// notedTiles keeps errors of reading tiles apart from wrong tiles.
type notedTiles struct {
	tlog.TileReader
	err error
}

func (n *notedTiles) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	data, err := n.TileReader.ReadTiles(tiles)
	n.err = err
	return data, err
}
