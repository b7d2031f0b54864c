package embedded

import (
	"fmt"
	"io"
)

// Progress receives the name of a long step and its progress in bytes. total is 0 if unknown.
// Progress is called from one goroutine at a time.
type Progress func(step string, done, total int64)

// ProgressTo writes one line to w at the start of a step and at each further tenth of the step.
func ProgressTo(w io.Writer) Progress {
	var last string
	var tenth int64 = -1
	return func(step string, done, total int64) {
		if step != last {
			last, tenth = step, -1
		}
		if total <= 0 {
			if tenth < 0 {
				fmt.Fprintf(w, "%s\n", step)
				tenth = 0
			}
			return
		}
		if now := done * 10 / total; now > tenth {
			tenth = now
			fmt.Fprintf(w, "%s: %d of %d MB\n", step, done/1e6, total/1e6)
		}
	}
}

func (p Progress) report(step string, done, total int64) {
	if p != nil {
		p(step, done, total)
	}
}
