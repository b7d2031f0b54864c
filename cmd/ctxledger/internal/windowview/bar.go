package windowview

import (
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
)

// widestBar is the largest number of cells of a bar. A narrow terminal has fewer.
const widestBar = 72

// fills distinguish the layers without colour, and colours with it.
var (
	fills   = []rune("█▓▒░▞▚▙▜abcdefghijklmnopqrstuvwxyz")
	colours = []int{ui.Yellow, ui.Cyan, ui.Green, ui.Magenta, ui.Blue, ui.Red, ui.LightYellow, ui.LightCyan}
)

// bar draws each segment in proportion. Dots are the tokens reserved for the answer, and spaces
// are the rest of the size. A segment with tokens has at least one cell. If there are too few cells,
// the largest segment gives one up. An estimate that is larger than the bill is drawn scaled to it.
func (w Window) bar(segments []Segment, size int64, s Style) string {
	width := max(8, min(widestBar, s.Width-4)) // the indent and the two ends
	cells := make([]int, len(segments))
	free := width
	all, positive := tokensOf(segments), int64(0)
	for _, l := range segments {
		positive += max(0, l.Tokens)
	}
	for i, l := range segments {
		tokens := l.Tokens
		if positive > all && tokens > 0 {
			tokens = max(1, int64(float64(tokens)*float64(all)/float64(positive)))
		}
		cells[i] = share(tokens, size, width)
		free -= cells[i]
	}
	for ; free < 0; free++ {
		largest := 0
		for i := range cells {
			if cells[i] > cells[largest] {
				largest = i
			}
		}
		cells[largest]--
	}
	var b strings.Builder
	for i, n := range cells {
		fill, colour := look(segments, i)
		b.WriteString(s.paint(colour, strings.Repeat(string(fill), n)))
	}
	reserve := 0
	if w.Reserved != nil {
		reserve = min(free, share(*w.Reserved, size, width))
	}
	return "│" + b.String() + strings.Repeat(" ", free-reserve) + strings.Repeat("·", reserve) + "│"
}

// plain is the colour of text.
const plain = 0

// look returns the fill and the colour of a segment. The rest of a bill, which is the first segment
// if there is one, has its own, so that a layer looks the same with and without it.
func look(segments []Segment, i int) (fill rune, colour int) {
	if segments[i].Layer == Unexplained {
		return '╱', plain
	}
	if segments[0].Layer == Unexplained {
		i--
	}
	return fills[i%len(fills)], colours[i%len(colours)]
}

// tokensOf returns the tokens of all segments: those of the bill, if there is one.
func tokensOf(segments []Segment) (tokens int64) {
	for _, l := range segments {
		tokens += l.Tokens
	}
	return tokens
}

func share(tokens, size int64, width int) int {
	if tokens <= 0 || size <= 0 {
		return 0
	}
	return max(1, int(float64(width)*float64(tokens)/float64(size)))
}
