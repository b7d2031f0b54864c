package model

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"sync"
)

// errLineTooLong is the error for a line that was skipped because of its length.
var errLineTooLong = errors.New("line too long")

const (
	ReadBufferBytes = 256 << 10
	// keptLineBytes is the largest line buffer that is reused for the next lines. Logs hold
	// images of megabytes, often in consecutive lines.
	keptLineBytes = 16 << 20
)

// lineReader reads lines up to a length limit, which also limits its memory. A longer line is
// skipped.
type lineReader struct {
	r          *bufio.Reader
	limit      int
	number     int   // number of the line that Next returned, from 1
	read       int64 // bytes
	terminated bool  // whether the line ended with a newline
	buf        []byte
}

// newLineReader returns a reader. The caller must close it.
func newLineReader(r io.Reader, limit int) *lineReader {
	l := &lineReader{r: readers.Get().(*bufio.Reader), limit: limit}
	l.r.Reset(r)
	return l
}

func (l *lineReader) close() { giveBack(l.r) }

// readers holds the buffers for reading logs. A new buffer costs more than reading a small log.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, ReadBufferBytes) }}

func giveBack(r *bufio.Reader) {
	r.Reset(nil)
	readers.Put(r)
}

// Next returns the next line without its newline, valid until the next call. The error is io.EOF
// after the last line, errLineTooLong for a skipped line, or an error of the reader.
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
			if room := len(l.buf) + len(part); room > cap(l.buf) { // doubles the capacity, where append adds a quarter
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
