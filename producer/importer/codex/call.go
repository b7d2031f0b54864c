package codex

import (
	"encoding/binary"
	"github.com/ctxledger/ctxledger/producer/importer/internal/hashset"
)

// codexCall is one model call of a rollout.
type codexCall struct {
	line    int         // line of the call's first item, or of its count if the call has no item
	count   *codexCount // nil when unknown
	counted int         // line of the count
	edge    bool        // the call may have begun before the session's first record
}

// codexCalls holds the calls of a rollout between pass 1 and pass 2, in the order of their lines.
// A log may hold hundreds of thousands. Each call is encoded as the differences from the previous
// call, in about 40 bytes.
//
//	varints: line, its count's line or 0, flags, window, tokens, total, own
//
// The zero value holds no calls.
type codexCalls struct {
	bytes   hashset.List[byte]
	written codexNumbers // the newest call

	response  string         // the provider's id of the open call's answer, "" when unknown
	responses map[int]string // by the line of the call

	read codexNumbers // the next call to read
	at   int          // position after the bytes of that call
	held bool         // the call in read is not taken yet
}

// The flags of a call.
const (
	callGap = 1 << iota
	callEdge
)

// codexNumbers are the numbers of one call.
type codexNumbers [4 + 3*len(codexPacked{})]int64

// Add adds a call with a line after the lines of all other calls.
func (l *codexCalls) Add(c *codexCall) {
	n := codexNumbers{int64(c.line)}
	if c.count != nil {
		n[1], n[3] = int64(c.counted), c.count.window
		if c.count.gap {
			n[2] |= callGap
		}
		for i, p := range []codexPacked{c.count.tokens, c.count.total, c.count.own} {
			copy(n[4+i*len(p):], p[:])
		}
	}
	var room [binary.MaxVarintLen64]byte
	if c.edge {
		n[2] |= callEdge
	}
	for i := range n {
		for _, b := range binary.AppendVarint(room[:0], n[i]-l.written[i]) {
			l.bytes.Add(b)
		}
	}
	l.written = n
}

// answeredBy gives the response to the call that begins in the line.
func (l *codexCalls) answeredBy(line int) {
	if l.response == "" {
		return
	}
	if l.responses == nil {
		l.responses = make(map[int]string)
	}
	l.responses[line] = l.response
}

// begins reports whether a call begins in the line. The caller must query lines in order.
func (l *codexCalls) begins(line int) bool {
	for !l.held || l.read[0] < int64(line) {
		if l.at == l.bytes.Len() {
			return false
		}
		for i := range l.read {
			l.read[i] += l.varint()
		}
		l.bytes.Forget(l.at)
		l.held = true
	}
	return l.read[0] == int64(line)
}

func (l *codexCalls) varint() int64 {
	n, err := binary.ReadVarint(l)
	if err != nil { // Add wrote complete calls
		panic(err)
	}
	return n
}

// ReadByte reads the next byte of the calls.
func (l *codexCalls) ReadByte() (byte, error) {
	b := *l.bytes.At(l.at)
	l.at++
	return b, nil
}

// take returns the call that begins in the line and removes it. take returns nil if no call
// begins there.
func (l *codexCalls) take(line int) *codexCall {
	if !l.begins(line) {
		return nil
	}
	l.held = false
	n := &l.read
	c := &codexCall{line: line, counted: int(n[1]), edge: n[2]&callEdge > 0}
	if n[1] > 0 {
		c.count = &codexCount{gap: n[2]&callGap > 0, window: n[3]}
		for i, p := range []*codexPacked{&c.count.tokens, &c.count.total, &c.count.own} {
			copy(p[:], n[4+i*len(p):])
		}
	}
	return c
}
