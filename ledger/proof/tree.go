package proof

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// TileHeight is the height of a tile. A tile has 1<<TileHeight hashes.
const TileHeight = 8

// ErrFrontier means that hashes are not the frontier of a tree of the given size.
var ErrFrontier = errors.New("not the frontier of a tree")

// Tree is the state of a log: its size and the roots of its full subtrees, the largest first. The
// number of roots is the number of one-bits in Size. The zero value is the empty log. A copy shares
// the frontier, see [Tree.Clone]. Not safe for concurrent use.
type Tree struct {
	Size     int64 // leaves
	Frontier []tlog.Hash
}

// TreeOf returns the tree with a size and a frontier. The frontier has the form of
// [Tree.FrontierBytes]. The error is [ErrFrontier].
func TreeOf(size int64, frontier []byte) (Tree, error) {
	if size < 0 || len(frontier) != bits.OnesCount64(uint64(size))*tlog.HashSize {
		return Tree{}, fmt.Errorf("%w: %d bytes for %d leaves", ErrFrontier, len(frontier), size)
	}
	t := Tree{Size: size}
	for h := range slices.Chunk(frontier, tlog.HashSize) {
		t.Frontier = append(t.Frontier, tlog.Hash(h))
	}
	return t, nil
}

// FrontierBytes returns the hashes of the frontier, one after the other.
func (t Tree) FrontierBytes() []byte {
	b := make([]byte, 0, len(t.Frontier)*tlog.HashSize)
	for _, h := range t.Frontier {
		b = append(b, h[:]...)
	}
	return b
}

// Clone returns a tree that shares nothing with t.
func (t Tree) Clone() Tree {
	return Tree{t.Size, slices.Clone(t.Frontier)}
}

// Append adds a leaf. If stored is not nil, Append calls stored for each hash to keep, with level
// and index. These hashes are the leaf at level 0 and the roots of the tiles that the leaf
// completes, at levels 8, 16, and so on.
func (t *Tree) Append(leaf tlog.Hash, stored func(level int, index int64, h tlog.Hash)) {
	keep := func(level int, h tlog.Hash) {
		if stored != nil && level%TileHeight == 0 {
			stored(level, t.Size>>level, h)
		}
	}
	h := leaf
	keep(0, h)
	for level := 0; t.Size>>level&1 == 1; level++ {
		last := len(t.Frontier) - 1
		h = tlog.NodeHash(t.Frontier[last], h)
		t.Frontier = t.Frontier[:last]
		keep(level+1, h)
	}
	t.Frontier = append(t.Frontier, h)
	t.Size++
}

// Root returns the hash of the whole tree. The root of the empty tree is the SHA-256 of no bytes.
func (t Tree) Root() tlog.Hash {
	if len(t.Frontier) == 0 {
		root, _ := tlog.TreeHash(0, nil) // reads nothing
		return root
	}
	last := len(t.Frontier) - 1
	h := t.Frontier[last]
	for i := last - 1; i >= 0; i-- {
		h = tlog.NodeHash(t.Frontier[i], h)
	}
	return h
}

// Tiles makes stored hashes readable for package tlog, see [Tree.Append]. read returns n hashes of
// a level, beginning at an index. [tlog.TileHashReader] checks the hashes against a root.
func Tiles(read func(level int, from, n int64) ([]tlog.Hash, error)) tlog.TileReader {
	return tiles(read)
}

type tiles func(level int, from, n int64) ([]tlog.Hash, error)

// Height returns the height of a tile.
func (tiles) Height() int { return TileHeight }

// ReadTiles reads each tile as one range of its level.
func (read tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	data := make([][]byte, len(wanted))
	for i, t := range wanted {
		hashes, err := read(t.L*TileHeight, t.N<<TileHeight, int64(t.W))
		if err != nil {
			return nil, err
		}
		if len(hashes) != t.W {
			return nil, fmt.Errorf("read tile %s of the log: found %d hashes", t.Path(), len(hashes))
		}
		for _, h := range hashes {
			data[i] = append(data[i], h[:]...)
		}
	}
	return data, nil
}

// SaveTiles does nothing.
func (tiles) SaveTiles([]tlog.Tile, [][]byte) {}
