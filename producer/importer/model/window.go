package model

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/ctxledger/ctxledger/schema"
)

// maxBlocks is the most blocks of one event. A longer assembly is split into numbered parts.
const maxBlocks = 150

// Window is the window of a call as the program's own record of the request describes it.
type Window struct {
	ID      string // of the request
	Blocks  []*Block
	Lacking []string // coverage reasons; nil for a complete window
}

// Block is one block of a request. Several windows share it.
type Block struct {
	Kind      string
	Layer     layer
	Role      string
	Item      string // id of the item that holds the content, "" without one
	Tokens    int64  // unknown when negative
	Estimator string
	Sum       [sha256.Size]byte // see [canonical.Sum]
	Digest    string            // see [schema.Key.EqualityDigest]
}

// told is the last assembly of a thread, which the next one builds on.
type told struct {
	id     string
	blocks []*Block
	chain  int // assemblies since the last whole one
}

// assembly emits the window of a call: whole, or the blocks after those that it shares with the
// thread's last window.
func (w *Writer) assembly(o *Origin, call string, win *Window) error {
	last := &o.Thread.told
	fact := schema.AssemblyCreated{
		Common:     schema.Common{Metadata: o.metadata()},
		Known:      win.known(),
		AssemblyID: win.ID, CallID: call, Target: "model",
	}
	keep := 0
	for keep < min(len(last.blocks), len(win.Blocks)-1) && last.blocks[keep].same(win.Blocks[keep]) {
		keep++
	}
	if last.chain++; keep == 0 || last.id == win.ID || last.chain >= schema.MaxAssemblyChain {
		keep, last.chain = 0, 0
	} else {
		n := int64(keep)
		fact.BaseAssemblyID, fact.Keep = last.id, &n
	}
	last.id, last.blocks = win.ID, win.Blocks
	parts := max((len(win.Blocks)-keep+maxBlocks-1)/maxBlocks, 1)
	for part := range parts {
		from := keep + part*maxBlocks
		list := win.Blocks[from:min(from+maxBlocks, len(win.Blocks))]
		one := fact
		one.OrderedBlocks = make([]schema.Block, len(list))
		for i, b := range list {
			one.OrderedBlocks[i] = b.fact(int64(from + i))
		}
		if parts > 1 {
			one.Metadata = o.metadata()
			one.Metadata["part"], one.Metadata["parts"] = part+1, parts
		}
		if err := w.orProblem(o, w.fact(o, &one, "", win.ID, Itoa(part))); err != nil {
			return err
		}
	}
	return nil
}

// known says how the window is known.
func (win *Window) known() schema.Known {
	k := schema.Known{Fidelity: schema.FidelitySerialized, Coverage: schema.CoverageComplete, CoverageReasons: win.Lacking}
	if len(win.Lacking) > 0 {
		k.Coverage = schema.CoveragePartial
	}
	return k
}

// same reports whether both blocks give the same block of an assembly.
func (b *Block) same(other *Block) bool {
	return b == other || b.Sum == other.Sum && b.Item == other.Item && b.Role == other.Role && b.Layer == other.Layer
}

func (b *Block) fact(position int64) schema.Block {
	f := schema.Block{Block: b.Kind, Position: &position, Layer: b.Layer.String(), Role: b.Role, EqualityDigest: b.Digest}
	if b.Item != "" {
		f.ItemRefs = []schema.Ref{schema.Ref(b.Item)}
	}
	if b.Tokens >= 0 {
		tokens := b.Tokens
		f.Tokens = &tokens
	}
	return f
}

// layers returns the size of each layer of the window, and the name of the token counter.
func (win *Window) layers() (sizes layerSizes, estimator string) {
	for _, b := range win.Blocks {
		sizes[b.Layer].Add(&Entry{tokens: b.Tokens, position: int64(binary.BigEndian.Uint32(b.Sum[:]))})
		if b.Estimator != "" {
			estimator = b.Estimator
		}
	}
	return sizes, estimator
}
