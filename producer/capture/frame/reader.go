package frame

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// MaxMessageBytes is the largest message that is read, as it is sent and after it is inflated.
const MaxMessageBytes = 64 << 20

// Errors of [Reader.Write]. The rest of the direction cannot be read.
var (
	// ErrFrame means that the bytes are no frames of the protocol.
	ErrFrame = errors.New("the bytes are no WebSocket frames")
	// ErrMessage means that a message cannot be inflated, or is larger than MaxMessageBytes.
	ErrMessage = errors.New("a WebSocket message cannot be read")
)

// Opcodes of frames.
const (
	continuation = 0
	text         = 1
	binaryData   = 2
	closing      = 8
	pong         = 10
)

const (
	maxHeader  = 14  // bytes
	maxControl = 125 // payload bytes of a control frame
)

// Reader reads the messages of one direction. The zero value reads messages that are not
// compressed and drops them. A Reader is for one goroutine at a time.
type Reader struct {
	message func([]byte)
	inflate *inflater // nil if the sides did not agree on compression

	header     []byte // of the frame that is not complete yet
	left       uint64 // payload bytes of the current frame that are to come
	now        head
	at         int    // payload bytes of the current frame that came
	body       []byte // of the current message
	open       bool   // a message began and has no last frame yet
	compressed bool
	err        error
}

// head is the header of a frame.
type head struct {
	last, compressed bool
	opcode           byte
	masked           bool
	mask             [4]byte
}

// NewReader returns a reader that gives each complete message to the function, text and binary
// alike. The bytes are valid until the function returns.
func NewReader(deflate Deflate, message func([]byte)) *Reader {
	r := &Reader{message: message}
	if deflate.On {
		r.inflate = &inflater{takeover: deflate.Takeover}
	}
	return r
}

// Write reads the next bytes. After an error every call returns the same error.
func (r *Reader) Write(p []byte) (int, error) {
	rest := p
	for r.err == nil && len(rest) > 0 {
		if r.left > 0 {
			n := int(min(r.left, uint64(len(rest))))
			r.payload(rest[:n])
			rest = rest[n:]
			r.left -= uint64(n)
			if r.left == 0 {
				r.endFrame()
			}
			continue
		}
		r.header = append(r.header, rest[0])
		rest = rest[1:]
		if len(r.header) == headerSize(r.header) {
			r.beginFrame()
			r.header = r.header[:0]
		}
	}
	if r.err != nil {
		r.body = nil
		return 0, r.err
	}
	return len(p), nil
}

// headerSize returns the size of a header that begins with these bytes.
func headerSize(begin []byte) int {
	if len(begin) < 2 {
		return maxHeader
	}
	size := 2
	switch begin[1] & 0x7f {
	case 126:
		size += 2
	case 127:
		size += 8
	}
	if begin[1]&0x80 != 0 {
		size += 4
	}
	return size
}

// beginFrame reads a header.
func (r *Reader) beginFrame() {
	h := r.header
	f := head{last: h[0]&0x80 != 0, compressed: h[0]&0x40 != 0, opcode: h[0] & 0xf, masked: h[1]&0x80 != 0}
	r.left, r.at = uint64(h[1]&0x7f), 0
	switch r.left {
	case 126:
		r.left = uint64(binary.BigEndian.Uint16(h[2:]))
	case 127:
		r.left = binary.BigEndian.Uint64(h[2:])
	}
	if f.masked {
		copy(f.mask[:], h[len(h)-4:])
	}
	control := f.opcode >= closing
	switch {
	case h[0]&0x30 != 0, f.opcode > pong, !control && f.opcode > binaryData, r.left>>63 != 0:
		r.err = ErrFrame
	case control && (!f.last || f.compressed || r.left > maxControl):
		r.err = ErrFrame
	case f.compressed && (r.inflate == nil || f.opcode == continuation):
		r.err = ErrFrame
	case !control && r.open != (f.opcode == continuation):
		r.err = ErrFrame
	case !control && r.left > uint64(MaxMessageBytes-len(r.body)):
		r.err = fmt.Errorf("%w: more than %d bytes", ErrMessage, MaxMessageBytes)
	}
	if r.err != nil {
		return
	}
	if r.now = f; !control && f.opcode != continuation {
		r.open, r.compressed = true, f.compressed
	}
	if r.left == 0 {
		r.endFrame()
	}
}

// payload keeps bytes of the current frame.
func (r *Reader) payload(p []byte) {
	if r.now.opcode >= closing {
		return
	}
	from := len(r.body)
	r.body = append(r.body, p...)
	if r.now.masked {
		unmask(r.body[from:], r.now.mask, r.at)
	}
	r.at += len(p)
}

// unmask removes the mask. at is the place of the first byte in the payload.
func unmask(p []byte, mask [4]byte, at int) {
	var key [8]byte
	for i := range key {
		key[i] = mask[(at+i)&3]
	}
	word := binary.LittleEndian.Uint64(key[:])
	for ; len(p) >= 8; p = p[8:] {
		binary.LittleEndian.PutUint64(p, binary.LittleEndian.Uint64(p)^word)
	}
	for i := range p {
		p[i] ^= key[i]
	}
}

// endFrame ends a frame, and with the last one the message.
func (r *Reader) endFrame() {
	if r.now.opcode >= closing || !r.now.last {
		return
	}
	message := r.body
	if r.compressed {
		if message, r.err = r.inflate.message(message); r.err != nil {
			return
		}
	}
	r.open = false
	if r.message != nil {
		r.message(message)
	}
	if r.body = r.body[:0]; cap(r.body) > mostKept {
		r.body = nil
	}
}

// mostKept is the size of a buffer that is used again.
const mostKept = 1 << 20
