package pack

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// LineReader reads a file of the pack line by line in bounded memory.
type LineReader struct {
	file  io.ReadCloser
	from  *bufio.Reader
	most  int
	long  []byte // a line longer than the buffer
	count int64
}

// Lines opens a file for reading lines of at most [Limits.Line] bytes. Errors are the errors of
// [Reader.Open].
func (r *Reader) Lines(path string) (*LineReader, error) {
	file, err := r.Open(path)
	if err != nil {
		return nil, err
	}
	return &LineReader{file: file, from: bufio.NewReaderSize(file, 64<<10), most: r.limits.Line}, nil
}

// Next returns the next line with its line feed, valid until the next call. The last line of a file
// can be without line feed. The error is [io.EOF] at the end, and otherwise a read error.
func (l *LineReader) Next() ([]byte, error) {
	l.count++
	line, err := l.from.ReadSlice('\n')
	if err == nil {
		return line, nil
	}
	l.long = append(l.long[:0], line...)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(l.long) > l.most {
			return nil, fmt.Errorf("a line of more than %d bytes", l.most)
		}
		line, err = l.from.ReadSlice('\n')
		l.long = append(l.long, line...)
	}
	if err == io.EOF && len(l.long) > 0 {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return l.long, nil
}

// Number returns the number of the last returned line, from 1.
func (l *LineReader) Number() int64 { return l.count }

// Close closes the file.
func (l *LineReader) Close() error { return l.file.Close() }
