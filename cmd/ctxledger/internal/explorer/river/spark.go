package river

// The measures of the small drawing of a session in a list.
const (
	SparkWidth  = 96.0
	SparkHeight = 26.0
)

// Spark is a session in a list: the largest window of each part of its calls, against the limit.
type Spark struct {
	Path  string
	Limit *float64 // height of the line of the limit, nil if unknown or far above the windows
}

// DrawSpark returns the drawing of sizes in tokens. The limit is a line if it is at most three times
// the largest size.
func DrawSpark(sizes []int64, limit *int64) (s Spark) {
	var top int64 = 1
	for _, n := range sizes {
		top = max(top, n)
	}
	scale := top
	if limit != nil && *limit > 0 && *limit <= 3*top {
		scale = max(top, *limit)
		s.Limit = new(1 + (SparkHeight-1)*(1-float64(*limit)/float64(scale)))
	}
	var p path
	step := SparkWidth / float64(max(len(sizes), 12))
	for i, n := range sizes {
		height := (SparkHeight - 1) * float64(n) / float64(scale)
		p.rectangle(float64(i)*step, SparkHeight-height, step-min(0.6, step/4), height)
	}
	s.Path = p.String()
	return s
}
