package redact

import (
	"encoding/binary"
	"strings"
)

// index finds any of many patterns in one pass over a text. index looks up the first four
// bytes at each position in a bit set. If the bit is set, it compares the patterns.
type index struct {
	maybe  [1 << 10]uint64      // 65,536 bits, by a hash of four bytes
	byHead map[uint32][]pattern // by the first four bytes
	short  []pattern            // shorter than four bytes
}

const headLen = 4

func newIndex(patterns []pattern) *index {
	x := &index{byHead: map[uint32][]pattern{}}
	for _, p := range patterns {
		if len(p.text) < headLen {
			x.short = append(x.short, p)
			continue
		}
		head := binary.LittleEndian.Uint32([]byte(p.text))
		x.byHead[head] = append(x.byHead[head], p)
		bit := headHash(head)
		x.maybe[bit/64] |= 1 << (bit % 64)
	}
	return x
}

func headHash(head uint32) uint32 { return head * 0x9E3779B1 >> 16 }

// scan calls found for every occurrence of every pattern.
func (x *index) scan(text string, found func(p pattern, start int)) {
	for _, p := range x.short {
		for from := 0; ; {
			i := strings.Index(text[from:], p.text)
			if i < 0 {
				break
			}
			found(p, from+i)
			from += i + len(p.text)
		}
	}
	if len(text) < headLen || len(x.byHead) == 0 {
		return
	}
	head := uint32(text[0])<<8 | uint32(text[1])<<16 | uint32(text[2])<<24
	for i := headLen - 1; i < len(text); i++ {
		head = head>>8 | uint32(text[i])<<24
		bit := headHash(head)
		if x.maybe[bit/64]&(1<<(bit%64)) == 0 {
			continue
		}
		start := i - headLen + 1
		for _, p := range x.byHead[head] {
			if strings.HasPrefix(text[start:], p.text) {
				found(p, start)
			}
		}
	}
}
