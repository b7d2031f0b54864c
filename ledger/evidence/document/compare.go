package document

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// Difference is a place where a file differs from its derivation.
type Difference struct {
	File string
	Line int // from 1
	// Log and LogIndex name the current record at the difference. Log and LogIndex are meaningless
	// if Outside is true.
	Log      int
	LogIndex int64
	Outside  bool // the bytes belong to no record, but are in front of the first or behind the last
	Problem  string
}

// String returns the place and the problem.
func (d Difference) String() string {
	if d.Outside {
		return fmt.Sprintf("%s line %d: %s", d.File, d.Line, d.Problem)
	}
	return fmt.Sprintf("%s line %d, record %d: %s", d.File, d.Line, d.LogIndex, d.Problem)
}

// Comparer derives the documents of a pack again and compares them with the pack's files. Comparer
// reads the files in parallel with the derivation, with one buffer per part, and writes nothing.
type Comparer struct {
	builder *Builder
	log     int
	index   int64
	closing bool
	streams []*stream
	found   []Difference
}

// NewComparer opens the files of a pack. A missing file is a difference. The error is that of
// [New].
func NewComparer(files fs.FS, h pack.Header) (*Comparer, error) {
	c := &Comparer{}
	offsets := make(map[string][]place)
	for _, q := range parts {
		if q.boundary != "" {
			offsets[q.File] = append(offsets[q.File], place{})
		}
	}
	for file := range offsets {
		offsets[file] = boundaries(files, file)
	}
	var err error
	c.builder, err = New(h, func(q Part) io.Writer {
		s := &stream{of: c, part: q, line: 1}
		c.streams = append(c.streams, s)
		s.open(files, offsets[q.File])
		return s
	})
	return c, err
}

// Add adds the next record.
func (c *Comparer) Add(log int, r *pack.Record) error { return c.AddRead(log, Read(r)) }

// AddRead is [Comparer.Add] for a record that [Read] has read.
func (c *Comparer) AddRead(log int, read *Reading) error {
	c.log, c.index = log, read.Record.LogIndex
	return c.builder.AddRead(log, read)
}

// Close ends the comparison and returns the first difference of each part.
func (c *Comparer) Close() (Summary, []Difference, error) {
	c.closing = true
	s, err := c.builder.Close()
	for _, s := range c.streams {
		s.close()
	}
	return s, c.found, err
}

// place is the beginning of a part.
type place struct {
	offset int64
	line   int // line number at the offset
	found  bool
}

// boundaries finds the beginnings of the parts in a file. A part begins at the line break in front
// of its [Boundary].
func boundaries(files fs.FS, file string) []place {
	var want []string
	for _, q := range parts {
		if q.File == file && q.boundary != "" {
			want = append(want, q.boundary)
		}
	}
	places := make([]place, len(want))
	f, err := files.Open(file)
	if err != nil {
		return places
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<16)
	var at int64
	next, whole := 0, true // whole: the slice begins at the beginning of a line
	for lines := 1; next < len(want); {
		text, err := in.ReadSlice('\n')
		if whole && string(bytes.TrimSuffix(text, []byte("\n"))) == want[next] {
			places[next] = place{at - 1, lines - 1, true}
			next++
		}
		at += int64(len(text))
		whole = err == nil
		if whole {
			lines++
		} else if !errors.Is(err, bufio.ErrBufferFull) {
			return places
		}
	}
	return places
}

// stream compares written bytes with a part of a file.
type stream struct {
	of    *Comparer
	part  Part
	file  fs.File
	in    *bufio.Reader
	line  int
	limit int64 // remaining bytes of the part
	done  bool  // a difference was found
}

// open seeks to the beginning of the part.
func (s *stream) open(files fs.FS, places []place) {
	var err error
	if s.file, err = files.Open(s.part.File); err != nil {
		s.differs("the file is missing")
		return
	}
	s.limit = 1<<63 - 1
	var begin int64
	if s.part.Index > 0 {
		p := places[s.part.Index-1]
		if !p.found {
			s.differs(fmt.Sprintf("the line %s is missing", Boundary(s.part)))
			return
		}
		begin, s.line = p.offset, p.line
	}
	if s.part.Index < len(places) && places[s.part.Index].found {
		s.limit = places[s.part.Index].offset - begin
	}
	if seeker, ok := s.file.(io.Seeker); ok {
		_, err = seeker.Seek(begin, io.SeekStart)
	} else {
		_, err = io.CopyN(io.Discard, s.file, begin)
	}
	if err != nil {
		s.differs("the file cannot be read")
		return
	}
	s.in = bufio.NewReaderSize(s.file, 1<<15)
}

// Write compares text with the next bytes of the part.
func (s *stream) Write(text []byte) (int, error) {
	n := len(text)
	for len(text) > 0 && !s.done {
		want := text[:min(len(text), 1<<14)]
		got, err := s.in.Peek(int(min(int64(len(want)), s.limit)))
		if bytes.Equal(got, want) {
			s.line += bytes.Count(got, []byte("\n"))
			s.limit -= int64(len(got))
			_, _ = s.in.Discard(len(got)) // cannot fail after Peek
			text = text[len(want):]
			continue
		}
		same := 0
		for same < len(got) && got[same] == want[same] {
			same++
		}
		s.line += bytes.Count(got[:same], []byte("\n"))
		switch {
		case same < len(got):
			s.differs("this differs from the derived document")
		case err == nil || errors.Is(err, io.EOF):
			s.differs("the file ends before the end of the derived document")
		default:
			s.differs("the file cannot be read")
		}
	}
	return n, nil
}

func (s *stream) differs(problem string) {
	s.done = true
	s.of.found = append(s.of.found, Difference{
		File: s.part.File, Line: s.line, Log: s.of.log, LogIndex: s.of.index, Outside: s.of.closing || s.of.builder == nil, Problem: problem,
	})
}

// close checks that no bytes follow the compared ones.
func (s *stream) close() {
	if s.file == nil {
		return
	}
	if !s.done && s.limit > 0 {
		if rest, _ := s.in.Peek(1); len(rest) > 0 {
			s.differs("the file has more bytes than the derived document")
		}
	}
	_ = s.file.Close() // opened for reading only
}
