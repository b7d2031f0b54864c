package model

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Document is one JSON value of a log, read element by element. A document can be as large as the
// file. Only one element is in memory at a time.
//
//	file ──▶ lineSource or whole file ──▶ guard ──▶ jsontext.Decoder
//	                                     UTF-8, size of an element
type Document struct {
	Number int // of the document in the file, from 0
	Line   int // first line of the document, 0 where the file is one document
	Dec    *jsontext.Decoder
	guard  *guard
}

// errElementTooLarge is the error for an element over the size limit.
var errElementTooLarge = errors.New("element too large")

// Members calls each for every member of the next object. The function each must read or skip the
// value. Members returns false when the next value is not an object.
func (d *Document) Members(each func(name string) error) (bool, error) {
	if d.Dec.PeekKind() != '{' {
		return false, d.Dec.SkipValue()
	}
	if _, err := d.Dec.ReadToken(); err != nil {
		return true, err
	}
	for d.Dec.PeekKind() != '}' {
		name, err := d.Dec.ReadToken()
		if err != nil {
			return true, err
		}
		if err := each(name.String()); err != nil {
			return true, err
		}
	}
	_, err := d.Dec.ReadToken()
	return true, err
}

// Elements calls each for every element of the next array. The value is valid until each returns.
func (d *Document) Elements(each func(n int, value jsontext.Value) error) error {
	if d.Dec.PeekKind() != '[' {
		return d.Dec.SkipValue()
	}
	if _, err := d.Dec.ReadToken(); err != nil {
		return err
	}
	for n := 0; d.Dec.PeekKind() != ']'; n++ {
		value, err := d.Dec.ReadValue()
		if err != nil {
			return err
		}
		if err := each(n, value); err != nil {
			return err
		}
	}
	_, err := d.Dec.ReadToken()
	return err
}

// Value reads the next value into into. A value of another form is ignored.
func (d *Document) Value(into any) error {
	value, err := d.Dec.ReadValue()
	if err != nil {
		return err
	}
	_ = json.Unmarshal(value, into, jsonscan.Streamed) // a value of another form leaves into empty
	return nil
}

// problem returns the reason why the document ended early. problem returns nil for an error that
// is not an error of the document.
func (d *Document) problem(err error) *LineError {
	var syntactic *jsontext.SyntacticError
	at := fmt.Sprintf("at byte %d of the document", d.Dec.InputOffset())
	switch {
	case errors.Is(err, errElementTooLarge):
		return NewLineError(ReasonLineTooLong, at+" an element is larger than the limit")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return NewLineError(ReasonTruncatedLine, at+" the log ends in the middle of a value; the part before it is imported")
	case errors.As(err, &syntactic):
		found := SyntaxError(syntactic, false).(*LineError)
		return NewLineError(found.reason, at+"; the part before it is imported")
	}
	return nil
}

