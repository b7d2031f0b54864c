package gateway

import (
	"errors"
	"io"
	"sync/atomic"
)

// memory counts the bytes that requests under way take. Safe for concurrent use.
type memory struct {
	most int64
	used atomic.Int64
}

// A lease is the part of the memory that one request has taken. A lease is for one goroutine.
type lease struct {
	memory *memory
	taken  int64
}

var (
	errNoRoom   = errors.New("other requests take the memory")
	errTooLarge = errors.New("more bytes than the limit")
)

// take takes n bytes or returns errNoRoom.
func (l *lease) take(n int) error {
	if l.memory.used.Add(int64(n)) > l.memory.most {
		l.memory.used.Add(-int64(n))
		return errNoRoom
	}
	l.taken += int64(n)
	return nil
}

// release returns all bytes.
func (l *lease) release() {
	l.memory.used.Add(-l.taken)
	l.taken = 0
}

// readAll reads r to its end. The buffer grows as bytes arrive, so a declared length takes no
// memory. Errors are errTooLarge above most bytes, errNoRoom, and errors of r.
func (l *lease) readAll(r io.Reader, most int) ([]byte, error) {
	const first = 4 << 10
	var data []byte
	for {
		if len(data) == cap(data) {
			size := min(max(2*cap(data), first), most+1)
			if err := l.take(size - cap(data)); err != nil {
				return nil, err
			}
			grown := make([]byte, len(data), size)
			copy(grown, data)
			data = grown
		}
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case len(data) > most:
			return nil, errTooLarge
		case err == io.EOF:
			return data, nil
		case err != nil:
			return nil, err
		}
	}
}
