package observe

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
	"github.com/ctxledger/ctxledger/schema"
)

// Reader computes what blocks need beyond their text.
type Reader struct {
	// Equality is the tenant's key of equality digests. The zero Key makes no digests.
	Equality schema.Key
	// Content returns the keyed digest of a text. Nil makes no digests.
	Content func(text []byte) string
	// Count returns the tokens of a text and the name of the counter. Nil counts nothing.
	Count func(model, text string) (tokens int64, estimator string)
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

// read computes the blocks of a window or of an answer. known are blocks by their sum, whose
// tokens are not counted again.
func (s *Session) read(r *Reader, model string, list []dialect.Block, known map[uint64]*block) []seen {
	out := make([]seen, len(list))
	for i := range list {
		from := &list[i]
		canonical := Canonical(from.Raw)
		b := block{
			Sum: sum64(canonical, []byte(from.Role), []byte(from.Layer)), Layer: from.Layer, Kind: from.Kind, Role: from.Role,
			Tokens: -1, InTurn: from.Message >= 0 && from.Layer != dialect.LayerSystem,
		}
		if old := known[b.Sum]; old != nil {
			inTurn := b.InTurn
			b = *old
			b.InTurn = inTurn
			out[i] = seen{block: b, from: from}
			continue
		}
		if usable(from.ID) && (from.Layer == dialect.LayerToolCalls || from.Layer == dialect.LayerToolResults) {
			b.Tool, b.Item = from.ID, from.ID
			if from.Layer == dialect.LayerToolResults {
				b.Item += ":result"
			}
		} else {
			b.Item = name("block_", s.ID, string(canonical), from.Role)
		}
		b.Digest = r.Equality.EqualityDigest(sha256.Sum256(canonical))
		out[i] = seen{block: b, from: from}
		if from.Readable() && r.Count != nil {
			out[i].Tokens, out[i].estimator = r.Count(model, string(from.Text))
		}
	}
	return out
}

// Canonical returns the canonical bytes of a block. A block that has none, because a member
// occurs twice, is its own.
func Canonical(raw []byte) []byte {
	if canonical, err := schema.CanonicalBlock(raw); err == nil {
		return canonical
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

// messagesShared is shared for the message blocks alone: a client may change its system prompt
// or its tools between two calls of a thread.
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
		n, i, j = n+1, i+1, j+1
	}
}
