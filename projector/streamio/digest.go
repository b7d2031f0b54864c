package streamio

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
)

// Sum is the SHA-256 of all that rows are derived from: sequence, time, subject,
// headers in one order, and data, with the lengths and numbers of these, so
// that no two messages read the same. It is reckoned once.
func (m *Message) Sum() []byte {
	if !m.summed {
		room := canonicalRoom.Get().(*canonical)
		room.bytes = room.append(room.bytes[:0], m)
		m.digest, m.summed = sha256.Sum256(room.bytes), true
		canonicalRoom.Put(room)
	}
	return m.digest[:]
}

// canonical is the room in which a message is written for its digest.
type canonical struct {
	bytes   []byte
	headers []header
	orders  [][]string // names of earlier messages in their order; see order
}

// keptOrders bounds what is kept of the names of headers. What comes from one
// kind of producer has few sets of them.
const keptOrders = 8

type header struct {
	key    uint64 // what the name has behind "ce-", which tells nearly all apart
	name   string
	values []string
}

// compare orders headers by key and then by name: any order will do that two
// readers agree on, and numbers compare faster than text.
func (h header) compare(o header) int {
	return cmp.Or(cmp.Compare(h.key, o.key), strings.Compare(h.name, o.name))
}

func headerKey(name string) uint64 {
	var b [8]byte
	copy(b[:], name[min(len(name), 3):])
	return binary.BigEndian.Uint64(b[:])
}

// canonicalRoom spares an allocation a message.
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

// order fills c.headers with headers in their order. Where an earlier message had
// the same names, its order is taken, which costs a fraction of sorting them.
func (c *canonical) order(headers map[string][]string) {
	for i, names := range c.orders {
		if len(names) == len(headers) && c.take(names, headers) {
			if i > 0 { // what is frequent comes to the front
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

// take puts headers, of which there are as many as names, in the order of these, and
// reports whether they have the same names.
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