// guard checks the bytes on their way to a decoder.
type guard struct {
	r        io.Reader
	ctx      context.Context
	dec      *jsontext.Decoder
	limit    int64
	given    int64
	progress func(n int)
	rest     []byte // the first bytes of a character
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

// check looks for bytes that are not UTF-8. A character can be split over two reads.
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

// LineSource reads the rest of one line of r.
type LineSource struct {
	R    *bufio.Reader
	done bool
}

func (s *LineSource) Read(p []byte) (int, error) {
	if s.done || len(p) == 0 {
		return 0, io.EOF
	}
	if _, err := s.R.Peek(1); err != nil {
		s.done = true
		return 0, err
	}
	buffered, _ := s.R.Peek(s.R.Buffered())
	if end := bytes.IndexByte(buffered, '\n'); end >= 0 && end <= len(p) {
		copy(p, buffered[:end])
		_, _ = s.R.Discard(end + 1)
		s.done = true
		return end, io.EOF
	}
	n := copy(p, buffered)
	_, _ = s.R.Discard(n)
	return n, nil
}

// IsSpread reports whether a log that begins with head is one document over several lines. The
// other kind has one document per line. A first line that is a complete document, with text after
// it, is of the other kind.
func IsSpread(head []byte) bool {
	first, rest, _ := bytes.Cut(bytes.TrimSpace(bytes.TrimPrefix(head, ByteOrderMark)), []byte("\n"))
	first = bytes.TrimRight(first, " \t\r")
	if len(rest) > 0 && jsontext.Value(first).IsValid(jsonscan.Streamed) {
		return false
	}
	return len(first) > 0 && (first[0] == '[' || string(first) == "{" || len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t'))
}

var ByteOrderMark = []byte("\xef\xbb\xbf")

// eachDocument calls each for every document of r. The function each reads as much of the
// document as it needs. An error in a document is a problem if report is set, and the next
// document is read.
func (w *Writer) eachDocument(ctx context.Context, r io.Reader, report bool, progress func(n int), each func(d *Document) error) error {
	lines := readers.Get().(*bufio.Reader)
	lines.Reset(r)
	defer giveBack(lines)
	head, _ := lines.Peek(SniffBytes)
	if bytes.HasPrefix(head, ByteOrderMark) {
		_, _ = lines.Discard(len(ByteOrderMark))
	}
	spread := IsSpread(head)
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
		source := &LineSource{R: lines}
		g := &guard{r: source, ctx: ctx, limit: int64(w.Opts.maxLineBytes()), progress: progress}
		d := &Document{Number: number, Line: line, guard: g}
		if spread {
			g.r, d.Line = lines, 0
		}
		if w.dec == nil {
			w.dec = jsontext.NewDecoder(g, jsonscan.Streamed)
		} else { // the next document reuses the buffer
			w.dec.Reset(g, jsonscan.Streamed)
		}
		d.Dec, g.dec = w.dec, w.dec
		err := w.document(d, report, each)
		if err != nil {
			return err
		}
		if d.Dec.InputOffset() > 0 {
			number++
		}
		if _, err := io.Copy(io.Discard, g.r); err != nil {
			return fmt.Errorf("read %s: %w", w.file, err)
		}
	}
}

// document reads one document. Errors of the document are problems; the returned error is of the
// reader, of each or of ctx.
func (w *Writer) document(d *Document, report bool, each func(d *Document) error) error {
	kind := d.Dec.PeekKind()
	if kind == 0 {
		if _, err := d.Dec.ReadToken(); errors.Is(err, io.EOF) {
			return nil // a line of white space
		} else if problem := d.problem(err); problem == nil {
			return fmt.Errorf("read %s: %w", w.file, err)
		} else if report {
			w.Report.Lines += min(d.Line, 1)
			w.Problem(d.Line, problem)
		}
		return nil
	}
	if report {
		w.Report.Lines += min(d.Line, 1)
	}
	err := each(d)
	if err == nil { // a document ends at the end of its line
		if _, err = d.Dec.ReadToken(); errors.Is(err, io.EOF) {
			err = nil
		} else if err == nil {
			err = &jsontext.SyntacticError{ByteOffset: d.Dec.InputOffset(), Err: errTrailing}
		}
	}
	if report && d.guard.invalid {
		w.Problem(d.Line, NewLineError(ReasonInvalidUTF8, "bytes that are not UTF-8 are read as U+FFFD; the other text is imported"))
	}
	if err == nil || w.Failed != nil {
		return w.Failed
	}
	problem := d.problem(err)
	if problem == nil {
		return fmt.Errorf("read %s: %w", w.file, err)
	}
	if report {
		w.Problem(d.Line, problem)
	}
	return nil
}

var errTrailing = errors.New("text after the value")

// TwiceDocuments reads a log of documents twice, like [Writer.Twice].
func (w *Writer) TwiceDocuments(ctx context.Context, r io.ReadSeeker, index, facts func(d *Document) error) error {
	size, ok, err := w.sizeOf(r)
	if err != nil || !ok {
		return err
	}
	progress := newProgress(w.Opts.Progress, 2*size)
	var read int64
	count := func(n int) { read += int64(n); progress.At(read) }
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

// Each calls read for every element of the next array. The function read reads the element.
func (d *Document) Each(read func() error) error {
	if d.Dec.PeekKind() != '[' {
		return d.Dec.SkipValue()
	}
	if _, err := d.Dec.ReadToken(); err != nil {
		return err
	}
	for d.Dec.PeekKind() != ']' {
		if err := read(); err != nil {
			return err
		}
	}
	_, err := d.Dec.ReadToken()
	return err
}
