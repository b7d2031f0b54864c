package jsonscan

import "unicode/utf8"

// Lines reads the lines of one log. Lines keeps one copy of a short text that many lines repeat. The
// zero value has read no line.
type Lines struct {
	names  names
	words  words
	cursor Cursor // at the current line
}

// Read reads a line with the function read. Read returns false if the line is not valid UTF-8 or
// JSON, or if read refuses it. The strict decoder then finds the reason, or reads a line that is
// valid.
func (l *Lines) Read(line []byte, read func(c *Cursor) bool) bool {
	if !utf8.Valid(line) {
		return false
	}
	l.names.used = 0
	l.cursor = Cursor{text: line, names: &l.names, words: &l.words}
	l.cursor.space()
	if !read(&l.cursor) {
		return false
	}
	l.cursor.space()
	return l.cursor.at == len(line)
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
