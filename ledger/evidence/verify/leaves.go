package verify

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// leafSource reads the leaves of all logs, one log after the other.
type leafSource struct {
	v       *verifier
	log     int // current log, from 1
	lines   *pack.LineReader
	missing map[int]bool // logs without readable leaves
	at      int64        // number of the last line
}

func (v *verifier) openLeaves() *leafSource {
	s := &leafSource{v: v, missing: make(map[int]bool)}
	for log := 1; log <= len(v.heads); log++ {
		if path := pack.LeavesFile(log); !v.pack.Has(path) {
			s.missing[log] = true
			v.found.faultf(Inclusion, path, 0, "is missing")
		}
	}
	return s
}

// next returns the next leaf of the log, or of the next log.
func (s *leafSource) next() (leaf, bool) {
	for {
		if s.lines == nil && !s.advance() {
			return leaf{}, false
		}
		if s.lines == nil {
			continue
		}
		text, err := s.lines.Next()
		if err != nil {
			if err != io.EOF {
				s.v.unreadable(pack.LeavesFile(s.log), s.lines.Number(), err)
			}
			s.close()
			continue
		}
		s.at = s.lines.Number()
		l := leaf{log: s.log, number: s.at}
		if l.LeafLine, l.err = pack.ParseLeafLine(text); l.err == nil && text[len(text)-1] != '\n' {
			l.err = io.ErrUnexpectedEOF
		}
		return l, true
	}
}

// advance opens the leaves of the next log with leaves, and reports whether there is a next log.
func (s *leafSource) advance() bool {
	if s.log == len(s.v.heads) {
		return false
	}
	s.log++
	lines, err := s.v.pack.Lines(pack.LeavesFile(s.log))
	if err == nil {
		s.lines = lines
	} else if !s.missing[s.log] {
		s.v.unreadable(pack.LeavesFile(s.log), 0, err)
	}
	return true
}

func (s *leafSource) close() {
	if s.lines != nil {
		_ = s.lines.Close() // opened for reading only
		s.lines = nil
	}
}

// errHashLine means that a line of a proof is not a hash.
var errHashLine = errors.New("not a hash")

// hashSource reads the hashes of a multiproof.
type hashSource struct{ lines *pack.LineReader }

func (v *verifier) openHashes(log int) *hashSource {
	lines, err := v.pack.Lines(pack.HashesFile(log))
	if err != nil {
		v.unreadable(pack.HashesFile(log), 0, err)
		v.found.faultf(Inclusion, pack.HashesFile(log), 0, "the proof is missing")
		return &hashSource{}
	}
	return &hashSource{lines}
}

func (s *hashSource) next() (tlog.Hash, error) {
	text, err := s.lines.Next()
	if err == io.EOF {
		return tlog.Hash{}, io.EOF
	}
	if err != nil {
		return tlog.Hash{}, fmt.Errorf("%w: %w", errHashLine, err)
	}
	h, err := pack.ParseHashLine(text)
	if err == nil && text[len(text)-1] != '\n' {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return tlog.Hash{}, fmt.Errorf("%w: %w", errHashLine, err)
	}
	return h, nil
}

func (s *hashSource) close() {
	if s.lines != nil {
		_ = s.lines.Close() // opened for reading only
	}
}
