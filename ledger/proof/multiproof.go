package proof

import (
	"errors"
	"fmt"
	"io"
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"
)

// ErrMultiproof says that a multiproof does not lead to the root, or that its
// leaves are not what it is a proof of.
var ErrMultiproof = errors.New("the proof does not fit")

// proofBatch is how many hashes [ProveMany] asks for at once.
const proofBatch = 4096

// ProveMany proves that the leaves at the given indexes of the log are in the
// tree of that size (RFC 6962). next gives the indexes in rising order and
// then [io.EOF]; emit takes the proof's hashes one after the other: those of
// the largest subtrees that hold none of the leaves, as one who goes from the
// root down and from left to right comes upon them. Memory is bounded, whatever
// the size of tree and proof. Errors are those of next, stored and emit, and
// [ErrMultiproof] for indexes that do not rise or are not in the tree.
func ProveMany(size int64, next func() (int64, error), stored tlog.HashReader, emit func(tlog.Hash) error) error {
	p := prover{stored: stored, emit: emit}
	if err := walk(size, next, &p); err != nil {
		return err
	}
	return p.flush()
}

// CheckMany checks what [ProveMany] proved. nextLeaf gives the leaves with
// their indexes in rising order and nextHash the proof's hashes, both with
// [io.EOF] at the end. The error wraps [ErrMultiproof] when they do not lead to
// the root, when there are too few or too many hashes, or when indexes do not
// rise or are not in the tree. A proof of no leaf is the root itself. Memory
// grows with the logarithm of size.
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
		return fmt.Errorf("%w: it has more hashes than it needs", ErrMultiproof)
	} else if err != io.EOF {
		return err
	}
	if got := c.stack[0]; got != root {
		return fmt.Errorf("%w: the leaves give the root %x and the signed one is %x", ErrMultiproof, got[:], root[:])
	}
	return nil
}

// A visitor is told the parts of a tree from left to right, those of a node
// before the node.
type visitor interface {
	leaf() error                // one of the given leaves, the last that next gave
	subtree(lo, hi int64) error // leaves lo to hi-1, none of them given
	join() error                // the last two parts are the children of one node
}

// walk goes through the tree of that size.
func walk(size int64, next func() (int64, error), v visitor) error {
	w := walker{next: next, v: v, at: -1, size: size}
	if size <= 0 {
		return fmt.Errorf("%w: a tree of size %d", ErrMultiproof, size)
	}
	if err := w.advance(); err != nil {
		return err
	}
	return w.node(0, size)
}

type walker struct {
	next func() (int64, error)
	v    visitor
	at   int64 // the next given leaf, or size when there is none
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

// node recurses as deep as the tree is: 63 levels at most.
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

// checker works the root out.
type checker struct {
	next  func() (tlog.Hash, error)
	given tlog.Hash // the last leaf that was given
	stack []tlog.Hash
}

func (c *checker) leaf() error {
	c.stack = append(c.stack, c.given)
	return nil
}

func (c *checker) subtree(_, _ int64) error {
	h, err := c.next()
	if err == io.EOF {
		return fmt.Errorf("%w: it has fewer hashes than it needs", ErrMultiproof)
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

// prover emits the hashes of subtrees, which it reads some thousand at a time.
type prover struct {
	stored tlog.HashReader
	emit   func(tlog.Hash) error
	want   []int64 // stored hashes of the subtrees to come
	parts  []int   // how many of them each subtree has
}

func (p *prover) leaf() error { return nil }
func (p *prover) join() error { return nil }

// subtree asks for the perfect subtrees that lo to hi-1 is made of. Only at the
// right edge of the tree are there several.
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
