package model

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// eachLine calls each for every line of r, in order. A line that is too long is skipped; if
// report is set, the line is a problem. eachLine returns the number of bytes that were read.
func (w *Writer) eachLine(ctx context.Context, r io.Reader, report bool, progress func(int64), each func(line []byte, number int, last bool) error) (int64, error) {
	lines := newLineReader(r, w.Opts.maxLineBytes())
	lines.buf = w.line
	defer func() { w.line = lines.buf; lines.close() }()
	for {
		if err := ctx.Err(); err != nil {
			return lines.read, err
		}
		line, err := lines.Next()
		progress(lines.read)
		switch {
		case errors.Is(err, io.EOF):
			return lines.read, nil
		case err == errLineTooLong:
			if report {
				w.Report.Lines++
				w.Problem(lines.number, NewLineError(ReasonLineTooLong, fmt.Sprintf("longer than %d bytes", w.Opts.maxLineBytes())))
			}
			continue
		case err != nil:
			return lines.read, fmt.Errorf("read %s: %w", w.file, err)
		}
		if report {
			w.Report.Lines++
		}
		if err := each(line, lines.number, !lines.terminated); err != nil {
			return lines.read, err
		}
	}
}

// Twice reads a log of lines twice. The first pass, index, collects values that the second pass,
// facts, needs in advance. Lines that are appended meanwhile are left for the next import.
func (w *Writer) Twice(ctx context.Context, r io.ReadSeeker, index, facts func(line []byte, number int, last bool) error) error {
	size, ok, err := w.sizeOf(r)
	if err != nil || !ok {
		return err
	}
	progress := newProgress(w.Opts.Progress, 2*size)
	read, err := w.eachLine(ctx, r, false, progress.At, index)
	if err != nil {
		return err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read %s again: %w", w.file, err)
	}
	if _, err = w.eachLine(ctx, io.LimitReader(r, read), true, func(n int64) { progress.At(size + n) }, facts); err != nil {
		return err
	}
	progress.done()
	return nil
}
