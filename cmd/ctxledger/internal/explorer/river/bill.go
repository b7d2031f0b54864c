package river

import "strings"

// BillHeight is the height of the columns of a bill.
const BillHeight = 52.0

// buckets are the classes of read, written and neither, or of kept, new and computed again.
var buckets = []string{"b-read", "b-write", "b-uncached"}

// Loss is a call that had to compute again what was in the cache.
type Loss struct {
	X      float64
	Text   string // empty if there is no room
	LabelX float64
	Anchor string
	Call   Call
	Tokens int64
}

// BillChart is the drawing of the prompt cache of one thread: as billed, or as estimated if no
// call has a bill by cache bucket.
type BillChart struct {
	Billed  bool
	Buckets []Shape
	Losses  []Loss
	Height  float64
	Columns []Column
}

// DrawBill returns the drawing of the prompt cache, whose columns begin at x as those of
// [Thread.Draw]. ok is false if nothing is known about it.
func (t Thread) DrawBill(x float64) (b BillChart, ok bool) {
	for _, c := range t.Calls {
		b.Billed = b.Billed || c.Billed != nil && (c.Read != nil || c.Written != nil)
		ok = ok || c.Prefix != nil
	}
	if ok = ok || b.Billed; !ok {
		return b, false
	}
	groups := group(t.Calls, mostColumns)
	var top int64
	for _, c := range t.Calls {
		top = max(top, sum(b.parts(c)))
	}
	shapes := make(map[string]*path)
	begin, step, space := steps(len(groups), x)
	lastLabel := -1000.0
	for i, calls := range groups {
		c := largest(calls)
		x, y := begin+float64(i)*step, BillHeight
		for j, n := range b.parts(c) {
			height := BillHeight * float64(n) / float64(max(1, top))
			class := buckets[j]
			if shapes[class] == nil {
				shapes[class] = new(path)
			}
			y -= height
			shapes[class].rectangle(x, y, step-space, height)
		}
		b.Columns = append(b.Columns, Column{X: x, Width: step, Call: c, Last: calls[len(calls)-1].Number})
		for _, c := range calls {
			if lost := b.lost(c); lost > 0 && lost >= top/200 {
				b.add(Loss{X: x + step/2, Call: c, Tokens: lost}, &lastLabel)
				break
			}
		}
	}
	for _, class := range buckets {
		if s := shapes[class]; s != nil {
			b.Buckets = append(b.Buckets, Shape{class, s.String()})
		}
	}
	b.Height = BillHeight + 28
	return b, true
}

// add places a loss and its label. Neighbours with the same cause share the label of the first.
func (b *BillChart) add(l Loss, lastLabel *float64) {
	text := strings.ReplaceAll(l.Call.Cause, "_", " ")
	if letters := []rune(text); len(letters) > 24 {
		text = string(letters[:24])
	}
	half := textWidth(text)/2 + 4
	l.LabelX, l.Anchor = min(max(l.X, half), Width-half), "middle"
	if l.LabelX-half > *lastLabel {
		l.Text = text
		*lastLabel = l.LabelX + half
	}
	b.Losses = append(b.Losses, l)
}

// parts returns the tokens by bucket: read, written and neither, or kept, new and again.
func (b BillChart) parts(c Call) []int64 {
	list := []*int64{c.Prefix, c.Fresh, c.Again}
	if b.Billed {
		list = []*int64{c.Read, c.Written, c.Neither}
	}
	parts := make([]int64, len(list))
	for i, n := range list {
		if n != nil {
			parts[i] = max(0, *n)
		}
	}
	return parts
}

// lost returns the tokens that were computed again for a cause other than growth.
func (b BillChart) lost(c Call) int64 {
	n := c.Lost
	if !b.Billed {
		n = c.Again
	}
	if n == nil || c.Cause == "append" || c.Cause == "first" {
		return 0
	}
	return *n
}

func sum(list []int64) (total int64) {
	for _, n := range list {
		total += n
	}
	return total
}
