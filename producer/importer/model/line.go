package model

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"sync"
)

// errLineTooLong stands for a line that was skipped because of its length.
var errLineTooLong = errors.New("line too long")

const (
	ReadBufferBytes = 256 << 10
	// keptLineBytes is the room for a line that the next ones get, too. Logs hold
	// images of megabytes, one line behind the other.
	keptLineBytes = 16 << 20
)

// lineReader reads lines of any length up to a limit. Memory is bounded by
// the limit; a longer line is skipped to its end.
type lineReader struct {
	r          *bufio.Reader
	limit      int
	number     int   // of the line that next returned, from 1
	read       int64 // bytes
	terminated bool  // whether that line ended with a newline
	buf        []byte
}

// newLineReader returns a reader that its user closes.
func newLineReader(r io.Reader, limit int) *lineReader {
	l := &lineReader{r: readers.Get().(*bufio.Reader), limit: limit}
	l.r.Reset(r)
	return l
}

func (l *lineReader) close() { giveBack(l.r) }

// readers have the buffers through which logs are read: to make one costs more
// than to read a small log.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, ReadBufferBytes) }}

func giveBack(r *bufio.Reader) {
	r.Reset(nil)
	readers.Put(r)
}

// Next returns the next line without its newline, valid until the next call.
// The error is io.EOF after the last line, errLineTooLong for a line that was
// skipped, or the reader's.
func (l *lineReader) Next() ([]byte, error) {
	if cap(l.buf) > keptLineBytes {
		l.buf = nil
	}
	l.buf = l.buf[:0]
	tooLong, started := false, false
	for {
		part, err := l.r.ReadSlice('\n')
		l.read += int64(len(part))
		if err == io.EOF && len(part) == 0 && !started {
			return nil, io.EOF
		}
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			return nil, err
		}
		l.terminated = err == nil
		if l.terminated {
			part = part[:len(part)-1]
		}
		if tooLong = tooLong || len(l.buf)+len(part) > l.limit; tooLong {
			l.buf = l.buf[:0]
		} else if !started && err != bufio.ErrBufferFull {
			l.number++
			return part, nil
		} else {
			if room := len(l.buf) + len(part); room > cap(l.buf) { // twice as much, where append adds a quarter
				l.buf = slices.Grow(l.buf, min(max(2*cap(l.buf), room), l.limit)-len(l.buf))
			}
			l.buf = append(l.buf, part...)
		}
		started = true
		if err == bufio.ErrBufferFull {
			continue
		}
		l.number++
		if tooLong {
			return nil, errLineTooLong
		}
		return l.buf, nil
	}
}
