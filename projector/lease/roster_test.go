package lease

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSharesAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-f0-9]{1,6}`), 1, 20, rapid.ID[string]).Draw(t, "names")
		streams := 1 << rapid.IntRange(0, 8).Draw(t, "streams")
		sum, least, most := 0, streams, 0
		for i, me := range names {
			share := quotaOf(streams, me, slices.Concat(names[:i], names[i+1:]))
			sum, least, most = sum+share, min(least, share), max(most, share)
		}
		if sum != streams || most-least > 1 {
			t.Fatalf("%d streams: shares from %d to %d add up to %d", streams, least, most, sum)
		}
	})
}
