package evidence

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// files are the derived documents of a pack. The parts of a file are written concurrently. The
// first part goes to the file itself. The other parts go to temporary files, which finish appends
// to the file.
type files struct {
	leaks *leaks
	open  map[string]*sieve
	later []*laterPart
	err   error
}

// laterPart is a part that waits for the parts in front of it.
type laterPart struct {
	file  string
	spool *os.File
	w     *bufio.Writer
}

func newFiles(w *pack.Writer, l *leaks) (*files, error) {
	f := &files{leaks: l, open: make(map[string]*sieve)}
	for _, name := range document.Files() {
		to, err := w.Create(name)
		if err != nil {
			return nil, errors.Join(err, f.remove())
		}
		f.open[name] = buffered(name, to, l)
	}
	return f, nil
}

// part returns the writer of a part.
func (f *files) part(p document.Part) io.Writer {
	if p.Index == 0 {
		return f.open[p.File]
	}
	spool, err := os.CreateTemp("", "ctxledger-part-")
	if err != nil {
		f.err = errors.Join(f.err, fmt.Errorf("make a part of %s: %w", p.File, err))
		return io.Discard
	}
	part := &laterPart{p.File, spool, bufio.NewWriterSize(spool, 1<<15)}
	f.later = append(f.later, part)
	return part.w
}

// finish appends the later parts to their files and closes the files.
func (f *files) finish() error {
	for _, part := range f.later {
		if err := part.w.Flush(); err != nil {
			return fmt.Errorf("write %s: %w", part.file, err)
		}
		if _, err := part.spool.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("write %s: %w", part.file, err)
		}
		if _, err := io.Copy(f.open[part.file], part.spool); err != nil {
			return fmt.Errorf("write %s: %w", part.file, err)
		}
	}
	return f.close()
}

func (f *files) close() error {
	var err error
	for _, open := range f.open {
		err = errors.Join(err, open.Close())
	}
	clear(f.open)
	return err
}

// remove closes the open files and deletes the temporary ones. Repeated calls are allowed.
func (f *files) remove() error {
	err := f.close()
	for _, part := range f.later {
		err = errors.Join(err, part.spool.Close(), os.Remove(part.spool.Name()))
	}
	f.later = nil
	return err
}
