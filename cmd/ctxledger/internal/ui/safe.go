package ui

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// Safe returns s on one line, without invisible characters and terminal controls. White
// space becomes a space. Controls, bidirectional controls and characters of no width
// become escapes such as \u202e. Every text from outside passes through Safe.
func Safe(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return hidden(r) || r == utf8.RuneError }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n', r == '\r', r == '\t', r == '\u2028', r == '\u2029':
			b.WriteByte(' ')
		case hidden(r):
			writeEscape(&b, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden reports whether r is a control (C0, C1), a control of direction, or a character
// without width. Combining marks are not hidden.
func hidden(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0:
		return true
	case r < 0x034f:
		return r == 0xad
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xffa0: // fillers
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// writeEscape writes r as JSON escapes it: a JSON text keeps its meaning.
func writeEscape(b *strings.Builder, r rune) {
	if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
		fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		return
	}
	fmt.Fprintf(b, `\u%04x`, r)
}

// cells counts the columns of a terminal that s takes.
func cells(s string) int { return widths.StringWidth(s) }

// widths gives bars and boxes one column in every locale.
var widths = &runewidth.Condition{EastAsianWidth: false, StrictEmojiNeutral: true}

// Guard is the last writer before a terminal. A Guard escapes the same characters as
// [Safe], except line breaks, tabs, and the colours and line updates of this package. A
// Guard does not change text that is [Safe]. It is not safe for concurrent use.
type Guard struct {
	w    io.Writer
	tail []byte // the first bytes of a character that is not whole yet
}

// NewGuard guards w. A guard of a guard is the same guard.
func NewGuard(w io.Writer) *Guard {
	if g, ok := w.(*Guard); ok {
		return g
	}
	return &Guard{w: w}
}

// Raw returns the writer behind the guard of w, for data that a program reads.
func Raw(w io.Writer) io.Writer {
	if g, ok := w.(*Guard); ok {
		return g.w
	}
	return w
}

// File returns the file behind w, or nil.
func File(w any) *os.File {
	if g, ok := w.(*Guard); ok {
		w = g.w
	}
	f, _ := w.(*os.File)
	return f
}

// Write writes p whole, or returns the error of the writer behind.
func (g *Guard) Write(p []byte) (int, error) {
	text := p
	if len(g.tail) > 0 {
		text = append(g.tail, p...)
		g.tail = nil
	}
	if n := unfinished(text); n > 0 {
		g.tail = append([]byte(nil), text[len(text)-n:]...)
		text = text[:len(text)-n]
	}
	if len(text) > 0 {
		if _, err := io.WriteString(g.w, guarded(string(text))); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// unfinished counts the bytes at the end of text that begin a character.
func unfinished(text []byte) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(text)); n++ {
		if b := text[len(text)-n]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRune(text[len(text)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

func guarded(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && hidden(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if n := ownControl(text); n > 0 {
			size = n
			b.WriteString(text[:n])
		} else if r != '\n' && r != '\t' && hidden(r) {
			writeEscape(&b, r)
		} else {
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

// clearLine goes to the beginning of the line and empties it.
const clearLine = "\r\x1b[K"

// The colours of drawings.
const (
	Red, Green, Yellow, Blue, Magenta, Cyan = 31, 32, 33, 34, 35, 36
	LightYellow, LightCyan                  = 93, 96
)

var colours = []int{Red, Green, Yellow, Blue, Magenta, Cyan, LightYellow, LightCyan}

const endColour = "\x1b[0m"

func startColour(colour int) string { return fmt.Sprintf("\x1b[%dm", colour) }

// Paint colours text, which may not be empty.
func Paint(colour int, text string) string { return startColour(colour) + text + endColour }

// ownControls are the sequences that this package writes.
var ownControls = func() []string {
	list := []string{clearLine, endColour}
	for _, c := range colours {
		list = append(list, startColour(c))
	}
	return list
}()

// ownControl returns the length of the sequence that text begins with, 0 for none.
func ownControl(text string) int {
	if text[0] != '\r' && text[0] != '\x1b' {
		return 0
	}
	for _, s := range ownControls {
		if strings.HasPrefix(text, s) {
			return len(s)
		}
	}
	return 0
}
