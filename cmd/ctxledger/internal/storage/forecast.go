package storage

import "time"

// Outlook says whether a limit will be reached.
type Outlook string

const (
	Unknown    Outlook = "unknown"     // the limit or the growth is unknown
	NoLimit    Outlook = "no limit"    // nothing limits it
	NotGrowing Outlook = "not growing" // nothing was added in the last day
	Growing    Outlook = "growing"     // Left says when the limit is reached
	Full       Outlook = "full"        // the limit is reached
	Retained   Outlook = "retention"   // a retention removes the oldest messages before
)

// Growth is the number of bytes that were added in the last hour and the last day.
type Growth struct {
	Hour int64 `json:"hour_bytes"`
	Day  int64 `json:"day_bytes"`
}

// perDay returns the faster of the two rates, in bytes a day. A burst of the last hour counts as
// if it went on.
func (g Growth) perDay() float64 { return max(24*float64(g.Hour), float64(g.Day)) }

// Add returns the sum of two growths. The sum is unknown, which is nil, if one of them is.
func (g *Growth) Add(other *Growth) *Growth {
	if g == nil || other == nil {
		return nil
	}
	return &Growth{g.Hour + other.Hour, g.Day + other.Day}
}

// A Forecast says when a limit is reached.
type Forecast struct {
	Outlook Outlook `json:"outlook"`
	// Seconds until the limit is reached at the present rate. Nil unless Outlook is growing.
	Seconds *int64 `json:"full_in_seconds,omitempty"`
}

// longest is the longest forecast. A limit that is further away is as good as none.
const longest = 100 * 365 * 24 * time.Hour

// Estimate computes when a limit is reached. left is the number of bytes up to the limit; a nil left
// means no limit. growth is nil if it is unknown.
func Estimate(left *int64, growth *Growth) Forecast {
	switch {
	case left == nil:
		return Forecast{Outlook: NoLimit}
	case *left <= 0:
		return Forecast{Outlook: Full}
	case growth == nil:
		return Forecast{Outlook: Unknown}
	case growth.perDay() <= 0:
		return Forecast{Outlook: NotGrowing}
	}
	seconds := int64(min(float64(*left)/growth.perDay()*(24*time.Hour).Seconds(), longest.Seconds()))
	return Forecast{Growing, &seconds}
}
