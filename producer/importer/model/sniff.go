package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// SniffBytes is the number of bytes that are examined before the file is read.
const SniffBytes = 64 << 10

// sizeOf returns the size of the log and leaves r at its start. For a file that cannot be a log,
// sizeOf reports a problem and ok is false.
func (w *Writer) sizeOf(r io.ReadSeeker) (size int64, ok bool, err error) {
	if size, err = r.Seek(0, io.SeekEnd); err != nil {
		return 0, false, fmt.Errorf("find the end of %s: %w", w.file, err)
	}
	head, err := ReadHead(r, SniffBytes)
	switch {
	case err != nil:
		return 0, false, fmt.Errorf("read %s: %w", w.file, err)
	case size == 0:
		w.Problem(0, NewLineError(ReasonEmptyFile, ""))
		return 0, false, nil
	case bytes.IndexByte(head, 0) >= 0: // JSON text has no NUL byte
		w.Problem(0, NewLineError(ReasonBinaryFile, "a session log is text"))
		return 0, false, nil
	}
	return size, true, nil
}

// ReadHead returns the first bytes of r and leaves r at its start.
func ReadHead(r io.ReadSeeker, n int) ([]byte, error) {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	head := make([]byte, n)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	_, err = r.Seek(0, io.SeekStart)
	return head[:n], err
}
