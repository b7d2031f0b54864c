package storage

import (
	"testing"

	"pgregory.net/rapid"
)

func TestEstimate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		left    *int64
		growth  *Growth
		outlook Outlook
		seconds int64
	}{
		"nothing limits it":            {nil, &Growth{10, 10}, NoLimit, 0},
		"the limit is reached":         {new(int64(0)), &Growth{10, 10}, Full, 0},
		"more than the limit":          {new(int64(-5)), nil, Full, 0},
		"growth is not known":          {new(int64(5)), nil, Unknown, 0},
		"nothing came":                 {new(int64(5)), &Growth{}, NotGrowing, 0},
		"the day's rate is the faster": {new(int64(4800)), &Growth{0, 2400}, Growing, 2 * 86400},
		"the hour's rate is":           {new(int64(4800)), &Growth{2400, 2400}, Growing, 2 * 3600},
		"beyond a lifetime":            {new(int64(1 << 62)), &Growth{0, 1}, Growing, 100 * 365 * 86400},
	} {
		got := Estimate(c.left, c.growth)
		if got.Outlook != c.outlook || (got.Seconds != nil) != (c.outlook == Growing) {
			t.Errorf("%s: %+v", name, got)
		} else if got.Seconds != nil && *got.Seconds != c.seconds {
			t.Errorf("%s: full in %d s, want %d", name, *got.Seconds, c.seconds)
		}
	}
}

// TestEstimateFollowsRoomAndRate: more room is never full earlier, and a faster rate never later.
func TestEstimateFollowsRoomAndRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.Int64Range(1, 1<<50)
		left, more := bytes.Draw(t, "left"), bytes.Draw(t, "more")
		g, faster := Growth{bytes.Draw(t, "hour"), bytes.Draw(t, "day")}, bytes.Draw(t, "faster")
		base := *Estimate(&left, &g).Seconds
		if later := *Estimate(new(left+more), &g).Seconds; later < base {
			t.Fatalf("with more room full in %d s instead of %d", later, base)
		}
		if earlier := *Estimate(&left, &Growth{g.Hour + faster, g.Day + faster}).Seconds; earlier > base {
			t.Fatalf("at a faster rate full in %d s instead of %d", earlier, base)
		}
	})
}
