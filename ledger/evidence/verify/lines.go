package verify

import (
	"context"
	"io"
	"runtime"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/ledger/proof"
)

// untilDone reads until its context is done.
type untilDone struct {
	ctx  context.Context
	from io.Reader
}

func (u untilDone) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.from.Read(b)
}

// A line is a line of events.ndjson with the results that need no other line.
type line struct {
	number int64
	digest uint64 // [pack.LineDigest]
	record *pack.Record
	err    error     // parse error
	leaf   tlog.Hash // computed from the record's bytes, or the stated leaf of a record without bytes
	read   *document.Reading
}

// linesAtOnce and bytesAtOnce bound the size of a batch for a worker.
const (
	linesAtOnce = 256
	bytesAtOnce = 1 << 20
)

// batch is a series of lines: first their text, then the parsed records.
type batch struct {
	text  []byte
	ends  []int // end of each line in text
	first int64 // number of the first line
	lines []line
	err   error // the error that ended reading
	done  chan struct{}
}

// lineSource reads the lines of a file in order and parses them in parallel.
type lineSource struct {
	batches chan *batch
	now     *batch
	at      int
	err     error
	free    chan *batch
}

// readLines starts reading. The end of the context stops all its goroutines.
func readLines(ctx context.Context, from *pack.LineReader) *lineSource {
	workers := runtime.GOMAXPROCS(0)
	s := &lineSource{batches: make(chan *batch, 2*workers), free: make(chan *batch, 2*workers+2)}
	work := make(chan *batch, workers)
	for range workers {
		go func() {
			for b := range work {
				b.parse()
				close(b.done)
			}
		}()
	}
	go func() {
		defer close(s.batches)
		defer close(work)
		for next := int64(1); ; {
			b := s.empty(next)
			b.fill(from)
			next += int64(len(b.ends))
			select {
			case work <- b:
			case <-ctx.Done():
				return
			}
			select {
			case s.batches <- b:
			case <-ctx.Done():
				return
			}
			if b.err != nil {
				return
			}
		}
	}()
	return s
}

// empty returns an empty batch, a used one if possible.
func (s *lineSource) empty(first int64) *batch {
	var b *batch
	select {
	case b = <-s.free:
		clear(b.lines)
		b.text, b.ends, b.lines, b.err = b.text[:0], b.ends[:0], b.lines[:0], nil
	default:
		b = &batch{}
	}
	b.first, b.done = first, make(chan struct{})
	return b
}

func (b *batch) fill(from *pack.LineReader) {
	for len(b.ends) < linesAtOnce && len(b.text) < bytesAtOnce {
		text, err := from.Next()
		if err != nil {
			b.err = err
			return
		}
		b.text = append(b.text, text...)
		b.ends = append(b.ends, len(b.text))
	}
}

func (b *batch) parse() {
	from := 0
	for i, to := range b.ends {
		b.lines = append(b.lines, readLine(b.text[from:to], b.first+int64(i)))
		from = to
	}
}

func readLine(text []byte, number int64) line {
	l := line{number: number, digest: pack.LineDigest(text)}
	l.record, l.err = pack.ParseRecord(text)
	if l.err == nil && text[len(text)-1] != '\n' {
		l.err = io.ErrUnexpectedEOF
	}
	if l.err != nil {
		return l
	}
	l.leaf = l.record.Leaf
	if e := l.record.Event; e != nil {
		l.leaf = proof.Leaf(e, proof.Salt(l.record.Salt))
	}
	l.read = document.Read(l.record)
	return l
}

// next returns the next line, which the caller owns. At the end, next returns false, and err is the
// error that ended reading.
func (s *lineSource) next() (line, bool) {
	for s.now == nil || s.at == len(s.now.lines) {
		if s.now != nil {
			if s.err = s.now.err; s.err != nil {
				return line{}, false
			}
			select {
			case s.free <- s.now:
			default:
			}
		}
		b, ok := <-s.batches
		if !ok {
			return line{}, false
		}
		<-b.done
		s.now, s.at = b, 0
	}
	s.at++
	return s.now.lines[s.at-1], true
}
