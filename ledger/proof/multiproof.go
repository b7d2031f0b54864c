package proof

import (
	"errors"
	"fmt"
	"io"
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"
)

// ErrMultiproof means that a multiproof does not lead to the root, or belongs to other leaves.
var ErrMultiproof = errors.New("the proof does not match")

// proofBatch is the number of hashes that [ProveMany] reads in one batch.
const proofBatch = 4096

// ProveMany proves that the leaves at the given indexes are in the tree of the given size (RFC
// 6962). next returns the indexes in rising order and then [io.EOF]. emit receives the hashes of
// the proof one after the other. These are the hashes of the largest subtrees without a given leaf,
// in depth-first order from left to right. Memory is bounded for every size of tree and proof.
// Errors are the errors of next, stored and emit. Indexes that do not rise or are outside of the
// tree give [ErrMultiproof].
func ProveMany(size int64, next func() (int64, error), stored tlog.HashReader, emit func(tlog.Hash) error) error {
	p := prover{stored: stored, emit: emit}
	if err := walk(size, next, &p); err != nil {
		return err
	}
	return p.flush()
}

// CheckMany checks a proof from [ProveMany]. nextLeaf returns the leaves with their indexes in
// rising order, nextHash the hashes of the proof, both with [io.EOF] at the end. The error wraps
// [ErrMultiproof] for a wrong root, and for too few or too many hashes. Indexes that do not rise or
// are outside of the tree also give [ErrMultiproof]. The proof of no leaf is the root itself.
// Memory grows with the logarithm of size.
func CheckMany(size int64, root tlog.Hash, nextLeaf func() (int64, tlog.Hash, error), nextHash func() (tlog.Hash, error)) error {
	c := checker{next: nextHash}
	err := walk(size, func() (index int64, err error) {
		index, c.given, err = nextLeaf()
		return index, err
	}, &c)
	if err != nil {
		return err
	}
	if _, err := nextHash(); err == nil {
		return fmt.Errorf("%w: the proof has more hashes than needed", ErrMultiproof)
	} else if err != io.EOF {
		return err
	}
	if got := c.stack[0]; got != root {
		return fmt.Errorf("%w: the leaves give the root %x, the signed root is %x", ErrMultiproof, got[:], root[:])
	}
	return nil
}

// A visitor receives the parts of a tree from left to right. Children come before their node.
type visitor interface {
	leaf() error                // the leaf that next returned last
	subtree(lo, hi int64) error // leaves lo to hi-1, none of them given
	join() error                // the last two parts are the children of one node
}

// walk visits the tree of the given size.
func walk(size int64, next func() (int64, error), v visitor) error {
	w := walker{next: next, v: v, at: -1, size: size}
	if size <= 0 {
		return fmt.Errorf("%w: the tree size %d is not positive", ErrMultiproof, size)
	}
	if err := w.advance(); err != nil {
		return err
	}
	return w.node(0, size)
}

type walker struct {
	next func() (int64, error)
	v    visitor
	at   int64 // index of the next given leaf, or size after the last one
	size int64
}

func (w *walker) advance() error {
	index, err := w.next()
	switch {
	case err == io.EOF:
		w.at = w.size
	case err != nil:
		return err
	case index <= w.at:
		return fmt.Errorf("%w: index %d after %d", ErrMultiproof, index, w.at)
	case index >= w.size:
		return fmt.Errorf("%w: index %d in a tree of size %d", ErrMultiproof, index, w.size)
	default:
		w.at = index
	}
	return nil
}

// node recurses to the depth of the tree, at most 63 levels.
func (w *walker) node(lo, hi int64) error {
	if w.at >= hi {
		return w.v.subtree(lo, hi)
	}
	if hi-lo == 1 {
		if err := w.v.leaf(); err != nil {
			return err
		}
		return w.advance()
	}
	middle := lo + int64(1)<<(bits.Len64(uint64(hi-lo-1))-1)
	if err := w.node(lo, middle); err != nil {
		return err
	}
	if err := w.node(middle, hi); err != nil {
		return err
	}
	return w.v.join()
}

// checker computes the root.
type checker struct {
	next  func() (tlog.Hash, error)
	given tlog.Hash // the last given leaf
	stack []tlog.Hash
}

func (c *checker) leaf() error {
	c.stack = append(c.stack, c.given)
	return nil
}

func (c *checker) subtree(_, _ int64) error {
	h, err := c.next()
	if err == io.EOF {
		return fmt.Errorf("%w: the proof has fewer hashes than needed", ErrMultiproof)
	}
	c.stack = append(c.stack, h)
	return err
}

func (c *checker) join() error {
	last := len(c.stack) - 1
	c.stack[last-1] = tlog.NodeHash(c.stack[last-1], c.stack[last])
	c.stack = c.stack[:last]
	return nil
}

// prover emits the hashes of subtrees. prover reads the stored hashes in batches of [proofBatch].
type prover struct {
	stored tlog.HashReader
	emit   func(tlog.Hash) error
	want   []int64 // indexes of the stored hashes of the next subtrees
	parts  []int   // number of stored hashes of each subtree
}

func (p *prover) leaf() error { return nil }
func (p *prover) join() error { return nil }

// subtree requests the perfect subtrees of the leaves lo to hi-1. There are several only at the
// right edge of the tree.
func (p *prover) subtree(lo, hi int64) error {
	before := len(p.want)
	for lo < hi {
		level := bits.Len64(uint64(hi-lo)) - 1
		p.want = append(p.want, tlog.StoredHashIndex(level, lo>>level))
		lo += int64(1) << level
	}
	p.parts = append(p.parts, len(p.want)-before)
	if len(p.want) < proofBatch {
		return nil
	}
	return p.flush()
}

func (p *prover) flush() error {
	if len(p.want) == 0 {
		return nil
	}
	hashes, err := p.stored.ReadHashes(p.want)
	if err != nil {
		return fmt.Errorf("read hashes of the log: %w", err)
	}
	for _, n := range p.parts {
		h := hashes[n-1]
		for i := n - 2; i >= 0; i-- {
			h = tlog.NodeHash(hashes[i], h)
		}
		if err := p.emit(h); err != nil {
			return err
		}
		hashes = hashes[n:]
	}
	p.want, p.parts = p.want[:0], p.parts[:0]
	return nil
}
