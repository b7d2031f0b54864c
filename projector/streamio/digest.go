package streamio

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
)

// Sum returns the SHA-256 of all inputs of the rows: sequence, time, subject, headers in a
// fixed order, and data. Sum includes their lengths and numbers, so that no two messages have
// the same encoding. Sum computes the digest once.
func (m *Message) Sum() []byte {
	if !m.summed {
		room := canonicalRoom.Get().(*canonical)
		room.bytes = room.append(room.bytes[:0], m)
		m.digest, m.summed = sha256.Sum256(room.bytes), true
		canonicalRoom.Put(room)
	}
	return m.digest[:]
}

// canonical holds the buffers for the encoding of a message.
type canonical struct {
	bytes   []byte
	headers []header
	orders  [][]string // names of earlier messages in their order; see order
}

// keptOrders limits the number of sets of header names that are kept. Messages of one kind of
// producer have few such sets.
const keptOrders = 8

type header struct {
	key    uint64 // the bytes of the name after "ce-", which tell nearly all names apart
	name   string
	values []string
}

// compare orders headers by key and then by name. Any fixed order is correct, and numbers
// compare faster than text.
func (h header) compare(o header) int {
	return cmp.Or(cmp.Compare(h.key, o.key), strings.Compare(h.name, o.name))
}

func headerKey(name string) uint64 {
	var b [8]byte
	copy(b[:], name[min(len(name), 3):])
	return binary.BigEndian.Uint64(b[:])
}

// canonicalRoom avoids an allocation for each message.
var canonicalRoom = sync.Pool{New: func() any { return new(canonical) }}

func (c *canonical) append(b []byte, m *Message) []byte {
	c.order(m.Header)
	b = binary.BigEndian.AppendUint64(b, m.Position.StreamSeq)
	b = binary.BigEndian.AppendUint64(b, uint64(m.Position.RecordedAt.UnixNano()))
	b = appendText(b, m.Subject)
	b = binary.AppendUvarint(b, uint64(len(c.headers)))
	for _, h := range c.headers {
		b = appendText(b, h.name)
		b = binary.AppendUvarint(b, uint64(len(h.values)))
		for _, value := range h.values {
			b = appendText(b, value)
		}
	}
	clear(c.headers)
	return appendText(b, m.Data)
}

// order fills c.headers with headers in their order. If an earlier message had the same names,
// order uses its order instead of sorting.
func (c *canonical) order(headers map[string][]string) {
	for i, names := range c.orders {
		if len(names) == len(headers) && c.take(names, headers) {
			if i > 0 { // frequent orders move to the front
				c.orders[i], c.orders[i-1] = c.orders[i-1], c.orders[i]
			}
			return
		}
	}
	c.headers = c.headers[:0]
	for name, values := range headers {
		c.headers = append(c.headers, header{headerKey(name), name, values})
	}
	slices.SortFunc(c.headers, header.compare)
	names := make([]string, len(c.headers))
	for i, h := range c.headers {
		names[i] = strings.Clone(h.name)
	}
	if len(c.orders) == keptOrders {
		c.orders = c.orders[:keptOrders-1]
	}
	c.orders = append(c.orders, names)
}

// take orders headers by names, and reports whether both have the same names. Their numbers
// must be equal.
func (c *canonical) take(names []string, headers map[string][]string) bool {
	c.headers = slices.Grow(c.headers[:0], len(names))[:len(names)]
	for i, name := range names {
		values, ok := headers[name]
		if !ok {
			return false
		}
		c.headers[i] = header{name: name, values: values}
	}
	return true
}

func appendText[T string | []byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
