package importer

import (
	"bufio"
	"errors"
	"io"
)

// errLineTooLong stands for a line that was skipped because of its length.
var errLineTooLong = errors.New("line too long")

const readBufferBytes = 256 << 10

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

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, readBufferBytes), limit: limit}
}

// next returns the next line without its newline, valid until the next call.
// The error is io.EOF after the last line, errLineTooLong for a line that was
// skipped, or the reader's.
func (l *lineReader) next() ([]byte, error) {
	if cap(l.buf) > 4*readBufferBytes {
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
