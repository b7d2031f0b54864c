package jsonscan

import (
	"hash/maphash"
	"unicode/utf8"

	"github.com/ctxledger/ctxledger/producer/importer/internal/hashset"
	"github.com/go-json-experiment/json/jsontext"
)

// Lines reads the lines of one log. An import reads a log twice. Lines checks each line once, and
// keeps one copy of a short text that many lines repeat. The zero value has read no line.
type Lines struct {
	valid  hashset.HashSet // hashes of the lines whose syntax is valid
	words  words
	cursor Cursor // at the current line
}

var lineSeed = maphash.MakeSeed()

// Read reads a line with the function read. Read returns false if the line is not valid UTF-8 or
// JSON, or if read refuses it. The strict decoder then finds the reason.
func (l *Lines) Read(line []byte, read func(c *Cursor) bool) bool {
	sum := max(maphash.Bytes(lineSeed, line)>>1, 1)
	if !l.valid.Has(sum) {
		value := jsontext.Value(line)
		if !value.IsValid() && !(utf8.Valid(line) && value.IsValid(Lenient)) {
			return false
		}
		l.valid.Add(sum)
	}
	l.cursor = Cursor{text: line, words: &l.words}
	l.cursor.space()
	return read(&l.cursor)
}

// words holds short texts that a log repeats in many lines: ids, folders, types of records. The
// bytes of a text give its place. A later text takes the place of an earlier one.
type words [64]string

// maxWordBytes is the length of the longest text that words holds.
const maxWordBytes = 64

// text returns the text of a plain string, which has no escapes.
func (w *words) text(plain []byte) string {
	if n := len(plain); n > 0 && n <= maxWordBytes {
		at := &w[(n+5*int(plain[0])+3*int(plain[n/2])+int(plain[n-1]))%len(w)]
		if *at != string(plain) {
			*at = string(plain)
		}
		return *at
	}
	return string(plain)
}
