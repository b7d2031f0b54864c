package ui

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// ErrLineTooLong is yielded in place of a line that is longer than the limit.
var ErrLineTooLong = errors.New("the line is too long")

// ReadLines calls line with every line of r, numbered from 1 and without its end,
// until line returns an error. A line longer than limit bytes is nil, with
// ErrLineTooLong. The slice is valid until line returns.
func ReadLines(r io.Reader, limit int, line func(n int, text []byte, err error) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var text []byte
	for n := 1; ; n++ {
		text = text[:0]
		tooLong := false
		var err error
		for {
			var part []byte
			part, err = in.ReadSlice('\n')
			if len(text)+len(part) > limit {
				tooLong = true
			} else {
				text = append(text, part...)
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				break
			}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		switch end := err != nil; {
		case tooLong:
			if err := line(n, nil, ErrLineTooLong); err != nil {
				return err
			}
		case !end || len(text) > 0:
			if err := line(n, bytes.TrimRight(text, "\r\n"), nil); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}
