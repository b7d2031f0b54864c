package observe

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/maphash"
	"strings"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/canonical"
)

// Reader computes what blocks need beyond their text. A Reader is for one goroutine at a time.
type Reader struct {
	// Equality is the tenant's key of equality digests. The zero Key makes no digests.
	Equality schema.Key
	// Content returns the keyed digest of a text. Nil makes no digests.
	Content func(text []byte) string
	// Count returns the tokens of a text and the name of the counter. Nil counts nothing.
	Count func(model, text string) (tokens int64, estimator string)

	// Yield is called between blocks, for a program whose other work is more urgent. Nil does
	// nothing.
	Yield func()

	memo map[uint64]seen // blocks that were read, by the hash of their text, role, layer and session
}

// maxMemo is the number of blocks that a Reader remembers, about 200 bytes each.
const maxMemo = 20_000

// memoSeed makes hashes that nobody outside of the process can predict. Two of a million blocks
// have one hash with a probability of 3e-8.
var memoSeed = maphash.MakeSeed()

// remembered returns the hash of a block, and what was read of it before.
func (r *Reader) remembered(session, model string, from *dialect.Block) (uint64, seen, bool) {
	var h maphash.Hash
	h.SetSeed(memoSeed)
	for _, part := range [...]string{session, model, from.Role, string(from.Layer), from.Kind} {
		_, _ = h.WriteString(part)
		_ = h.WriteByte(0)
	}
	_, _ = h.Write(from.Raw)
	key := h.Sum64()
	old, ok := r.memo[key]
	return key, old, ok
}

func (r *Reader) remember(key uint64, b seen) {
	if r.memo == nil || len(r.memo) >= maxMemo {
		r.memo = make(map[uint64]seen)
	}
	b.from = nil
	r.memo[key] = b
}

// seen is a block of an exchange with its content, and what was computed from it.
type seen struct {
	block
	from      *dialect.Block
	estimator string
}

// maxID is the longest id of a provider that becomes an item id. It is the limit of imports.
const maxID = 128

// usable reports whether a provider's id can be part of an id.
func usable(id string) bool {
	return id != "" && len(id) <= maxID && !strings.ContainsAny(id, "{\"\\") && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// sum64 returns the first bytes of the SHA-256 of the parts.
func sum64(parts ...[]byte) uint64 { return binary.BigEndian.Uint64(digestOf(parts...)) }

// digestOf returns the SHA-256 of the parts, each with its length.
func digestOf(parts ...[]byte) []byte {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.AppendUvarint(nil, uint64(len(p))))
		h.Write(p)
	}
	return h.Sum(nil)
}

// name returns an id that depends on the parts.
func name(prefix string, parts ...string) string {
	list := make([][]byte, len(parts))
	for i, p := range parts {
		list[i] = []byte(p)
	}
	return prefix + hex.EncodeToString(digestOf(list...)[:12])
}

// read computes the blocks of a window or of an answer. A block of a window that was read before
// costs one pass over its text.
func (s *Session) read(r *Reader, model string, list []dialect.Block) []seen {
	out := make([]seen, len(list))
	for i := range list {
		from := &list[i]
		if r.Yield != nil && i%8 == 0 {
			r.Yield()
		}
		key, old, again := r.remembered(s.ID, model, from)
		if !again {
			old = s.readBlock(r, model, from)
			r.remember(key, old)
		}
		old.from, old.InTurn = from, from.Message >= 0 && from.Layer != dialect.LayerSystem
		out[i] = old
	}
	return out
}

func (s *Session) readBlock(r *Reader, model string, from *dialect.Block) seen {
	canonical := Canonical(from.Raw)
	b := seen{block: block{
		Sum: sum64(canonical, []byte(from.Role), []byte(from.Layer)), Layer: from.Layer, Kind: from.Kind, Role: from.Role, Tokens: -1,
	}}
	if usable(from.ID) && (from.Layer == dialect.LayerToolCalls || from.Layer == dialect.LayerToolResults) {
		b.Tool, b.Item = from.ID, from.ID
		if from.Layer == dialect.LayerToolResults {
			b.Item += ":result"
		}
	} else {
		b.Item = name("block_", s.ID, string(canonical), from.Role)
	}
	b.Digest = r.Equality.EqualityDigest(sha256.Sum256(canonical))
	if from.Readable() && r.Count != nil {
		b.Tokens, b.estimator = r.Count(model, string(from.Text))
	}
	return b
}

// Canonical returns the canonical bytes of a block. A block that has none, because a member
// occurs twice, is its own.
func Canonical(raw []byte) []byte {
	if text, err := canonical.Block(raw); err == nil {
		return text
	}
	return raw
}

// hashOf returns the hash of an item id.
func hashOf(item string) uint64 { return sum64([]byte(item)) }

// shared returns the number of equal blocks at the start of two windows, and how many of them
// are blocks of messages.
func shared(a []block, b []seen) (blocks, messages int) {
	for blocks < len(a) && blocks < len(b) && a[blocks].Sum == b[blocks].Sum {
		if a[blocks].InTurn {
			messages++
		}
		blocks++
	}
	return blocks, messages
}

// spoken reports whether a block is of a message, and no reminder that a client puts into the
// windows of all of its agents.
func (b *block) spoken() bool { return b.InTurn && b.Layer != dialect.LayerInjected }

// messagesShared returns the number of spoken blocks in the equal blocks at the start of the
// messages: a client may change its system prompt or its tools between two calls of a thread.
func messagesShared(a []block, b []seen) (n int) {
	i, j := 0, 0
	for {
		for i < len(a) && !a[i].InTurn {
			i++
		}
		for j < len(b) && !b[j].InTurn {
			j++
		}
		if i == len(a) || j == len(b) || a[i].Sum != b[j].Sum {
			return n
		}
		if a[i].spoken() {
			n++
		}
		i, j = i+1, j+1
	}
}
