package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// sniffBytes is how much of a file is looked at before it is read.
const sniffBytes = 64 << 10

// sizeOf returns the size of the log and leaves r at its start. ok is false,
// and a problem says why, for a file that cannot be a log.
func (w *writer) sizeOf(r io.ReadSeeker) (size int64, ok bool, err error) {
	if size, err = r.Seek(0, io.SeekEnd); err != nil {
		return 0, false, fmt.Errorf("find the end of %s: %w", w.file, err)
	}
	head, err := readHead(r, sniffBytes)
	switch {
	case err != nil:
		return 0, false, fmt.Errorf("read %s: %w", w.file, err)
	case size == 0:
		w.problem(0, &lineError{ReasonEmptyFile, ""})
		return 0, false, nil
	case bytes.IndexByte(head, 0) >= 0: // JSON text holds no NUL
		w.problem(0, &lineError{ReasonBinaryFile, "a session log is text"})
		return 0, false, nil
	}
	return size, true, nil
}

// readHead returns the first bytes of r and leaves r at its start.
func readHead(r io.ReadSeeker, n int) ([]byte, error) {
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
