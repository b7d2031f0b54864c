package importer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// document is one JSON value of a log, read element by element: it may be as
// large as the file. Of what is read only one element is in memory.
//
//	file ──▶ lineSource or whole file ──▶ guard ──▶ jsontext.Decoder
//	                                     UTF-8, size of an element
type document struct {
	number int // of the document in the file, from 0
	line   int // that it begins at, 0 where the file is one document
	dec    *jsontext.Decoder
	guard  *guard
}

// errElementTooLarge stands for an element that is larger than the limit.
var errElementTooLarge = errors.New("element too large")

// members calls each for every member of the object that comes next, which
// must read or skip the value. It returns false when the next value is no
// object.
func (d *document) members(each func(name string) error) (bool, error) {
	if d.dec.PeekKind() != '{' {
		return false, d.dec.SkipValue()
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return true, err
	}
	for d.dec.PeekKind() != '}' {
		name, err := d.dec.ReadToken()
		if err != nil {
			return true, err
		}
		if err := each(name.String()); err != nil {
			return true, err
		}
	}
	_, err := d.dec.ReadToken()
	return true, err
}

// elements calls each for every element of the array that comes next. The
// value is valid until each returns.
func (d *document) elements(each func(n int, value jsontext.Value) error) error {
	if d.dec.PeekKind() != '[' {
		return d.dec.SkipValue()
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	for n := 0; d.dec.PeekKind() != ']'; n++ {
		value, err := d.dec.ReadValue()
		if err != nil {
			return err
		}
		if err := each(n, value); err != nil {
			return err
		}
	}
	_, err := d.dec.ReadToken()
	return err
}

// value reads the next value into into. One of another form is left out.
func (d *document) value(into any) error {
	value, err := d.dec.ReadValue()
	if err != nil {
		return err
	}
	_ = json.Unmarshal(value, into, streamed) // what is of another form stays empty
	return nil
}

// problem says what ended the document early, nil for an error that is not the
// document's.
func (d *document) problem(err error) *lineError {
	var syntactic *jsontext.SyntacticError
	at := fmt.Sprintf("at byte %d of the document", d.dec.InputOffset())
	switch {
	case errors.Is(err, errElementTooLarge):
		return &lineError{ReasonLineTooLong, at + " an element is larger than the limit"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &lineError{ReasonTruncatedLine, at + " the log ends in the middle of a value; what stands before it is imported"}
	case errors.As(err, &syntactic):
		found := syntaxError(syntactic, false).(*lineError)
		return &lineError{found.reason, at + "; what stands before it is imported"}
	}
	return nil
}

// guard watches what a decoder is given.
type guard struct {
	r        io.Reader
	ctx      context.Context
	dec      *jsontext.Decoder
	limit    int64
	given    int64
	progress func(n int)
	rest     []byte // the start of a character
	invalid  bool   // the text is not UTF-8
}

func (g *guard) Read(p []byte) (int, error) {
	if err := g.ctx.Err(); err != nil {
		return 0, err
	}
	if g.dec != nil && g.given-g.dec.InputOffset() > g.limit {
		return 0, errElementTooLarge
	}
	n, err := g.r.Read(p)
	g.given += int64(n)
	g.progress(n)
	if !g.invalid {
		g.check(p[:n], err == io.EOF)
	}
	return n, err
}

// check looks for bytes that are not UTF-8, also over the end of a read.
func (g *guard) check(p []byte, last bool) {
	for len(g.rest) > 0 && len(p) > 0 && !utf8.FullRune(g.rest) {
		g.rest, p = append(g.rest, p[0]), p[1:]
	}
	if len(g.rest) > 0 && (utf8.FullRune(g.rest) || last) {
		g.invalid, g.rest = !utf8.Valid(g.rest), nil
	}
	end := len(p)
	for back := 1; back < utf8.UTFMax && back <= len(p); back++ {
		if c := p[len(p)-back]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-back:]) {
				end = len(p) - back
			}
			break
		}
	}
	g.invalid = g.invalid || !utf8.Valid(p[:end]) || last && end < len(p)
	g.rest = append(g.rest, p[end:]...)
}

// lineSource gives what is left of one line of r.
type lineSource struct {
	r    *bufio.Reader
	done bool
}

func (s *lineSource) Read(p []byte) (int, error) {
	if s.done || len(p) == 0 {
		return 0, io.EOF
	}
	if _, err := s.r.Peek(1); err != nil {
		s.done = true
		return 0, err
	}
	buffered, _ := s.r.Peek(s.r.Buffered())
	if end := bytes.IndexByte(buffered, '\n'); end >= 0 && end <= len(p) {
		copy(p, buffered[:end])
		_, _ = s.r.Discard(end + 1)
		s.done = true
		return end, io.EOF
	}
	n := copy(p, buffered)
	_, _ = s.r.Discard(n)
	return n, nil
}

