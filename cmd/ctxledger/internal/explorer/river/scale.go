package river

import (
	"fmt"
	"math"
	"strconv"
)

// Width is the width of every drawing in its own units. A drawing is stretched to the page.
const Width = 1180.0

// Tick is a labelled place of an axis.
type Tick struct {
	At   float64
	Text string
}

// ticks returns round values from 0 to at most limit, at most most+1 of them.
func ticks(limit int64, most int) (values []int64) {
	if limit <= 0 {
		return []int64{0}
	}
	step := math.Pow(10, math.Floor(math.Log10(float64(limit)/float64(most))))
	for _, factor := range []float64{1, 2, 5, 10} {
		if float64(limit)/(step*factor) <= float64(most) {
			step *= factor
			break
		}
	}
	step = max(1, step)
	for v := 0.0; v <= float64(limit); v += step {
		values = append(values, int64(v))
	}
	return values
}

// Short writes a number of tokens in few characters: 950, 12k, 1.2M.
func Short(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 9_950 && n%1000 >= 50:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	case n < 999_500:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	}
	text := fmt.Sprintf("%.1f", float64(n)/1e6)
	if text[len(text)-2:] == ".0" {
		text = text[:len(text)-2]
	}
	return text + "M"
}

// number writes a coordinate with at most one digit after the point.
func number(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

// textWidth is an upper bound of the width of a label of 11 units height.
func textWidth(text string) float64 { return 6.6 * float64(len([]rune(text))) }
