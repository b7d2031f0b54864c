package ui

import (
	"fmt"
	"io"
	"time"
)

// Bar shows the progress of work on one line. A Bar is not safe for concurrent use.
type Bar struct {
	w     io.Writer
	title string
	live  bool
	drawn time.Time
}

// NewBar returns a bar that draws on w if live is set, which a terminal needs.
func NewBar(w io.Writer, live bool, title string) *Bar { return &Bar{w: w, live: live, title: title} }

// Set draws done of total, at most ten times a second.
func (b *Bar) Set(done, total int64) {
	if !b.live || time.Since(b.drawn) < 100*time.Millisecond {
		return
	}
	b.drawn = time.Now()
	if total <= 0 {
		fmt.Fprintf(b.w, clearLine+"%s: %d kB", b.title, done/1000)
		return
	}
	fmt.Fprintf(b.w, clearLine+"%s: %d%%", b.title, 100*done/total)
}

// Say draws a text in the place of the title and the progress.
func (b *Bar) Say(text string) {
	if b.live {
		b.drawn = time.Now()
		fmt.Fprint(b.w, clearLine+text)
	}
}

// Done takes the line away.
func (b *Bar) Done() {
	if b.live && !b.drawn.IsZero() {
		fmt.Fprint(b.w, clearLine)
	}
}