// isSpread reports whether a log that begins with head is one document over
// several lines, rather than one a line. A line that is a whole document, with
// something behind it, is one of several.
func isSpread(head []byte) bool {
	first, rest, _ := bytes.Cut(bytes.TrimSpace(bytes.TrimPrefix(head, byteOrderMark)), []byte("\n"))
	first = bytes.TrimRight(first, " \t\r")
	if len(rest) > 0 && jsontext.Value(first).IsValid(streamed) {
		return false
	}
	return len(first) > 0 && (first[0] == '[' || string(first) == "{" || len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t'))
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// eachDocument calls each for every document of r. each reads as much of it as
// it needs. What is wrong with a document is a problem where report says so,
// and the next one is read.
func (w *writer) eachDocument(ctx context.Context, r io.Reader, report bool, progress func(n int), each func(d *document) error) error {
	lines := readers.Get().(*bufio.Reader)
	lines.Reset(r)
	defer giveBack(lines)
	head, _ := lines.Peek(sniffBytes)
	if bytes.HasPrefix(head, byteOrderMark) {
		_, _ = lines.Discard(len(byteOrderMark))
	}
	spread := isSpread(head)
	number := 0
	for line := 1; ; line++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := lines.Peek(1); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read %s: %w", w.file, err)
		}
		source := &lineSource{r: lines}
		g := &guard{r: source, ctx: ctx, limit: int64(w.opts.maxLineBytes()), progress: progress}
		d := &document{number: number, line: line, guard: g}
		if spread {
			g.r, d.line = lines, 0
		}
		if w.dec == nil {
			w.dec = jsontext.NewDecoder(g, streamed)
		} else { // its buffer is used again
			w.dec.Reset(g, streamed)
		}
		d.dec, g.dec = w.dec, w.dec
		err := w.document(d, report, each)
		if err != nil {
			return err
		}
		if d.dec.InputOffset() > 0 {
			number++
		}
		if _, err := io.Copy(io.Discard, g.r); err != nil {
			return fmt.Errorf("read %s: %w", w.file, err)
		}
	}
}

// document reads one document. The error is not the document's.
func (w *writer) document(d *document, report bool, each func(d *document) error) error {
	kind := d.dec.PeekKind()
	if kind == 0 {
		if _, err := d.dec.ReadToken(); errors.Is(err, io.EOF) {
			return nil // a line of white space
		} else if problem := d.problem(err); problem == nil {
			return fmt.Errorf("read %s: %w", w.file, err)
		} else if report {
			w.report.Lines += min(d.line, 1)
			w.problem(d.line, problem)
		}
		return nil
	}
	if report {
		w.report.Lines += min(d.line, 1)
	}
	err := each(d)
	if err == nil { // a document ends where its line does
		if _, err = d.dec.ReadToken(); errors.Is(err, io.EOF) {
			err = nil
		} else if err == nil {
			err = &jsontext.SyntacticError{ByteOffset: d.dec.InputOffset(), Err: errTrailing}
		}
	}
	if report && d.guard.invalid {
		w.problem(d.line, &lineError{ReasonInvalidUTF8, "bytes that are not UTF-8 are read as U+FFFD; the rest is imported"})
	}
	if err == nil || w.failed != nil {
		return w.failed
	}
	problem := d.problem(err)
	if problem == nil {
		return fmt.Errorf("read %s: %w", w.file, err)
	}
	if report {
		w.problem(d.line, problem)
	}
	return nil
}

var errTrailing = errors.New("text after the value")

// twiceDocuments reads a log of documents two times, as [writer.twice] does.
func (w *writer) twiceDocuments(ctx context.Context, r io.ReadSeeker, index, facts func(d *document) error) error {
	size, ok, err := w.sizeOf(r)
	if err != nil || !ok {
		return err
	}
	progress := newProgress(w.opts.Progress, 2*size)
	var read int64
	count := func(n int) { read += int64(n); progress.at(read) }
	if err := w.eachDocument(ctx, io.LimitReader(r, size), false, count, index); err != nil {
		return err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read %s again: %w", w.file, err)
	}
	if err := w.eachDocument(ctx, io.LimitReader(r, size), true, count, facts); err != nil {
		return err
	}
	progress.done()
	return nil
}

// each calls read for every element of the array that comes next, which reads
// the element itself.
func (d *document) each(read func() error) error {
	if d.dec.PeekKind() != '[' {
		return d.dec.SkipValue()
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return err
	}
	for d.dec.PeekKind() != ']' {
		if err := read(); err != nil {
			return err
		}
	}
	_, err := d.dec.ReadToken()
	return err
}
