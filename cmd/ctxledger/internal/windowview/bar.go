package windowview

import (
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
)

// layer is the sum over the blocks of one layer.
type layer struct {
	name    string
	tokens  int64
	items   int
	unknown int // items of unknown size
}

// widestBar is the largest number of cells of a bar. A narrow terminal has fewer.
const widestBar = 72

// fills distinguish the layers without colour, and colours with it.
var (
	fills   = []rune("█▓▒░▞▚▙▜abcdefghijklmnopqrstuvwxyz")
	colours = []int{ui.Yellow, ui.Cyan, ui.Green, ui.Magenta, ui.Blue, ui.Red, ui.LightYellow, ui.LightCyan}
)

// layers returns the sums by layer, in the order of each layer's first block.
func (w Window) layers() (layers []layer) {
	index := make(map[string]int)
	for _, b := range w.Blocks {
		i, ok := index[b.Layer]
		if !ok {
			i = len(layers)
			index[b.Layer] = i
			layers = append(layers, layer{name: b.Layer})
		}
		layers[i].items++
		if b.Tokens == nil {
			layers[i].unknown++
		}
		layers[i].tokens += deref(b.Tokens)
	}
	return layers
}

// bar draws each layer in proportion. Dots are the tokens reserved for the answer, and spaces
// are the rest. A layer with tokens has at least one cell. If there are too few cells, the
// largest layer gives one up.
func (w Window) bar(layers []layer, size int64, s Style) string {
	width := max(8, min(widestBar, s.Width-4)) // the indent and the two ends
	cells := make([]int, len(layers))
	free := width
	for i, l := range layers {
		cells[i] = share(l.tokens, size, width)
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
		b.WriteString(s.paint(colours[i%len(colours)], strings.Repeat(string(fills[i%len(fills)]), n)))
	}
	reserve := 0
	if w.Reserved != nil {
		reserve = min(free, share(*w.Reserved, size, width))
	}
	return "│" + b.String() + strings.Repeat(" ", free-reserve) + strings.Repeat("·", reserve) + "│"
}

func share(tokens, size int64, width int) int {
	if tokens <= 0 || size <= 0 {
		return 0
	}
	return max(1, int(float64(width)*float64(tokens)/float64(size)))
}
